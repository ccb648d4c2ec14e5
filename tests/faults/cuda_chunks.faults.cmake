# SPDX-License-Identifier: Apache-2.0
# Faults of the kernels around the products of chunks that the tests of tests/cuda_chunks must see.
set(cuda include/ebb/recurrence/backend/cuda)
set(rows ${cuda}/chunk_rows.hpp)
set(states ${cuda}/chunk_states.hpp)
set(plan ${cuda}/chunk_plan.hpp)
set(contract cuda_chunks/contract_test)

fault("logs: lanes below 0 added" ${rows} 1 "if (c.lane() >= d) log += below;" "log += below;" ${contract})
fault("logs: 32 steps forgotten" ${rows} 1 "sum += c.shuffle(log, warp_size - 1);" "" ${contract})
fault("logs: a decay of 0" ${rows} 1 "return log < least ? least : log;" "return log;" ${contract})
fault("logs: the decay's own weight left out" ${rows} 1 "if constexpr (weighing_gate<Gate>)" "if constexpr (false)" ${contract})
fault("rows: no zeros behind the keys" ${rows} 1 "if (there && j < p.key_width)" "if (there)" ${contract})
fault("rows: no zeros behind the steps" ${rows} 1 "if (there && j < p.key_width)" "if (j < p.key_width)" ${contract})
fault("values: not decayed to the end" ${rows} 1 "exp_of_sum(c, rest_of_chunk) *" "" ${contract})
fault("mask: later steps seen" ${states} 1 "if (j <= i &&" "if (" ${contract})
fault("mask: decays from the start of the chunk" ${states} 1 "c.load_cached(p.logs + (first + j))" "0.0" ${contract})
fault("mask: no weights" ${states} 1 "c.load_cached(p.written + (first + j)) * overlap" "overlap" ${contract})
fault("pass: a reset leaves the state" ${states} 1 "if (here.erased) s = 0;" "" ${contract})
fault("pass: the state after the chunk for that before" ${states} 1 "static_cast<element>(s)"
  "static_cast<element>(s + c.load_cached(p.added + at))" ${contract})
fault("pass: snapshots a row on" ${states} 1 "here.kept - 1" "here.kept" ${contract})
fault("pass: no decay" ${states} 1 "c.expm1(static_cast<float>(log))" "0.0f" ${contract})
fault("outputs: the state not decayed" ${states} 1 "c.multiply_add(decay, before, own)" "(before + own)" ${contract})
fault("plan: a chunk across a reset" ${plan} 1 "if (place.count > 0 && where.resets_at(b, t, size.steps)) break;" "" ${contract})
fault("plan: a chunk across a snapshot" ${plan} 1 "place.count < most && place.kept == 0" "place.count < most" ${contract})
fault("plan: groups where queries and keys are shared otherwise" ${plan} 1 "data.queries.heads() == data.keys.heads()"
  "true" ${contract})
fault("plan: keys not turned" ${plan} 1 "rows, true}" "rows, false}" ${contract})
