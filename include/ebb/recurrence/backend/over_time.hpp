// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/over_time.hpp
/// @brief  Another backend on several threads, long sequences cut over time: within the bound, not
///         to the bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/decay/shifted.hpp>
#include <ebb/recurrence/backend/decay_products.hpp>
#include <ebb/recurrence/backend/threads.hpp>

namespace ebb::inline EBB_ABI {

namespace detail {

/// One of the chunks of a sequence that is cut over time, numbered as the sequence is walked.
struct time_chunk {
  index_t batch, sequence, number, last;  // last: the number of the sequence's last chunk
  index_t begin, length;                  // steps
  index_t after;                          // row of the state after it, but of the last chunk

  index_t before() const { return after - 1; }
};

/// How a call is cut over time: which sequences, and where.
///
/// With P parts a sequence of its share of them, p >= 2, has p + 1 chunks. Number 0 is scanned to
/// its end while the others but the last are walked from state 0, each at `cost` of a scan; then
/// all but number 0 are scanned. Both take p calls, of one length each where number 0 has `cost` of
/// the others' steps.
class time_cuts {
 public:
  static constexpr index_t shortest = 64;  // steps of a chunk

  /// @param work  elements that make a chunk worth handing out, >= 1; a step counts as 64 at least
  template <class State>
  time_cuts(const extents& size, const sequences<State>& where, index_t parts, index_t work,
            double cost, direction order)
      : parts_(parts) {
    if (size.empty() || parts == 1) return;
    const index_t steps =
        where.offsets.empty() ? size.steps : where.offsets.back() - where.offsets.front();
    all_ = size.batches * steps;
    least_ = std::max(shortest, work / std::max<index_t>(size.channels, 64));
    if (all_ < 2 * least_) return;
    for (index_t b = 0; b < size.batches; ++b)
      for (index_t s = 0; s < where.count(); ++s) {
        const index_t begin = where.begin(s), length = where.end(s, size.steps) - begin;
        const index_t p = parts_of(length);
        if (p < 2) continue;
        const auto each =
            static_cast<index_t>(static_cast<double>(length) / (static_cast<double>(p) + cost));
        // The first chunk has what is left.
        for (index_t c = 0; c <= p; ++c) {
          const index_t count = c == 0 ? length - p * each : each;
          const index_t done = c == 0 ? 0 : length - (p + 1 - c) * each;
          chunks_.push_back(
              {b, s, c, p,
               order == direction::forward ? begin + done : begin + length - done - count, count,
               states_ + c});
        }
        states_ += p;
      }
  }

  const std::vector<time_chunk>& chunks() const { return chunks_; }
  /// Rows of states between chunks.
  index_t states() const { return states_; }
  /// Whether a sequence of this length is cut.
  bool cuts(index_t length) const { return parts_of(length) >= 2; }

 private:
  // Its share of the parts, a little rounded up; each chunk has enough to do.
  index_t parts_of(index_t length) const {
    if (all_ < 2 * least_) return 1;
    const double share =
        static_cast<double>(parts_) * static_cast<double>(length) / static_cast<double>(all_);
    return std::min(static_cast<index_t>(share + 0.25), length / least_ - 2);
  }

  index_t parts_, all_ = 0, least_ = 1, states_ = 0;
  std::vector<time_chunk> chunks_;
};

/// The phases of a scan that is cut over time.
template <class Inner, class Decay, class T, class InAxis, class OutAxis, class State>
class cut_scan {
  using products = decay_products<Decay, State>;
  using product_of_chunk = typename products::result;
  using wide = typename products::wide;

 public:
  cut_scan(const Inner& inner, const Decay& decay, const strided_view<const T, InAxis>& in,
           const strided_view<T, OutAxis>& out, const sequences<State>& where,
           const scan_options& options, const time_cuts& cuts)
      : inner_(inner),
        decay_(decay),
        in_(in),
        out_(out),
        where_(where),
        options_(options),
        cuts_(cuts),
        states_(static_cast<std::size_t>(cuts.states() * out.channels())),
        products_(states_.size()),
        forgets_(static_cast<std::size_t>(cuts.states())) {}

