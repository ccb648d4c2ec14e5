# SPDX-License-Identifier: Apache-2.0
# Faults of a kernel that the emulator must see, and of the emulator that its own tests must see.
set(sum tests/support/emulator/running_sum.hpp)
set(by emulator/hand_over_test)

fault("sum: no barrier after the ticket" ${sum} 1 "c.sync_block();" "" ${by})
fault("sum: no barrier after the totals" ${sum} 2 "c.sync_block();" "" ${by})
fault("sum: no barrier before the sum of others" ${sum} 3 "c.sync_block();" "" ${by})
fault("sum: torn words accepted" ${sum} 1 " && w[1] >> 32 == tiles.epoch" "" ${by})
fault("sum: any epoch accepted" ${sum} 1 "w[0] >> 32 == tiles.epoch && w[1] >> 32 == tiles.epoch"
  "w[0] >> 32 != 0 && w[0] >> 32 == w[1] >> 32" ${by})
fault("sum: block number for ticket" ${sum} 1
  "c.fetch_add(p.tiles.ticket, 1) - p.tiles.first_ticket" "static_cast<word32>(c.fetch_add(p.tiles.ticket, 1) * 0 + c.block())" ${by})
fault("sum: first ticket ignored" ${sum} 1 " - p.tiles.first_ticket" "" ${by})
fault("sum: nothing is sent" ${sum} 1 "send(c, p.tiles, tile, before" "if (tile % 2) send(c, p.tiles, tile, before" ${by})
fault("sum: total of the first warp forgotten" ${sum} 1 "if (c.warp() == 1) sum +=" "if (c.warp() == 2) sum +=" ${by})

set(shadow tests/support/emulator/shadow.hpp)
fault("shadow: blocks are ordered" ${shadow} 1 "if (then.block != now.block) return false;"
  "if (then.block != now.block) return true;" emulator/race_test)
fault("shadow: barriers of the block order nothing" ${shadow} 1
  " || then.block_barriers != now.block_barriers) return true" ") return true" emulator/race_test)
fault("shadow: barriers of a warp order all warps" ${shadow} 1 "then.warp() == now.warp() && " "" emulator/race_test)
fault("shadow: lanes of a warp are ordered" ${shadow} 1 " && then.warp_barriers != now.warp_barriers" "" emulator/race_test)
fault("shadow: reads are forgotten" ${shadow} 1 "else if (races_with_readers(now))" "else if (false)" emulator/race_test)
fault("shadow: only the latest reader counts" ${shadow} 1 "who_read_ : readers::warp" "who_read_ : readers::one"
  emulator/race_test)
fault("shadow: launches are not ordered" ${shadow} 1 "    writer_ = {};" "" emulator/race_test)

set(memory tests/support/emulator/memory.hpp)
fault("memory: a range is longer by one" ${memory} 1 "address(data + count)" "address(data + count + 1)"
  emulator/bounds_test)
fault("memory: any address is aligned" ${memory} 1 "begin % aligned != 0" "false" emulator/bounds_test)
fault("memory: inputs may be written" ${memory} 1 "if (r.how == usage::input || r.how == usage::words)"
  "if (r.how == usage::words)" emulator/usage_test)
fault("memory: outputs are there from the start" ${memory} 1 "if (how == usage::in_out)" "if (how != usage::input)"
  emulator/unwritten_test)
fault("memory: constants may be written" ${memory} 1 "cell.cached = true;" "" emulator/usage_test)

set(words tests/support/emulator/relaxed_words.hpp)
fault("words: always the latest value" ${words} 1 "random.flip()" "false" emulator/words_test)
fault("words: coherence of a thread ignored" ${words} 1 "if (ordered(s.when, now))" "if (false)" emulator/words_test)
fault("words: barriers ignored" ${words} 1 "if (ordered(s.when, now))" "if (s.when.block == now.block && s.when.thread == now.thread)"
  emulator/words_test)

set(context tests/support/emulator/context.hpp)
fault("context: shuffle_up from the lane above" ${context} 1 "lane() >= d ? lane() - d" "lane() >= d ? lane() + d"
  emulator/exchange_test)
fault("context: unwritten cells are fine" ${context} 1 "if (!cell.written)" "if (false)" emulator/unwritten_test)

set(machine tests/support/emulator/machine.hpp)
fault("machine: a warp has one set of values" ${machine} 1 "w.round % 2" "0" emulator/exchange_test)
fault("machine: any places meet in a warp" ${machine} 1 "w.what != what || !(w.where == where)" "w.what != what"
  emulator/divergence_test)
fault("machine: any barriers of a block meet" ${machine} 1 "b.arrived > 0 && !(b.barrier == where)" "false"
  emulator/divergence_test)
fault("machine: shuffles order memory" ${machine} 1 "if (what == meeting::barrier) ++" "++" emulator/race_test)
fault("machine: blocks start in order" ${machine} 1 "if (config_.shuffle_blocks)" "if (false)" emulator/endless_test)
