# SPDX-License-Identifier: Apache-2.0
# cmake -DOBJDUMP= -DOBJECT= -DREGISTER=ymm|zmm -DLEAST_PS= -DLEAST_PD= -P check.cmake
#
# Reads what the compiler made of the kernels of one kind: no product stands alone, packed or scalar, for each
# belongs to a sum; and at least so many products and sums of whole vectors, of floats and of doubles, are one
# instruction.
cmake_policy(VERSION 3.24)
execute_process(COMMAND "${OBJDUMP}" -d --no-show-raw-insn "${OBJECT}" OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)

# count := how many instructions match
function(count_of pattern result)
  string(REGEX MATCHALL "\t${pattern}[^\n]*\n" lines "${text}")
  list(LENGTH lines count)
  set(${result} ${count} PARENT_SCOPE)
endfunction()

count_of("v?mul[ps][sd]" products)
count_of("v?add[ps][sd]" sums)
set(problems "")
if(NOT products EQUAL 0)
  string(APPEND problems "\n  ${products} products are not fused with their sums")
endif()
foreach(type IN ITEMS ps pd)
  string(TOUPPER "LEAST_${type}" least)
  count_of("vfn?m(add|sub)[123]+${type}[ \t][^\n]*%${REGISTER}" fused)
  message("${type}: ${fused} fused on ${REGISTER}, ${products} products and ${sums} sums by themselves (of any type)")
  if(fused LESS ${least})
    string(APPEND problems "\n  ${fused} fused ${type} on ${REGISTER}, not ${${least}}")
  endif()
endforeach()
if(problems)
  message(FATAL_ERROR "fused: ${OBJECT}:${problems}")
endif()
