# SPDX-License-Identifier: Apache-2.0
# ebb_add_dispatched(<target>
#   SOURCES <file>...             compiled once for each level
#   HEADER <file>                 declares the function
#   FUNCTION <name>               takes no arguments; defined in SOURCES, such as app::kernels_here
#   [LEVELS <level>...]           of x86-64 x86-64-v2 x86-64-v3 x86-64-v4;
#                                 by default x86-64 x86-64-v3 x86-64-v4
#   [LINK_LIBRARIES <target>...]) what SOURCES need: ebb::simd ...
#
# makes the static library <target>, which has the function of HEADER by its own name: it calls the version
# of the highest level that the processor (and EBB_MAX_LEVEL, core/dispatch.hpp) allows, chosen at the first
# call. What it returns leads to the rest: pointers to functions, or an object with virtual functions.
#
# What SOURCES compile to at one level is linked into one object, in which everything but that function is
# made local. So no inline function or template of theirs, of the standard library or of yours, can take the
# place of another object's, nor the other way round. docs/backends.md says what remains to be heeded.
#
# The levels need x86-64 Linux or FreeBSD, g++ or clang, and GNU ld (binutils >= 2.29). On other processors and
# systems SOURCES are compiled once, with the flags at hand.

function(ebb_add_dispatched target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER;FUNCTION" "SOURCES;LEVELS;LINK_LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES OR NOT arg_HEADER OR NOT arg_FUNCTION)
    message(FATAL_ERROR "ebb_add_dispatched(<target> SOURCES <file>... HEADER <file> FUNCTION <name> "
      "[LEVELS <level>...] [LINK_LIBRARIES <target>...]): got ${ARGV}")
  endif()
  if(NOT arg_FUNCTION MATCHES "^[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*$")
    message(FATAL_ERROR "ebb_add_dispatched: FUNCTION is a name such as app::kernels_here, not ${arg_FUNCTION}")
  endif()
  if(NOT arg_LEVELS)
    set(arg_LEVELS x86-64 x86-64-v3 x86-64-v4)
  endif()
  list(REMOVE_DUPLICATES arg_LEVELS)
  foreach(level IN LISTS arg_LEVELS)
    if(NOT level MATCHES "^x86-64(-v[234])?$")
      message(FATAL_ERROR "ebb_add_dispatched: a level is x86-64, x86-64-v2, x86-64-v3 or x86-64-v4, not ${level}")
    endif()
  endforeach()

  ebb_dispatch_problem(problem)
  if(problem)
    message(STATUS "${target} is compiled for one level: ${problem}")
    add_library(${target} STATIC ${arg_SOURCES})
    target_link_libraries(${target} PRIVATE ${arg_LINK_LIBRARIES} ebb::ebb)
    return()
  endif()
  ebb_find_level_tools()

  string(MAKE_C_IDENTIFIER "${target}" target_identifier)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.levels")
  cmake_path(ABSOLUTE_PATH arg_HEADER)
  set(objects "")
  set(level_targets "")
  set(declarations "")
  set(versions "")
  foreach(level IN LISTS arg_LEVELS)
    string(REGEX REPLACE ".*-" "" short "${level}")
    if(short STREQUAL "64")
      set(short baseline)
    endif()
    set(symbol "ebb_level_${short}_of_${target_identifier}")
    string(APPEND declarations "decltype(${arg_FUNCTION}) ${short} __asm__(\"${symbol}\");\n")
    string(APPEND versions "\n      {ebb::isa_level::${short}, &${short}},")

    # Flags of the libraries stand behind a target's own, so these must be those of the last library.
    set(flags ${target}_${short}_flags)
    add_library(${flags} INTERFACE)
    # What g++ marks as unique in the whole process, static variables of inline functions, stays visible.
    target_compile_options(${flags} INTERFACE -march=${level} -fno-lto
      $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
    file(CONFIGURE OUTPUT "${folder}/${short}.cpp" CONTENT [[
#include <ebb/core/dispatch.hpp>
static_assert(ebb::compiled_level == ebb::isa_level::@short@,
              "ebb_add_dispatched: other flags than -march=@level@ decide the instructions");
]] @ONLY)
    add_library(${target}_${short} OBJECT ${arg_SOURCES} "${folder}/${short}.cpp")
    target_link_libraries(${target}_${short} PRIVATE ${arg_LINK_LIBRARIES} ebb::ebb ${flags})
    # Position independent, for a shared library may take it in; hidden, so that calls stay direct.
    set_target_properties(${target}_${short} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF
      POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

    set(object "${folder}/objects$<CONFIG>/${short}.o")
    add_custom_command(OUTPUT "${object}"
      COMMAND "${CMAKE_COMMAND}" "-DLD=${EBB_LD}" "-DOBJCOPY=${CMAKE_OBJCOPY}" "-DNM=${CMAKE_NM}"
        "-DFUNCTION=${arg_FUNCTION}" "-DSYMBOL=${symbol}" "-DOUTPUT=${object}"
        "-DOBJECTS=$<TARGET_OBJECTS:${target}_${short}>"
        -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/ebb-isolate-level.cmake"
      DEPENDS "$<TARGET_OBJECTS:${target}_${short}>" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/ebb-isolate-level.cmake"
      COMMENT "Isolating ${target} for ${level}" VERBATIM)
    list(APPEND objects "${object}")
    list(APPEND level_targets ${target}_${short})
  endforeach()

  file(CONFIGURE OUTPUT "${folder}/choice.cpp" CONTENT [[
// Generated by ebb_add_dispatched (cmake/ebb-dispatch.cmake).
#include <type_traits>

#include <ebb/core/dispatch.hpp>

#include "@arg_HEADER@"

namespace ebb_levels_of_@target_identifier@ {
@declarations@}

std::invoke_result_t<decltype(@arg_FUNCTION@)&> @arg_FUNCTION@() noexcept(noexcept(@arg_FUNCTION@())) {
  using namespace ebb_levels_of_@target_identifier@;
  static const auto chosen = ebb::best_version<decltype(@arg_FUNCTION@)>({@versions@});
  return chosen();
}
]] @ONLY)
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  add_library(${target} STATIC "${folder}/choice.cpp" ${objects})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${target} PRIVATE ${arg_LINK_LIBRARIES} ebb::ebb)
  add_dependencies(${target} ${level_targets})  # make does not know how files of other targets come about
endfunction()

# Why there can be no levels, or nothing.
function(ebb_dispatch_problem result)
  set(problem "")
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
    set(problem "the processor is not x86-64.")
  elseif(NOT CMAKE_SYSTEM_NAME MATCHES "^(Linux|FreeBSD)$")
    set(problem "levels are made on Linux and FreeBSD only.")
  elseif(NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
    set(problem "levels are made by g++ and clang only.")
  endif()
  set(${result} "${problem}" PARENT_SCOPE)
endfunction()

# GNU ld: others keep groups of sections in `-r`, and merge them by name later.
macro(ebb_find_level_tools)
  find_program(EBB_LD NAMES ld.bfd ld DOC "GNU ld, for ebb_add_dispatched")
  mark_as_advanced(EBB_LD)
  set(ebb_ld_help "")
  if(EBB_LD)
    execute_process(COMMAND "${EBB_LD}" --help OUTPUT_VARIABLE ebb_ld_help ERROR_QUIET)
  endif()
  if(NOT ebb_ld_help MATCHES "--force-group-allocation" OR NOT CMAKE_OBJCOPY OR NOT CMAKE_NM)
    message(FATAL_ERROR "ebb_add_dispatched needs GNU ld >= 2.29, objcopy and nm. To get them: apt-get install "
      "binutils. Installed elsewhere? Give -DEBB_LD=/its/ld -DCMAKE_OBJCOPY=/its/objcopy -DCMAKE_NM=/its/nm.")
  endif()
endmacro()
