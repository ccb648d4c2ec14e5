# SPDX-License-Identifier: Apache-2.0
# Install rules: headers, the CMake package (core, and components found on request), pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Headers only, so everything is independent of the architecture and lies under share/.
set(package_dir "${CMAKE_INSTALL_DATADIR}/cmake/ebb")

install(DIRECTORY include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS ebb EXPORT ebb-targets INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT ebb-targets NAMESPACE ebb:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/ebbConfig.cmake.in ebbConfig.cmake INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(ebbConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES
  "${PROJECT_BINARY_DIR}/ebbConfig.cmake"
  "${PROJECT_BINARY_DIR}/ebbConfigVersion.cmake"
  cmake/ebb-components.cmake
  cmake/ebb-dispatch.cmake
  cmake/ebb-isolate-level.cmake
  DESTINATION "${package_dir}")

configure_file(cmake/ebb.pc.in ebb.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/ebb.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
