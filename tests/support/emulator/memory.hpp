// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulator/memory.hpp
/// @brief  The global memory that launches may use, and what they do with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ebb/core/view.hpp>

#include "support/emulator/relaxed_words.hpp"

namespace ebb::test::emulator {

/// What launches may do with a range of memory.
enum class usage {
  input,   ///< only read, its contents are there
  output,  ///< written, and read where it has been written
  in_out,  ///< read and written, its contents are there
  words    ///< only load_words, store_words and fetch_add; its contents are there
};

/// Every range of global memory that the kernels of some launches may touch; everything else is out
/// of bounds. Ranges of one type may overlap: an output that is also an input is in_out.
///
///   add(data, count, usage, name)   memory of the caller, which outlives this object
///   add(view, usage, name)          all elements of a strided view, without its padding
///   allocate<T>(count, name)        an output as the device allocates it: aligned to 256 bytes,
///                                   filled with 0xff (NaN)
///   copy(values, name)              an input of its own
///   unwritten(data, count)          elements nobody has written
class memory {
 public:
  template <class T>
  void add(T* data, index_t count, usage how, const std::string& name = "memory") {
    if (count > 0) add_range(address(data), address(data + count), alignof(T), how, name);
  }
  template <class T, class Axis>
  void add(const strided_view<T, Axis>& view, usage how, const std::string& name = "memory") {
    if (view.empty()) return;
    const bool rows_are_steps = strided_view<T, Axis>::channels_adjacent;
    const index_t rows = rows_are_steps ? view.steps() : view.channels();
    for (index_t b = 0; b < view.batches(); ++b)
      for (index_t r = 0; r < rows; ++r)
        add(rows_are_steps ? view.pointer(b, r, 0) : view.pointer(b, 0, r),
            rows_are_steps ? view.channels() : view.steps(), how, name);
  }

  template <class T>
  T* allocate(index_t count, const std::string& name = "scratch") {
    T* const data = reserve<T>(count);
    add(data, count, usage::output, name);
    return data;
  }
  template <class T>
  const T* copy(std::span<const T> values, const std::string& name = "values") {
    T* const data = reserve<T>(static_cast<index_t>(values.size()));
    if (!values.empty()) std::memcpy(static_cast<void*>(data), values.data(), values.size_bytes());
    add(data, static_cast<index_t>(values.size()), usage::input, name);
    return data;
  }

  template <class T>
  index_t unwritten(const T* data, index_t count) const {
    index_t missing = 0;
    for (index_t i = 0; i < count; ++i) {
      const std::uintptr_t at = address(data + i);
      const auto* const r = find(at);
      missing += r == nullptr ? 1 : !r->contents(at);
    }
    return missing;
  }

  // What follows is for the emulator.

  /// Launches follow one another: what earlier ones did is ordered before all of the next.
  void begin_launch() {
    for (auto& [start, r] : ranges_)
      for (shadow_cell& cell : r.cells) cell.forget_order();
    words_.forget();
  }
  relaxed_words& words() { return words_; }

  /// Who accesses memory, from which line, and where faults go.
  struct visitor {
    moment now;
    place where;
    report* faults = nullptr;
  };
  /// Whether the access is possible at all; everything it breaks is reported. `aligned`: what the
  /// address has to be a multiple of.
  bool may_read(const void* data, std::size_t bytes, std::size_t aligned, const visitor& who,
                bool cached = false) {
    return visit(data, bytes, aligned, who, [&](range& r, std::uintptr_t at) {
      if (r.how == usage::words)
        return who.faults->add(fault::usage, who.where,
                               text_of(who.now) + " reads words as data: " + r.element(at));
      if (r.cells.empty()) return;  // an input
      shadow_cell& cell = r.cell(at);
      if (!cell.written)
        who.faults->add(fault::unwritten, who.where,
                        text_of(who.now) + " reads what nobody has written: " + r.element(at));
      if (cached) {
        if (cell.written_in_this_launch())
          who.faults->add(fault::usage, who.where,
                          text_of(who.now) +
                              " reads as a constant what the launch has written: " + r.element(at));
        cell.cached = true;
      }
      add_race(cell.read(who.now, who.where), r, at, who);
    });
  }
  bool may_write(const void* data, std::size_t bytes, std::size_t aligned, const visitor& who) {
    return visit(data, bytes, aligned, who, [&](range& r, std::uintptr_t at) {
      if (r.how == usage::input || r.how == usage::words)
        return who.faults->add(fault::usage, who.where,
                               text_of(who.now) + " writes " +
                                   (r.how == usage::input ? "an input: " : "data to words: ") +
                                   r.element(at));
      shadow_cell& cell = r.cell(at);
      if (cell.cached)
        who.faults->add(
            fault::usage, who.where,
            text_of(who.now) + " writes what the launch has read as a constant: " + r.element(at));
      add_race(cell.write(who.now, who.where), r, at, who);
    });
  }
  bool may_use_words(const void* data, std::size_t bytes, std::size_t aligned, const visitor& who) {
    return visit(data, bytes, aligned, who, [&](range& r, std::uintptr_t at) {
      if (r.how != usage::words)
        who.faults->add(fault::usage, who.where,
                        text_of(who.now) + " uses data as words: " + r.element(at));
    });
  }