  /// Phase 1 of a chunk: to its end from the sequence's initial state, or z and the product.
  void begin(const time_chunk& chunk) {
    if (chunk.number == 0) return scan(chunk);
    if (chunk.number == chunk.last) return;
    const bool forgets = has_reset(chunk);
    forgets_[static_cast<std::size_t>(chunk.after)] = forgets;
    for (index_t k = 0; k < channels(); k += products::widest) {
      const index_t width = std::min(products::widest, channels() - k);
      const strided_view<State> z(state(chunk.after) + k, 1, width);
      products all(decay_, k, width);
      walk(chunk, z, k, width, [&](const block_origin& origin, index_t count) {
        if (products::by_blocks && !forgets) all.add(origin, count);
      });
      if (forgets) continue;
      if (!products::by_blocks)
        all.add({chunk.batch, chunk.begin, k, position(chunk, chunk.begin)}, chunk.length);
      all.write(product_of(chunk) + k);
    }
  }

  /// Phase 2, on the calling thread.
  void carry() {
    for (const time_chunk& chunk : cuts_.chunks()) {
      if (chunk.number == 0 || chunk.number == chunk.last) continue;
      if (forgets_[static_cast<std::size_t>(chunk.after)] != 0) continue;
      const State* const before = state(chunk.before());
      State* const after = state(chunk.after);
      for (index_t k = 0; k < channels(); ++k) {
        if constexpr (is_complex<State>) {
          // Components of infinities and NaN go where single steps take them.
          const bool finite =
              scaled<State>::size(before[k]) <= std::numeric_limits<real_of_t<State>>::max();
          if (!finite || std::isnan(before[k].real()) || std::isnan(before[k].imag())) {
            after[k] = before[k];
            walk(chunk, strided_view<State>(after + k, 1, 1), k, 1, [](auto&&...) {});
            continue;
          }
        }
        after[k] = static_cast<State>(product_of(chunk)[k].times(static_cast<wide>(before[k])) +
                                      static_cast<wide>(after[k]));
      }
    }
  }

  /// Phase 3 of a chunk.
  void finish(const time_chunk& chunk) {
    if (chunk.number > 0) scan(chunk);
  }

  /// Sequences first .. end - 1 in the order of batch entries, but for those that are cut.
  void whole(index_t first, index_t end) {
    for (index_t row = first; row < end; ++row) {
      const index_t b = row / where_.count(), s = row % where_.count();
      if (cuts_.cuts(where_.end(s, out_.steps()) - where_.begin(s))) continue;
      inner_.scan(shifted_decay<Decay>(decay_, {b, 0, 0}), in_.batch_entry(b), out_.batch_entry(b),
                  part_of(where_, out_.steps(), b, s, 1, 0, channels()), options_);
    }
  }

 private:
  index_t channels() const { return out_.channels(); }
  State* state(index_t row) { return states_.data() + row * channels(); }
  product_of_chunk* product_of(const time_chunk& chunk) {
    return products_.data() + chunk.after * channels();
  }
  index_t position(const time_chunk& chunk, index_t step) const {
    return where_.first_position(chunk.batch, chunk.sequence) +
           (step - where_.begin(chunk.sequence));
  }

  // A chunk as a sequence of its own; steps keep their numbers.
  void scan(const time_chunk& chunk) {
    const index_t b = chunk.batch, offsets[2] = {chunk.begin, chunk.begin + chunk.length};
    const index_t first = position(chunk, chunk.begin);
    sequences<State> part = part_of(where_, out_.steps(), b, chunk.sequence, 1, 0, channels());
    part.offsets = offsets;
    part.first_positions = std::span<const index_t>(&first, 1);
    if (chunk.number > 0)
      part.initial_states = strided_view<const State>(state(chunk.before()), 1, channels());
    // The state after another chunk is there, and may be being read.
    if (chunk.number == 0)
      part.final_states = strided_view<State>(state(chunk.after), 1, channels());
    else if (chunk.number < chunk.last)
      part.final_states = {};
    inner_.scan(shifted_decay<Decay>(decay_, {b, 0, 0}), in_.batch_entry(b), out_.batch_entry(b),
                part, options_);
  }

