// SPDX-License-Identifier: Apache-2.0
/// @file   command_line/usage.hpp
/// @brief  What the programs say of their options, and how they end.
#pragma once

#include <exception>
#include <iostream>
#include <stdexcept>

namespace command_line {

/// An option is unknown, missing or outside its domain; the message is one line.
class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// --help was asked for; the message is the text.
class help_wanted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The exit status of a program: that of run(); 0 after help; 2 for a usage_error and 1 for any
/// other exception, whose message goes to standard error.
template <class Run>
int status_of(const char* program, const Run& run) {
  try {
    return run();
  } catch (const help_wanted& help) {
    std::cout << help.what() << std::flush;
    return std::cout ? 0 : 1;
  } catch (const usage_error& problem) {
    std::cerr << program << ": " << problem.what() << std::endl;
    return 2;
  } catch (const std::exception& problem) {
    std::cerr << program << ": " << problem.what() << std::endl;
    return 1;
  }
}

}  // namespace command_line
