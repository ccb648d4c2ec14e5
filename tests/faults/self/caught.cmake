# SPDX-License-Identifier: Apache-2.0
fault("the third of three places" tests/support/emulator/fiber.hpp 3 "idle_ = " "idle_ = !"
  emulator/fiber_test)