 private:
  // Cells are as large as the alignment of the type, so that vectors and numbers agree on them.
  struct range {
    std::uintptr_t begin = 0, end = 0, origin = 0;  // origin: of the array it was cut from
    std::size_t grain = 1;
    usage how = usage::input;
    std::string name;
    std::vector<shadow_cell> cells;  // none for inputs and words

    shadow_cell& cell(std::uintptr_t at) { return cells[(at - begin) / grain]; }
    bool contents(std::uintptr_t at) const {
      return cells.empty() || cells[(at - begin) / grain].written;
    }
    std::string element(std::uintptr_t at) const {
      return name + " + " + std::to_string(at - origin) + " bytes";
    }
    void track() {
      if (how == usage::input || how == usage::words) return;
      cells.resize((end - begin) / grain);
      if (how == usage::in_out)
        for (shadow_cell& c : cells) c.written = true;
    }
  };

  template <class T>
  static std::uintptr_t address(T* p) {
    return reinterpret_cast<std::uintptr_t>(p);
  }

  template <class T>
  T* reserve(index_t count) {
    constexpr std::size_t aligned = 256;
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    own_.emplace_back(new unsigned char[bytes + aligned]);
    const std::size_t offset = (aligned - address(own_.back().get()) % aligned) % aligned;
    unsigned char* const data = own_.back().get() + offset;
    std::memset(data, 0xff, bytes);
    return reinterpret_cast<T*>(data);
  }

  const range* find(std::uintptr_t at) const {
    auto after = ranges_.upper_bound(at);
    if (after == ranges_.begin()) return nullptr;
    const range& r = std::prev(after)->second;
    return at < r.end ? &r : nullptr;
  }
  range* find(std::uintptr_t at) {
    if (latest_ == nullptr || at < latest_->begin || at >= latest_->end)
      latest_ = const_cast<range*>(std::as_const(*this).find(at));
    return latest_;
  }

  void add_range(std::uintptr_t begin, std::uintptr_t end, std::size_t grain, usage how,
                 const std::string& name) {
    latest_ = nullptr;
    cut(begin);
    cut(end);
    for (std::uintptr_t at = begin; at < end;) {
      const auto next = ranges_.lower_bound(at);
      if (next != ranges_.end() && next->first == at) {
        merge(next->second, grain, how);
        at = next->second.end;
      } else {
        const std::uintptr_t stop = next == ranges_.end() ? end : std::min(end, next->first);
        range r{at, stop, begin, grain, how, name, {}};
        r.track();
        ranges_.emplace(at, std::move(r));
        at = stop;
      }
    }
  }
  void cut(std::uintptr_t at) {
    range* const r = find(at);
    latest_ = nullptr;
    if (r == nullptr || r->begin == at) return;
    if ((at - r->begin) % r->grain != 0)
      throw std::logic_error("emulator: overlapping ranges of different types");
    range tail = *r;
    tail.begin = at;
    if (!r->cells.empty()) {
      const auto middle =
          r->cells.begin() + static_cast<std::ptrdiff_t>((at - r->begin) / r->grain);
      tail.cells.assign(middle, r->cells.end());
      r->cells.erase(middle, r->cells.end());
    }
    r->end = at;
    ranges_.emplace(at, std::move(tail));
  }
  static void merge(range& r, std::size_t grain, usage how) {
    if (r.grain != grain || (r.how == usage::words) != (how == usage::words))
      throw std::logic_error("emulator: overlapping ranges of different types");
    if (r.how == how || r.how == usage::in_out) return;
    r.how = usage::in_out;  // an input and an output
    r.track();
  }

  template <class Each>
  bool visit(const void* data, std::size_t bytes, std::size_t aligned, const visitor& who,
             const Each& each) {
    const std::uintptr_t begin = address(data);
    if (begin % aligned != 0) {
      who.faults->add(fault::alignment, who.where,
                      text_of(who.now) + " accesses " + std::to_string(bytes) +
                          " bytes at an address that is no multiple of " + std::to_string(aligned) +
                          (find(begin) ? ": " : "") +
                          (find(begin) ? find(begin)->element(begin) : ""));
      return false;
    }
    for (std::uintptr_t at = begin; at < begin + bytes;) {
      range* const r = find(at);
      if (r == nullptr) {
        who.faults->add(fault::bounds, who.where, text_of(who.now) + " accesses " + beside(at));
        return false;
      }
      at += r->grain;
    }
    for (std::uintptr_t at = begin; at < begin + bytes;) {
      range* const r = find(at);
      each(*r, at);
      at += r->grain;
    }
    return true;
  }
  std::string beside(std::uintptr_t at) const {
    const auto after = ranges_.upper_bound(at);
    if (at == 0) return "a null pointer";
    if (after != ranges_.begin()) {
      const range& before = std::prev(after)->second;
      return std::to_string(at - before.end) + " bytes past the end of " + before.name;
    }
    if (after == ranges_.end()) return "memory, and there is none";
    return std::to_string(after->first - at) + " bytes before " + after->second.name;
  }
  static void add_race(std::string race, const range& r, std::uintptr_t at, const visitor& who) {
    if (!race.empty())
      who.faults->add(fault::race, who.where,
                      std::move(race) + ", and nothing orders them: " + r.element(at));
  }

  std::map<std::uintptr_t, range> ranges_;
  range* latest_ = nullptr;
  relaxed_words words_;
  std::vector<std::unique_ptr<unsigned char[]>> own_;
};

}  // namespace ebb::test::emulator
