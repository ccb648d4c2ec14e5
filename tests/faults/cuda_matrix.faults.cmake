# SPDX-License-Identifier: Apache-2.0
# Faults of the kernels of matrix states, and of their planning, that tests/cuda_matrix must see.
set(cuda include/ebb/recurrence/backend/cuda)
set(contract cuda_matrix/float_contract_test)
set(calls cuda_matrix/calls_test)

fault("state not erased at a reset" ${cuda}/matrix_kernel.hpp 1 "(mark & 1) != 0" "(mark & 1) == 7" ${calls})
fault("snapshot in the wrong row" ${cuda}/matrix_kernel.hpp 1 "(mark >> 1) - 1" "(mark >> 2)" ${calls})
fault("no barrier between panels" ${cuda}/matrix_kernel.hpp 1 "c_.sync_block();" "c_.sync_warp();" ${contract})
fault("one buffer for both panels" ${cuda}/matrix_kernel.hpp 1 "buffer ^= 1;" "buffer = 0;" ${contract})
fault("sums over half of the lanes" ${cuda}/matrix_kernel.hpp 1 "int d = tile::column_lanes; d < 32"
  "int d = 2 * tile::column_lanes; d < 32" ${contract})
fault("a - 1 taken for a" ${cuda}/matrix_kernel.hpp 1 "w.v[y] < 0 ? s : State(0)" "State(0)" ${contract})
fault("weight on the value only" ${cuda}/matrix_kernel.hpp 1 "weight * (value[i] - seen[i])"
  "weight * value[i] - seen[i]" ${contract})
fault("gated: the state seen before it decays" ${cuda}/matrix_panel.hpp 1
  "factor_of_weight<Gate::form>(decay[q].v[y]) * key[q].v[y]" "key[q].v[y]" ${contract})
fault("length of a part of the row" ${cuda}/matrix_panel.hpp 1 "d < layout::row_lanes; d *= 2"
  "d < layout::row_lanes / 2; d *= 2" ${contract})
fault("rates with the wrong sign" ${cuda}/matrix_panel.hpp 1 "*= -removal[q].v[y]" "*= removal[q].v[y]" ${contract})
fault("steps counted from the first of all" ${cuda}/matrix_panel.hpp 1 "t = at_.begin + own;" "t = own;" ${calls})
fault("values past the last lane" ${cuda}/matrix_panel.hpp 1 "value_here_ = column < p.value_width;"
  "value_here_ = true;" ${contract})
fault("a - 1 taken for a under the gated rule" ${cuda}/matrix_gate.hpp 1
  "weight < 0 ? State(1) + weight : weight" "weight" ${contract})
fault("heads not grouped" ${cuda}/matrix_params.hpp 1 "h / group * head" "h % group * head" ${contract})
fault("positions from 1" ${cuda}/matrix_params.hpp 1 "if (p.where.first_positions != nullptr)" "if (false)" ${calls})
fault("memory: no barrier before the lengths" ${cuda}/matrix_memory_kernel.hpp 1 "c_.sync_block();"
  "c_.sync_warp();" ${contract})
fault("memory: a reset forgotten where the state is seen" ${cuda}/matrix_memory_kernel.hpp 1
  "if (!reset) seen =" "seen =" ${contract})
fault("memory: initial states not copied" ${cuda}/matrix_memory_kernel.hpp 1
  "p_.where.initial.data != p_.work.data" "p_.where.initial.data == nullptr" ${contract})
fault("plan: one skip for all lanes" ${cuda}/matrix_plan.hpp 1 "p.skip_lane = by_head ? 0 : 1" "p.skip_lane = 1"
  ${contract})
fault("plan: rows taken to be aligned" ${cuda}/matrix_plan.hpp 1 "p.key_width % width == 0 &&" "" cuda_matrix/aligned_test)
fault("plan: states taken to be aligned" ${cuda}/matrix_plan.hpp 1 "whole = p.value_width % columns == 0"
  "whole = true" cuda_matrix/aligned_test)
fault("plan: outputs taken to be aligned" ${cuda}/matrix_plan.hpp 1
  "outputs_aligned = whole && heads_aligned<columns>(p.outputs)" "outputs_aligned = true" ${contract})
