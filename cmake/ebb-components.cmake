# SPDX-License-Identifier: Apache-2.0
# What the optional targets need. Our own build and the installed package share this file, so both
# find the same libraries in the same way, and a package built where Eigen was missing still offers
# ebb::eigen where Eigen is.
#
# ebb_find_<name>() sets, in the caller's scope, either ebb_<name>_LINKS (the targets to link) and
# ebb_<name>_USES (what was found, in words), or ebb_<name>_PROBLEM (a sentence that says what is
# missing and how to get it).

# Versions are compared by hand: Eigen's own version file accepts its own major version only, so
# find_package(Eigen3 3.4) would refuse Eigen 5.
function(ebb_find_eigen)
  if(NOT TARGET Eigen3::Eigen)
    find_package(Eigen3 CONFIG QUIET)
  endif()
  if(NOT TARGET Eigen3::Eigen AND COMMAND ebb_fetch_eigen)
    ebb_fetch_eigen()
  endif()
  set(get "To get it: apt-get install libeigen3-dev (Fedora: eigen3-devel; Homebrew, conda: eigen; vcpkg: eigen3).")
  if(NOT TARGET Eigen3::Eigen)
    set(ebb_eigen_PROBLEM "Eigen >= 3.4 was not found. ${get}" PARENT_SCOPE)
  elseif(Eigen3_VERSION AND Eigen3_VERSION VERSION_LESS 3.4)
    set(ebb_eigen_PROBLEM "Eigen >= 3.4 is needed, but ${Eigen3_VERSION} was found. ${get}" PARENT_SCOPE)
  else()
    set(ebb_eigen_LINKS ebb::ebb Eigen3::Eigen PARENT_SCOPE)
    set(ebb_eigen_USES "Eigen ${Eigen3_VERSION}" PARENT_SCOPE)
  endif()
endfunction()

# Call ebb_find_eigen() first: ebb::approx is ebb::eigen and the headers of Boost.Multiprecision.
function(ebb_find_approx)
  if(NOT ebb_eigen_LINKS)
    set(ebb_approx_PROBLEM "${ebb_eigen_PROBLEM}" PARENT_SCOPE)
    return()
  endif()
  if(NOT TARGET Boost::headers)
    find_package(Boost 1.74 CONFIG QUIET)
  endif()
  if(NOT TARGET Boost::headers AND COMMAND ebb_fetch_boost)
    ebb_fetch_boost()
  endif()
  if(NOT TARGET Boost::headers)
    set(ebb_approx_PROBLEM "The headers of Boost >= 1.74 (Multiprecision) were not found. To get them: \
apt-get install libboost-dev (Fedora: boost-devel; Homebrew, conda: boost; vcpkg: boost-multiprecision)." PARENT_SCOPE)
  else()
    set(ebb_approx_LINKS ebb::eigen Boost::headers PARENT_SCOPE)
    set(ebb_approx_USES "${ebb_eigen_USES}, Boost ${Boost_VERSION}" PARENT_SCOPE)
  endif()
endfunction()

# xsimd's own target is not linked: Debian's asks for a library xtl that does not come with it. The
# headers are all there is to it, and they say their version.
function(ebb_find_simd)
  find_path(EBB_XSIMD_INCLUDE_DIR xsimd/config/xsimd_config.hpp DOC "Folder that holds xsimd/xsimd.hpp")
  mark_as_advanced(EBB_XSIMD_INCLUDE_DIR)
  set(folder "${EBB_XSIMD_INCLUDE_DIR}")
  ebb_xsimd_version("${folder}" version)
  if(NOT TARGET ebb::xsimd AND version VERSION_LESS 8.1 AND COMMAND ebb_fetch_xsimd)
    ebb_fetch_xsimd()
    get_target_property(folder ebb::xsimd INTERFACE_INCLUDE_DIRECTORIES)
    ebb_xsimd_version("${folder}" version)
  endif()
  set(get "To get it: apt-get install libxsimd-dev (Fedora: xsimd-devel; Homebrew, conda, vcpkg: xsimd).")
  if(NOT folder)
    set(ebb_simd_PROBLEM "xsimd >= 8.1 was not found. ${get}" PARENT_SCOPE)
    return()
  elseif(version VERSION_LESS 8.1)
    set(ebb_simd_PROBLEM "xsimd >= 8.1 is needed, but ${version} was found. ${get}" PARENT_SCOPE)
    return()
  endif()
  # An imported target's folders are searched as those of the system: no warnings of ours.
  if(NOT TARGET ebb::xsimd)
    add_library(ebb::xsimd INTERFACE IMPORTED)
    target_include_directories(ebb::xsimd INTERFACE "${folder}")
  endif()
  set(ebb_simd_LINKS ebb::ebb ebb::xsimd PARENT_SCOPE)
  set(ebb_simd_USES "xsimd ${version}" PARENT_SCOPE)
