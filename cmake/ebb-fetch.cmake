# SPDX-License-Identifier: Apache-2.0
# With EBB_FETCH_DEPS=ON: downloads what is not installed, pinned by hash. All of it is headers only, so
# nothing of its build runs: each becomes an imported target, whose headers raise no warnings of ours.
# Without network: unpack a copy and give -DFETCHCONTENT_SOURCE_DIR_EIGEN=/its/folder (BOOST, XSIMD, DOCTEST, CLI11,
# NLOHMANN_JSON).
include(FetchContent)

# ebb_fetch_headers(<name> <target> <pattern of its include folders> <where>...)
function(ebb_fetch_headers name target include)
  message(STATUS "Downloading ${name} (EBB_FETCH_DEPS=ON)")
  # A subdirectory that is not there keeps FetchContent from adding the project.
  FetchContent_Declare(${name} ${ARGN} SOURCE_SUBDIR no-build)
  FetchContent_MakeAvailable(${name})
  file(GLOB folders LIST_DIRECTORIES true "${${name}_SOURCE_DIR}${include}")
  if(NOT folders)
    message(FATAL_ERROR "${name}: ${${name}_SOURCE_DIR}${include} does not exist.")
  endif()
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} INTERFACE ${folders})
endfunction()

function(ebb_fetch_eigen)
  ebb_fetch_headers(eigen Eigen3::Eigen ""
    URL https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz
    URL_HASH SHA256=8586084f71f9bde545ee7fa6d00288b264a2b7ac3607b974e54d13e7162c1c72
    DOWNLOAD_EXTRACT_TIMESTAMP ON)
  set(Eigen3_VERSION 3.4.0 PARENT_SCOPE)
endfunction()

function(ebb_fetch_boost)
  ebb_fetch_headers(boost Boost::headers "/libs/*/include"
    URL https://github.com/boostorg/boost/releases/download/boost-1.84.0/boost-1.84.0.tar.xz
    URL_HASH SHA256=2e64e5d79a738d0fa6fb546c6e5c2bd28f88d268a2a080546f74e5ff98f29d0e
    DOWNLOAD_EXTRACT_TIMESTAMP ON)
  set(Boost_VERSION 1.84.0 PARENT_SCOPE)
endfunction()

function(ebb_fetch_xsimd)
  ebb_fetch_headers(xsimd ebb::xsimd "/include"
    GIT_REPOSITORY https://github.com/xtensor-stack/xsimd.git
    GIT_TAG 1f8dd9c8e162968d9b4ff0251c56d431b8777f36)  # 13.2.0
endfunction()

function(ebb_fetch_doctest)
  ebb_fetch_headers(doctest doctest::doctest ""
    GIT_REPOSITORY https://github.com/doctest/doctest.git
    GIT_TAG ae7a13539fb71f270b87eb2e874fbac80bc8dda2)  # v2.4.11
endfunction()

function(ebb_fetch_cli11)
  ebb_fetch_headers(cli11 CLI11::CLI11 "/include"
    GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git
    GIT_TAG 6c7b07a878ad834957b98d0f9ce1dbe0cb204fc9)  # v2.4.2
endfunction()

function(ebb_fetch_nlohmann_json)
  ebb_fetch_headers(nlohmann_json nlohmann_json::nlohmann_json "/include"
    URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
    URL_HASH SHA256=d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d
    DOWNLOAD_EXTRACT_TIMESTAMP ON)
endfunction()
