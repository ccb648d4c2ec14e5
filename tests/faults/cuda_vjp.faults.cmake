# SPDX-License-Identifier: Apache-2.0
# Faults of the way back of scans that the tests of tests/cuda_vjp must see.
set(cuda include/ebb/recurrence/backend/cuda)
set(back ${cuda}/back_steps.hpp)
set(gradient ${cuda}/gradient_kernel.hpp)
set(exact cuda_vjp/exact_test)
set(parameters cuda_vjp/parameters_test)
set(contract cuda_vjp/column_contract_test)

fault("back: weights not conjugated" ${back} 1 "w = conjugate_of_weight(w);" "" ${contract})
fault("back: a reset lets gradients through" ${back} 1 "h = ends ? State(0) : algebra" "h = algebra" ${exact})
fault("back: a reset lets gradients through to the next tiles" ${back} 1
  "ends ? State(0) : algebra<false>::step(c, w, x, State(0))" "algebra<false>::step(c, w, x, State(0))" ${exact})
fault("back: the end of a sequence is none" ${back} 1 "const State g = begins ? x : plus(h, x);"
  "const State g = plus(h, x);" ${exact})
fault("back: cotangents of final states left out" ${back} 1 "if (here.first) x = plus" "if (false) x = plus" ${exact})
fault("back: cotangents of snapshots left out" ${back} 1 "if (p.kept_count > 0)" "if (false)" ${contract})
fault("back: outputs without their gain" ${back} 1 "gained<Gain>" "gained<input_gain::one>" ${contract})
fault("gradients: the state of the wrong neighbour" ${gradient} 1 "p.reverse ? t + 1 : t - 1" "t - 1" ${exact})
fault("gradients: no initial state" ${gradient} 1 "place.first" "false" ${exact})
fault("gradients: a reset has one" ${gradient} 1 "if (place.reset && !average) d = State(0);" "" ${exact})
fault("gradients: of factors for those of logarithms" ${gradient} 1 "if constexpr (logs) d = times" "if constexpr (false) d = times"
  ${contract})
fault("gradients: no input where the gain is 1 - a" ${gradient} 1 "if constexpr (average)\n      before" "if constexpr (false)\n      before"
  ${contract})
fault("gradients: no barrier before the sums" ${gradient} 1 "c.sync_block();" "" ${exact})
fault("gradients: threads of other channels added" ${gradient} 1 "part * channels + channel" "channel * parts + part" ${parameters})
fault("gradients: nothing written in the padding" ${gradient} 1 "(p.add_elements && !inside)" "!inside" ${parameters})
fault("gradients: the time of another step" ${gradient} 1 "time = c.shuffle(own_time, i)" "time = own_time" ${parameters})
fault("sums: no barrier" ${cuda}/sum_kernel.hpp 1 "c.sync_block();" "" ${exact})
fault("sums: a part left out" ${cuda}/sum_kernel.hpp 1 "w < warps; ++w" "w < warps - 1; ++w" ${exact})
fault("sums: over what is there" ${cuda}/sum_kernel.hpp 1 "plus(c.template load<1>(static_cast<const T*>(to)).v[0], total)" "total"
  ${exact})
fault("plan: gradients of states with the gain of inputs" ${cuda}/scan_vjp_plan.hpp 1 "walk<State, input_gain::one>" "walk<State, gain>"
  ${contract})
fault("plan: snapshots of other steps" ${cuda}/scan_vjp_plan.hpp 1 "p.kept_count > 0);" "false);" ${contract})
fault("taper: the logarithm left out" ${cuda}/decay_sink.hpp 1 "log_time_of(time) * scaled" "scaled" ${parameters})
fault("selective: a slope beyond the limits" ${cuda}/steps_sink.hpp 1 "slope = Real(0);" ";" ${parameters})
fault("selective: a bias for all of one channel only" ${cuda}/steps_sink.hpp 1 "sums.bias.size() == 1 ? channels" "sums.bias.size() == 1 ? 1"
  ${parameters})