endfunction()

# ebb::cuda is headers too: it says to nvcc which language they are written in. Programs enable the language
# CUDA themselves, so nvcc is looked for where CMake will look for it.
function(ebb_find_cuda)
  set(nvcc "${CMAKE_CUDA_COMPILER}")
  if(NOT nvcc)
    find_program(EBB_NVCC NAMES nvcc HINTS ENV CUDACXX ENV CUDA_PATH PATH_SUFFIXES bin
      DOC "NVIDIA's compiler, for ebb::cuda")
    mark_as_advanced(EBB_NVCC)
    set(nvcc "${EBB_NVCC}")
  endif()
  set(get "It comes with NVIDIA's CUDA toolkit. Is it installed outside PATH? Set CUDACXX=/its/nvcc.")
  if(NOT nvcc)
    set(ebb_cuda_PROBLEM "nvcc >= 12.0 was not found. ${get}" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT text MATCHES "release ([0-9]+[.][0-9]+)")
    set(ebb_cuda_PROBLEM "${nvcc} --version does not answer as nvcc does. ${get}" PARENT_SCOPE)
    return()
  endif()
  set(version "${CMAKE_MATCH_1}")
  if(version VERSION_LESS 12.0)
    set(ebb_cuda_PROBLEM "nvcc >= 12.0 is needed, but ${version} was found (${nvcc}). ${get}" PARENT_SCOPE)
    return()
  endif()
  # By hand: CMake before 3.25.2 does not know that nvcc has C++20, and stops at cuda_std_20.
  if(NOT TARGET ebb::cuda_language)
    add_library(ebb::cuda_language INTERFACE IMPORTED)
    target_compile_options(ebb::cuda_language INTERFACE
      "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-std=c++20;--expt-relaxed-constexpr>")
  endif()
  set(ebb_cuda_LINKS ebb::ebb ebb::cuda_language PARENT_SCOPE)
  set(ebb_cuda_USES "nvcc ${version}" PARENT_SCOPE)
endfunction()

# Call ebb_find_cuda() first: ebb::cublas is ebb::cuda and the library of NVIDIA's toolkit.
function(ebb_find_cublas)
  if(NOT ebb_cuda_LINKS)
    set(ebb_cublas_PROBLEM "${ebb_cuda_PROBLEM}" PARENT_SCOPE)
    return()
  endif()
  if(NOT TARGET CUDA::cublas)
    if(NOT CUDAToolkit_ROOT AND NOT CMAKE_CUDA_COMPILER AND EBB_NVCC)
      cmake_path(GET EBB_NVCC PARENT_PATH CUDAToolkit_ROOT)
    endif()
    find_package(CUDAToolkit QUIET)
  endif()
  if(NOT TARGET CUDA::cublas)
    set(ebb_cublas_PROBLEM "cuBLAS was not found. It comes with NVIDIA's CUDA toolkit, in Debian's archive as \
libcublas-dev. Is it installed elsewhere? Set CUDAToolkit_ROOT." PARENT_SCOPE)
    return()
  endif()
  set(ebb_cublas_LINKS ebb::cuda CUDA::cublas PARENT_SCOPE)
  set(ebb_cublas_USES "cuBLAS of CUDA ${CUDAToolkit_VERSION}" PARENT_SCOPE)
endfunction()

# The version of the xsimd in a folder, 0 where there is none.
function(ebb_xsimd_version folder result)
  set(config "${folder}/xsimd/config/xsimd_config.hpp")
  set(numbers 0)
  if(folder AND EXISTS "${config}")
    file(STRINGS "${config}" lines REGEX "define XSIMD_VERSION_(MAJOR|MINOR|PATCH) ")
    string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
  endif()
  list(JOIN numbers "." version)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()