  // The states of some channels from one end of a chunk to the other, in blocks, of which
  // each(origin, count) is told. Outputs are lost: they stay in the first cache, or, where blocks
  // are dear because polynomials are made for each, go to where phase 3 will write.
  template <class Each>
  void walk(const time_chunk& chunk, const strided_view<State>& states, index_t k, index_t width,
            const Each& each) {
    constexpr auto elements = static_cast<index_t>(32768 / sizeof(T));
    T scratch[static_cast<std::size_t>(elements)];
    const index_t b = chunk.batch;
    const bool spare = !is_complex<State> && in_log_time<Decay, State> && in_.data() != out_.data();
    const index_t most = spare ? chunk.length : elements / width;
    for (index_t done = 0, count = 0; done < chunk.length; done += count) {
      count = std::min(most, chunk.length - done);
      const index_t t = options_.order == direction::forward
                            ? chunk.begin + done
                            : chunk.begin + chunk.length - done - count;
      const index_t first = position(chunk, t);
      sequences<State> piece;
      piece.first_positions = std::span<const index_t>(&first, 1);
      piece.initial_states = piece.final_states = states;
      if (!where_.resets.empty())
        piece.resets = where_.resets.subspan(static_cast<std::size_t>(b * out_.steps() + t),
                                             static_cast<std::size_t>(count));
      const strided_view<T, OutAxis> to =
          spare ? out_.batch_entry(b).steps_from(t, count).channels_from(k, width)
                : strided_view<T, OutAxis>(scratch, count, width);
      inner_.scan(shifted_decay<Decay>(decay_, {b, t, k}),
                  in_.batch_entry(b).steps_from(t, count).channels_from(k, width), to, piece,
                  options_);
      each(block_origin{b, t, k, first}, count);
    }
  }

  bool has_reset(const time_chunk& chunk) const {
    for (index_t t = chunk.begin; t < chunk.begin + chunk.length; ++t)
      if (where_.resets_at(chunk.batch, t, out_.steps())) return true;
    return false;
  }

  const Inner& inner_;
  const Decay& decay_;
  strided_view<const T, InAxis> in_;
  strided_view<T, OutAxis> out_;
  const sequences<State>& where_;
  const scan_options& options_;
  const time_cuts& cuts_;
  std::vector<State> states_;
  std::vector<product_of_chunk> products_;
  std::vector<std::uint8_t> forgets_;
};

}  // namespace detail

/// The scan of another backend on several threads, long sequences cut over time as well.
///
/// `threads` gives each thread whole sequences and ranges of channels. A sequence that is more than
/// its share of the work is cut into chunks of steps here, in three phases:
///
///   1. the first chunk is scanned; of the others but the last, z (the state after them, from state
///      0) and the product A of their decays are computed, at once
///   2. h <- A h + z from chunk to chunk: the state before each of them
///   3. the others are scanned from these states, at once
///
/// All scans are scans by `Inner` of all channels, so each thread walks its own part of the memory,
/// row after row. Only the states between chunks are rounded otherwise than by `Inner` alone; that
/// is why this is a backend of its own. A product of decays is kept beside its exponent of two, and
/// underflows and overflows nowhere (decay_products.hpp). A chunk with a reset passes z on, whatever
/// came before it. Calls that hold a sequence for each thread go to `threads`.
///
/// One channel in time-major order without padding is scanned as the channel-major data it also is:
/// by vectors of steps, where `Inner` has them.
///
/// Cost: two threads do 4/3 of the work of one (3/2 with stored factors), P threads at most twice
/// as much, and meet twice: calls of less than about 2^21 elements, a step counting as 64 of them at
/// least and an exponential as 16, go to `threads`. Memory: for each chunk N states and N products,
/// allocated by each call that cuts, and 32 KB of stack for each thread. docs/benchmarks.md says
/// where that pays: one channel and few channels with costly decays; hardly where memory is the
/// limit.
/// Accuracy: error_bound below. Bits: those of the same number of parts, which is that of the
/// executor's threads if left out; on any number of threads where it is given and `Inner` repeats
/// itself.
/// Any number of threads may use one object at once.
///
/// @tparam Inner, Executor  as of threads
/// Source: the three phases are those of block-wise prefix sums, on pairs (a, b) of affine maps.
template <class Inner = rows, class Executor = thread_pool>
class over_time {
 public:
  static constexpr std::string_view name = "over_time";
  static constexpr determinism repeats =
      Inner::repeats == determinism::none ? determinism::none : determinism::run_to_run;

  /// Between chunks, of which there are at most t / 64 before step t, a state is made with two
  /// roundings (complex: four) and what `Inner` rounds once in a call.
  static constexpr double error_bound(index_t steps, const step_kind& kind = {}) {
    using inner = threads<Inner, Executor>;
    const auto t = static_cast<double>(steps);
    const double passed = static_cast<double>(steps / detail::time_cuts::shortest);
    return std::max(inner::error_bound(steps, kind), step_roundings(kind) * t) +
           passed * (inner::error_bound(1, kind) + (kind.complex ? 4 : 2));
  }

