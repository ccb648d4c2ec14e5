# SPDX-License-Identifier: Apache-2.0
# cmake -DLD= -DOBJCOPY= -DNM= -DFUNCTION=app::kernels_here -DSYMBOL= -DOUTPUT= -DOBJECTS= -P ebb-isolate-level.cmake
#
# Links OBJECTS into the object OUTPUT, whose only visible definition is FUNCTION, by the name SYMBOL. Inline
# functions and templates lie in groups of sections that a linker would merge by name with those of any other
# object: the groups are dissolved, and then the names made local. Both are verified.
cmake_policy(VERSION 3.24)
cmake_path(GET OUTPUT PARENT_PATH folder)
file(MAKE_DIRECTORY "${folder}")
set(joined "${OUTPUT}.joined")
execute_process(COMMAND "${LD}" -r --force-group-allocation -o "${joined}" ${OBJECTS} COMMAND_ERROR_IS_FATAL ANY)

# name := the names of the symbols that nm finds with these options
function(read_symbols file result)
  execute_process(COMMAND "${NM}" -P ${ARGN} "${file}" OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE " [^\n]*" "" text "${text}")
  string(REGEX MATCHALL "[^\n]+" names "${text}")
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

# The Itanium name of a function without parameters: _Z1fv, _ZN1a1fEv; or that of C.
string(REPLACE "::" ";" parts "${FUNCTION}")
set(mangled "")
foreach(part IN LISTS parts)
  string(LENGTH "${part}" length)
  string(APPEND mangled "${length}${part}")
endforeach()
if(FUNCTION MATCHES "::")
  set(mangled "_ZN${mangled}Ev")
else()
  set(mangled "_Z${mangled}v")
endif()
read_symbols("${joined}" defined -g --defined-only)
if(NOT mangled IN_LIST defined)
  list(GET parts -1 mangled)
  if(NOT mangled IN_LIST defined)
    message(FATAL_ERROR "ebb_add_dispatched: SOURCES do not define ${FUNCTION}(), visible to other files and "
      "without parameters. A function of an inline namespace needs the name of that too.")
  endif()
endif()

# What is computed before main() runs on every processor, in the instructions of this level.
read_symbols("${joined}" all --defined-only)
list(FILTER all INCLUDE REGEX "^(_GLOBAL__(sub_)?[ID]|__cxx_global_var_init)")
if(all)
  message(FATAL_ERROR "ebb_add_dispatched: SOURCES compute something before main() (${all}), and would do so in "
    "instructions that the processor may not have. Usual causes: #include <iostream>; an object at namespace "
    "scope or a static member whose value is not a constant. Make it constexpr or constinit, or a static variable "
    "of a function.")
endif()

# Two calls: which of the two names --keep-global-symbol means is not the same for all objcopy.
execute_process(COMMAND "${OBJCOPY}" "--redefine-sym=${mangled}=${SYMBOL}" "${joined}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${OBJCOPY}" "--keep-global-symbol=${SYMBOL}" "${joined}" "${OUTPUT}.isolated"
  COMMAND_ERROR_IS_FATAL ANY)
read_symbols("${OUTPUT}.isolated" visible -g --defined-only)
if(NOT visible STREQUAL SYMBOL)
  message(FATAL_ERROR "ebb_add_dispatched: ${OBJCOPY} left more visible than ${SYMBOL}: ${visible}")
endif()
file(REMOVE "${joined}")
file(RENAME "${OUTPUT}.isolated" "${OUTPUT}")
