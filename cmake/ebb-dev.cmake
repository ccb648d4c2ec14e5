# SPDX-License-Identifier: Apache-2.0
# ebb_dev: the warnings, sanitizers and -march of our own tests and examples. Linked privately and never
# exported: a consumer's flags are the consumer's business.
find_package(Threads REQUIRED)

# There are no modules here: newer CMake would scan every source for them.
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)

add_library(ebb_dev INTERFACE)
target_link_libraries(ebb_dev INTERFACE ebb::ebb Threads::Threads)
target_compile_options(ebb_dev INTERFACE
  $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion>)
if(EBB_WERROR)
  # g++ guesses these after inlining, each version differently, and wrongly at times inside the standard
  # library and its own intrinsics: they stay warnings, so that no other compiler stops the build.
  target_compile_options(ebb_dev INTERFACE -Werror
    $<$<CXX_COMPILER_ID:GNU>:-Wno-error=array-bounds;-Wno-error=stringop-overflow;-Wno-error=stringop-overread;-Wno-error=maybe-uninitialized;-Wno-error=uninitialized>)
endif()
if(EBB_ARCH)
  target_compile_options(ebb_dev INTERFACE -march=${EBB_ARCH})
endif()
if(EBB_SANITIZE)
  target_compile_options(ebb_dev INTERFACE
    -fsanitize=${EBB_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(ebb_dev INTERFACE -fsanitize=${EBB_SANITIZE})
endif()