  over_time() requires std::default_initializable<Executor>
  = default;

  /// With the executor, inner backend and least work of this one.
  /// @param parts  how many threads the steps are cut for, 0 <= parts; 0: as many as there are
  /// @throws domain_error outside this domain.
  explicit over_time(threads<Inner, Executor> parallel, index_t parts = 0)
      : parallel_(std::move(parallel)), parts_(parts) {
    detail::require_domain(parts >= 0, "over_time", "need parts >= 0", parts);
  }

  template <class Decay, scan_scalar T, class InAxis, class OutAxis, class State>
  void scan(const Decay& decay, const strided_view<const T, InAxis>& in,
            const strided_view<T, OutAxis>& out, const sequences<State>& where,
            const scan_options& options) const {
    const index_t parts =
        std::min(parts_ > 0 ? parts_ : parallel_.at_once(), detail::scan_partition::most_threads);
    const detail::time_cuts cuts(out.size(), where, parts, chunk_work<Decay>(), cost<Decay>,
                                 options.order);
    if (cuts.chunks().empty()) return parallel_.scan(decay, in, out, where, options);
    if constexpr (std::same_as<InAxis, time_major> && std::same_as<OutAxis, time_major>) {
      if (out.channels() == 1 && in.step_stride() == 1 && out.step_stride() == 1) {
        const strided_view<const T, channel_major> from(in.data(), in.size(),
                                                        {in.stride().batch, in.steps()});
        const strided_view<T, channel_major> to(out.data(), out.size(),
                                                {out.stride().batch, out.steps()});
        return with_columns(
            decay, [&](const auto& columns) { run(columns, from, to, where, options, cuts); });
      }
    }
    run(decay, in, out, where, options, cuts);
  }

 private:
  // What phase 1 costs of a scan, as measured: z as much as the scan, for it is one, whose outputs
  // stay near; the products of stored factors half as much, all others next to nothing. 1 <= cost
  // <= 2.
  template <class Decay>
  static constexpr double cost =
      Decay::kind == decay_kind::stored&& Decay::form == decay_form::factor ? 1.5 : 1;

  // Two meetings of the threads take some tens of us, as long as a scan of 2^19 elements.
  template <class Decay>
  index_t chunk_work() const {
    constexpr index_t usual = detail::takes_exponentials<Decay> ? 8 : 128;
    const index_t most = std::numeric_limits<index_t>::max() / usual;
    return usual * std::min(parallel_.minimum_work(), most);
  }

  template <class Decay, class Body>
  static void with_columns(const Decay& decay, const Body& body) {
    if constexpr (requires { decay.view(); }) {
      using view = std::remove_cvref_t<decltype(decay.view())>;
      if constexpr (std::same_as<
                        Decay, stored_decay<typename view::value_type, time_major, Decay::form>>) {
        const view& values = decay.view();
        if (values.step_stride() == 1)
          return body(stored_decay<typename view::value_type, channel_major, Decay::form>(
              {values.data(), values.size(), {values.stride().batch, values.steps()}}));
      }
    }
    body(decay);
  }

  template <class Decay, class T, class InAxis, class OutAxis, class State>
  void run(const Decay& decay, const strided_view<const T, InAxis>& in,
           const strided_view<T, OutAxis>& out, const sequences<State>& where,
           const scan_options& options, const detail::time_cuts& cuts) const {
    detail::cut_scan<Inner, Decay, T, InAxis, OutAxis, State> work(parallel_.inner(), decay, in,
                                                                   out, where, options, cuts);
    auto& executor = parallel_.shared_executor();
    const auto chunks = static_cast<index_t>(cuts.chunks().size());
    // Sequences that are not cut, some at a time.
    const index_t rows = out.batches() * where.count();
    const index_t some = std::max<index_t>(1, rows / (8 * parallel_.at_once()));
    const index_t others = rows > 1 ? (rows + some - 1) / some : 0;
    executor.run(chunks + others, [&](index_t i) {
      if (i < chunks)
        work.begin(cuts.chunks()[static_cast<std::size_t>(i)]);
      else
        work.whole((i - chunks) * some, std::min(rows, (i - chunks + 1) * some));
    });
    work.carry();
    executor.run(chunks,
                 [&](index_t i) { work.finish(cuts.chunks()[static_cast<std::size_t>(i)]); });
  }

  threads<Inner, Executor> parallel_;
  index_t parts_ = 0;
};

}  // namespace ebb::inline EBB_ABI
