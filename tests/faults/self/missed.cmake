# SPDX-License-Identifier: Apache-2.0
set(fiber tests/support/emulator/fiber.hpp)
fault("no fault" ${fiber} 1 "{128}" "{129}" emulator/fiber_test)
fault("no such text" ${fiber} 99 "usual_stack" "" emulator/fiber_test)
fault("no C++" ${fiber} 1 "class fiber" "class class fiber" emulator/fiber_test)
