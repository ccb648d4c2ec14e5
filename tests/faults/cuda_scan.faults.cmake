# SPDX-License-Identifier: Apache-2.0
# Faults of the scan's kernels that the tests of tests/cuda_scan must see.
set(cuda include/ebb/recurrence/backend/cuda)
set(row ${cuda}/row_scan.hpp)
set(column ${cuda}/column_scan.hpp)
set(exact cuda_scan/look_back_test)
set(gates cuda_scan/gates_test)

fault("row: no barrier after the ticket" ${row} 1 "c.sync_block();" "" ${exact})
fault("row: no barrier after the maps of warps" ${row} 2 "c.sync_block();" "" ${exact})
fault("row: no barrier before the carry" ${row} 3 "c.sync_block();" "" ${exact})
fault("row: operands of the lanes swapped" ${row} 1 "algebra::then(c, below, some)"
  "algebra::then(c, some, below)" ${exact})
fault("row: a window of 32 moved by 31" ${row} 1 "window -= warp_size" "window -= warp_size - 1" ${exact})
fault("row: the map of the nearest tile left out" ${row} 1 "for (--lane; lane >= 0; --lane)"
  "for (--lane; lane > 0; --lane)" ${exact})
fault("row: no map is published" ${row} 1 "        publish(total, Cuts" "        if (chunk < 0) publish(total, Cuts" ${exact})
fault("row: the state before published for that after" ${row} 1 "algebra::apply(c, total, h), 0"
  "h, 0" ${exact})
fault("row: the number of the block for its ticket" ${row} 1 "m.ticket.get(c, 0), rows"
  "c.block() + 0 * m.ticket.get(c, 0), rows" ${exact})
fault("row: a run stored past the end" ${row} 1 "bool in = i + j < p.steps;"
  "bool in = i + j <= p.steps;" ${exact})
fault("row: runs read at any address" ${cuda}/operand.hpp 1 "(rows <= 1 || across % N == 0) &&" ""
  ${exact})
fault("row: reverse runs not turned" ${row} 1 "return reverse ? values[V - 1 - j] : values[j];"
  "return values[j];" ${exact})
fault("column: no barrier after the maps of warps" ${column} 2 "c.sync_block();" "" ${exact})
fault("column: no barrier before the carry" ${column} 3 "c.sync_block();" "" ${exact})
fault("column: looks back for one tile only" ${column} 1 "while (!states_in(j)) --j;" "states_in(j);"
  ${exact})
fault("column: a map skipped on the way forward" ${column} 1 "if (++j == chunk) break;"
  "if (j += 2; j >= chunk) break;" ${exact})
fault("column: warps before this one left out" ${column} 1 "for (int i = 0; i < warp; ++i)"
  "for (int i = 1; i < warp; ++i)" ${exact})
fault("steps: a cut is no cut" ${cuda}/scan_params.hpp 1 "cuts.begins |= bit;" ";" ${exact})
fault("column: the last channels not told from others" ${column} 1
  "p.channels - k < V ? p.channels - k : V" "V" ${exact})
fault("descriptor: torn words accepted" ${cuda}/descriptor.hpp 1
  "whole_one = whole_one && static_cast<word32>(in[i] >> 32) == flag;" "" ${exact})
fault("descriptor: any epoch accepted" ${cuda}/descriptor.hpp 1 "flag >> 8 == epoch" "flag != 0"
  ${exact})
fault("map: a cut forgotten in compositions" ${cuda}/map.hpp 1 "m.cut = first.cut;" "m.cut = false;"
  ${exact})
fault("map: exponents not added" ${cuda}/map.hpp 1 "f.exponent + g.exponent" "g.exponent"
  cuda_scan/row_contract_test)
fault("map: an infinite state meets its decrement" ${cuda}/map.hpp 1
  "return slow == slow ? slow : h + b;" "return slow;" cuda_scan/row_contract_test)
fault("steps: a reset leaves the initial state" ${cuda}/scan_params.hpp 1 "here.reset ? State(0) : " ""
  ${exact})
fault("place: the end of a sequence for its beginning" ${cuda}/place.hpp 1
  "reverse ? t == end_ - 1 : t == begin_" "t == begin_" ${exact})
fault("launch: initial states overwritten" ${cuda}/scan_launch.hpp 1 "if (in_place) move_initial" 
  "if (false) move_initial" ${exact})
fault("launch: empty sequences pass nothing on" ${cuda}/scan_launch.hpp 1
  "if (some_empty) loop" "if (false) loop" ${exact})
fault("taper: one float for the logarithm" ${cuda}/taper_gate.hpp 1
  "static_cast<float>(x - static_cast<double>(high))" "0.0f" ${gates})
fault("taper: one float for the product" ${cuda}/taper_gate.hpp 1
  "float rest = c.multiply_add(alpha.high, l.high, -product);" "float rest = 0;" ${gates})
fault("gate: neighbours' positions not shifted" ${cuda}/taper_gate.hpp 1 "offset + later" "offset"
  ${gates})
fault("gate: a bias for each channel, not each step" ${cuda}/steps_gate.hpp 1
  "/ static_cast<std::size_t>(options.steps_for)" "" ${gates})
fault("gate: the limits do nothing" ${cuda}/steps_gate.hpp 1
  "return x < lowest ? lowest : x > highest ? highest : x;" "return x;" ${gates})
