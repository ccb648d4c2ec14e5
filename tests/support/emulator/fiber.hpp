// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulator/fiber.hpp
/// @brief  A function with a stack of its own, which can be left and taken up again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

// 1 with AddressSanitizer: it has to be told of every change of stacks.
#if defined(__SANITIZE_ADDRESS__)
#define EBB_TEST_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EBB_TEST_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(EBB_TEST_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// EBB_TEST_UCONTEXT: the portable switch, also where there is a faster one; two system calls more.
#if defined(__x86_64__) && defined(__ELF__) && !defined(EBB_TEST_UCONTEXT)
// Saves what a function must preserve (System V ABI) on the stack, and its pointer in *save; takes
// the stack `to`, and from there what was saved on it.
extern "C" void ebb_test_switch_stacks(void** save, void* to);
asm(R"(
.pushsection .text.ebb_test_switch_stacks, "axG", @progbits, ebb_test_switch_stacks, comdat
.weak ebb_test_switch_stacks
.type ebb_test_switch_stacks, @function
ebb_test_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size ebb_test_switch_stacks, . - ebb_test_switch_stacks
.popsection
)");
#else
#define EBB_TEST_UCONTEXT_USED 1
#include <ucontext.h>
#endif

namespace ebb::test::emulator {

/// A function with a stack of its own. Only one operating-system thread may use it.
///
///   start(task)   what it will do; the fiber must be idle
///   resume()      from outside: goes on with the task until it suspends or ends
///   suspend()     from the task: back to where resume() was called
class fiber {
 public:
#if defined(EBB_TEST_ADDRESS_SANITIZER)
  static constexpr std::size_t usual_stack = std::size_t{512} * 1024;
#else
  static constexpr std::size_t usual_stack = std::size_t{128} * 1024;
#endif

  /// @param bytes  of its stack; an overflow ends the program with a message
  explicit fiber(std::size_t bytes = usual_stack)
      : bytes_(bytes / 64 * 64), memory_(new unsigned char[bytes_ + 64]) {
    const auto start = reinterpret_cast<std::uintptr_t>(memory_.get());
    bottom_ = memory_.get() + (64 - start % 64) % 64;
    for (std::size_t i = 0; i < guard_words; ++i) guard()[i] = guard_value;
#if defined(EBB_TEST_UCONTEXT_USED)
    getcontext(&inside_);
    inside_.uc_stack.ss_sp = bottom_;
    inside_.uc_stack.ss_size = bytes_;
    inside_.uc_link = nullptr;
    makecontext(&inside_, &fiber::enter, 0);
#else
    // As if `enter` had been called by nobody, and had called the switch as its first deed.
    auto** top = reinterpret_cast<void**>(bottom_ + bytes_);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(&fiber::enter);
    for (int preserved = 0; preserved < 6; ++preserved) *--top = nullptr;
    inside_ = top;
#endif
  }
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;
#if defined(EBB_TEST_ADDRESS_SANITIZER)
  ~fiber() {
    __asan_unpoison_memory_region(bottom_, bytes_);
  }  // the frame of `loop` is still there
#else
  ~fiber() = default;
#endif

  void start(std::function<void()> task) {
    task_ = std::move(task);
    idle_ = false;
  }
  /// Whether there is nothing to resume.
  bool idle() const { return idle_; }

  void resume() {
    entering() = this;
#if defined(EBB_TEST_ADDRESS_SANITIZER)
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, bottom_, bytes_);
#endif
#if defined(EBB_TEST_UCONTEXT_USED)
    swapcontext(&outside_, &inside_);
#else
    ebb_test_switch_stacks(&outside_, inside_);
#endif
#if defined(EBB_TEST_ADDRESS_SANITIZER)
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
    for (std::size_t i = 0; i < guard_words; ++i)
      if (guard()[i] != guard_value) {
        std::fputs("emulator: the stack of a fiber has overflowed\n", stderr);
        std::abort();
      }
  }

  void suspend() {
#if defined(EBB_TEST_ADDRESS_SANITIZER)
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, outside_bottom_, outside_bytes_);
#endif
#if defined(EBB_TEST_UCONTEXT_USED)
    swapcontext(&inside_, &outside_);
#else
    ebb_test_switch_stacks(&inside_, outside_);
#endif
#if defined(EBB_TEST_ADDRESS_SANITIZER)
    __sanitizer_finish_switch_fiber(fake, &outside_bottom_, &outside_bytes_);
#endif
  }

 private:
  static constexpr std::size_t guard_words = 8;
  static constexpr std::uint64_t guard_value = 0x5eb5eb5eb5eb5eb5u;

  std::uint64_t* guard() { return reinterpret_cast<std::uint64_t*>(bottom_); }

  static fiber*& entering() {
    static thread_local fiber* which = nullptr;
    return which;
  }
  static void enter() { entering()->loop(); }
  [[noreturn]] void loop() {
#if defined(EBB_TEST_ADDRESS_SANITIZER)
    __sanitizer_finish_switch_fiber(nullptr, &outside_bottom_, &outside_bytes_);
#endif
    for (;;) {
      task_();
      idle_ = true;
      suspend();
    }
  }

  std::size_t bytes_;
  std::unique_ptr<unsigned char[]> memory_;
  unsigned char* bottom_ = nullptr;
  std::function<void()> task_;
  bool idle_ = true;
#if defined(EBB_TEST_UCONTEXT_USED)
  ucontext_t inside_{}, outside_{};
#else
  void* inside_ = nullptr;
  void* outside_ = nullptr;
#endif
#if defined(EBB_TEST_ADDRESS_SANITIZER)
  const void* outside_bottom_ = nullptr;
  std::size_t outside_bytes_ = 0;
#endif
};

}  // namespace ebb::test::emulator
