// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/row_scan.hpp
/// @brief  The scan of data whose steps are adjacent in memory: a tile is a piece of one channel.
#pragma once

#include <bit>

#include <ebb/recurrence/backend/cuda/descriptor.hpp>
#include <ebb/recurrence/backend/cuda/scan_params.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// The state before tile `chunk` of a row, from the descriptors of the tiles before it; for a whole
/// warp. `word_of(j)` is where tile j's descriptor lies; tile 0 publishes a state, not a map.
///
/// Looks back for the nearest state, 32 tiles at a time, and then applies the maps of the tiles
/// after it one by one in the order of time. So every state between tiles is the same number
/// whichever state was found: H_j = A_j H_{j-1} + B_j, rounded once a tile.
EBB_NO_EXEC_CHECK template <class Algebra, class Context, class WordOf>
EBB_DEVICE auto look_back(Context& c, index_t chunk, word32 epoch, const WordOf& word_of) {
  using map = typename Algebra::map;
  using State = decltype(map::b);
  using descriptor = tile_descriptor<State>;
  map m = Algebra::identity();
  const auto states_in = [&](index_t nearest) {
    const index_t tile = nearest - c.lane();
    tile_status status = tile_status::none;
    if (tile >= 0) status = descriptor::get(c, word_of(tile), epoch, m);
    return c.ballot(status == tile_status::prefix);
  };
  index_t window = chunk - 1;
  word32 states = states_in(window);
  while (states == 0) {
    window -= warp_size;
    states = states_in(window);
  }
  State h(0);
  for (;;) {
    int lane = warp_size;
    if (states != 0) {
      lane = std::countr_zero(states);
      h = c.shuffle(m.b, lane);
    }
    for (--lane; lane >= 0; --lane) h = Algebra::apply(c, map_of_lane(c, m, lane), h);
    if (window == chunk - 1) return h;
    window += warp_size;
    states = states_in(window);
  }
}

/// Single pass with decoupled look-back over rows of adjacent steps.
///
/// A warp owns Runs runs of 32 V steps, a lane V adjacent ones in each: loads are coalesced. Runs
/// are scanned by Kogge and Stone's network, warps meet in shared memory, tiles by look_back.
/// Tiles are drawn by ticket, chunk by chunk, so that the tiles before one have been drawn.
///
/// @tparam Steps  what is done at a step: scan_steps, or back_steps
/// @tparam Cuts   whether there are packed sequences, resets or snapshots
template <class Steps, bool Cuts, int V, int Warps, int Runs>
struct row_scan {
  using params = typename Steps::params;
  using State = typename Steps::state;
  using Gate = typename Steps::gate;
  static constexpr int threads = warp_size * Warps;
  static constexpr int run_steps = warp_size * V, warp_steps = run_steps * Runs;
  /// Steps of a tile.
  static constexpr int tile = warp_steps * Warps;
  static_assert(V * Runs <= 32, "ebb: a bit for each step of a lane");

  using algebra = map_algebra<State, Gate::form, Cuts>;
  using map = typename algebra::map;
  using descriptor = tile_descriptor<State>;
  using weight = typename Steps::weight;

  template <class Context>
  struct shared_memory {
    typename Context::template shared<word32, 1> ticket;
    typename Context::template shared<packed_map<State>, Warps> maps;
    typename Context::template shared<State, 1> carry;
  };

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void run(Context& c, shared_memory<Context>& m, const params& p) {
    const int lane = c.lane(), warp = c.warp();
    if (c.thread() == 0) m.ticket.put(c, 0, c.fetch_add(p.tiles.ticket, 1) - p.tiles.first_ticket);
    c.sync_block();
    const index_t id = m.ticket.get(c, 0), rows = p.batches * p.channels;
    const index_t chunk = id / rows, row = id % rows;
    const index_t b = row / p.channels, k = row % p.channels;
    const index_t start = chunk * tile + warp * warp_steps + lane * V;

    weight w[Runs][V];
    State x[Runs][V];
    word32 inside = 0;
    cut_bits cuts;
    load(c, p, b, k, start, w, x, inside, cuts);

    // Of each run the map before this lane, and of the warp the map of all of it.
    map before[Runs], all = algebra::identity();
    EBB_UNROLL for (int r = 0; r < Runs; ++r) {
      map some = Steps::map_of(c, w[r][0], x[r][0], begins(cuts, r, 0), ends(cuts, r, 0));
      EBB_UNROLL for (int j = 1; j < V; ++j) {
        some = algebra::then(
            c, some, Steps::map_of(c, w[r][j], x[r][j], begins(cuts, r, j), ends(cuts, r, j)));
      }
      EBB_UNROLL for (int d = 1; d < warp_size; d *= 2) {
        const map below = map_from_below(c, some, d);
        if (lane >= d) some = algebra::then(c, below, some);
      }
      map below = map_from_below(c, some, 1);
      if (lane == 0) below = algebra::identity();
      before[r] = algebra::then(c, all, below);
      all = algebra::then(c, all, map_of_lane(c, some, warp_size - 1));
    }
    if (lane == 0) m.maps.put(c, warp, packed_map<State>::of(all));
    c.sync_block();

    if (warp == 0) {
      map total = all;
      EBB_UNROLL for (int i = 1; i < Warps; ++i) {
        total = algebra::then(c, total, m.maps.get(c, i).map());
      }
      const auto word_of = [&](index_t j) {
        return p.tiles.words + (j * rows + row) * descriptor::words;
      };
      const auto publish = [&](const map& what, tile_status status) {
        if (lane == 0) descriptor::put(c, word_of(chunk), what, status, p.tiles.epoch);
      };
      State h(0);
      if (chunk > 0) {
        publish(total, Cuts && total.cut ? tile_status::prefix : tile_status::aggregate);
        h = look_back<algebra>(c, chunk, p.tiles.epoch, word_of);
      } else if (!Cuts) {
        h = Steps::initial(c, p.where, b, 0, k);
      }
      if (chunk == 0 || !(Cuts && total.cut))
        publish({State(0), algebra::apply(c, total, h), 0, false, false}, tile_status::prefix);
      if (lane == 0) m.carry.put(c, 0, h);
    }
    c.sync_block();
    State h = m.carry.get(c, 0);
    for (int i = 0; i < warp; ++i) h = algebra::apply(c, m.maps.get(c, i).map(), h);

    place_finder finder;
    EBB_UNROLL for (int r = 0; r < Runs; ++r) {
      const index_t i = start + r * run_steps;
      State state = algebra::apply(c, before[r], h);
      packed<output, V> y;
      EBB_UNROLL for (int j = 0; j < V; ++j) {
        const State made =
            Steps::advance(c, w[r][j], x[r][j], begins(cuts, r, j), ends(cuts, r, j), state);
        y.v[j] = Steps::stored(c, w[r][j], made);
        if (!bit(inside, r, j)) continue;
        const index_t t = p.step(i + j);
        if constexpr (Cuts)
          keep_state(c, p.where, finder.at(c, p.where, p.steps, p.reverse, b, t), b, t, k, state);
        else if (i + j == p.steps - 1 && p.where.final.data != nullptr)
          c.store(p.where.final.at(b, 0, k), packed<State, 1>{{state}});
      }
      if (Steps::writes(p)) store(c, p, b, k, i, inside >> (r * V) & run_mask, y);
    }
  }

 private:
  using output = typename Steps::output;
  static constexpr word32 run_mask = V == 32 ? ~word32{0} : (word32{1} << V) - 1;
  static EBB_DEVICE bool bit(word32 bits, int r, int j) { return (bits >> (r * V + j) & 1u) != 0; }
  static EBB_DEVICE bool begins(const cut_bits& cuts, int r, int j) {
    return Cuts && bit(cuts.begins, r, j);
  }
  static EBB_DEVICE bool ends(const cut_bits& cuts, int r, int j) {
    return Cuts && bit(cuts.ends, r, j);
  }
  // Element j of a run as it is walked, from the order of memory.
  template <class D>
  static EBB_DEVICE D walked(bool reverse, const D (&values)[V], int j) {
    return reverse ? values[V - 1 - j] : values[j];
  }

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void load(Context& c, const params& p, index_t b, index_t k, index_t start,
                              weight (&w)[Runs][V], State (&x)[Runs][V], word32& inside,
                              cut_bits& cuts) {
    const auto channel = p.gate.channel(c, k);
    place_finder finder;
    typename Steps::input data[Runs][V]{};
    typename Steps::value values[Runs][V]{};
    // All loads before the first use.
    EBB_UNROLL for (int r = 0; r < Runs; ++r) {
      const index_t i = start + r * run_steps;
      EBB_UNROLL for (int j = 0; j < V; ++j) {
        bool in = i + j < p.steps;
        if constexpr (Cuts)
          in = in && finder.at(c, p.where, p.steps, p.reverse, b, p.step(i + j)).inside;
        if (in) inside |= word32{1} << (r * V + j);
      }
      const word32 here = inside >> (r * V) & run_mask;
      if (Steps::reads(p)) fetch(c, p, p.in, b, k, i, here, data[r]);
      if constexpr (Steps::reads_values)
        fetch(c, p, p.gate.values, b, p.gate.column(k), i, here, values[r]);
    }
    const index_t first = !Cuts && p.where.first_positions != nullptr
                              ? c.load_cached(p.where.first_positions + b)
                              : 1;
    EBB_UNROLL for (int r = 0; r < Runs; ++r) {
      const index_t i = start + r * run_steps;
      typename Steps::time_part times[V]{};
      if constexpr (!Cuts) p.gate.times(c, first + (p.reverse ? p.steps - i - V : i), times);
      EBB_UNROLL for (int j = 0; j < V; ++j) {
        w[r][j] = algebra::identity_weight();
        x[r][j] = State(0);
        if (!bit(inside, r, j)) continue;
        if constexpr (Cuts) {
          const step_place place = finder.at(c, p.where, p.steps, p.reverse, b, p.step(i + j));
          w[r][j] = p.gate.weight(c, channel, p.gate.time(c, place.position), values[r][j]);
          Steps::make(c, w[r][j], x[r][j], data[r][j]);
          Steps::note(place, word32{1} << (r * V + j), cuts);
          Steps::meet(c, p, place, b, p.step(i + j), k, w[r][j], x[r][j]);
        } else {
          w[r][j] = p.gate.weight(c, channel, walked(p.reverse, times, j), values[r][j]);
          Steps::make(c, w[r][j], x[r][j], data[r][j]);
        }
      }
    }
  }

  // The elements of a run that are inside.
  EBB_NO_EXEC_CHECK template <class Context, class D>
  static EBB_DEVICE void fetch(Context& c, const params& p, const operand<const D>& from, index_t b,
                               index_t k, index_t i, word32 inside, D (&to)[V]) {
    if (from.runs && inside == run_mask) {
      const packed<D, V> some = c.template load<V>(from.at(b, p.reverse ? p.steps - i - V : i, k));
      EBB_UNROLL for (int j = 0; j < V; ++j) to[j] = walked(p.reverse, some.v, j);
    } else {
      EBB_UNROLL for (int j = 0; j < V; ++j) {
        if ((inside >> j & 1u) != 0) to[j] = Steps::one(c, from, b, p.step(i + j), k);
      }
    }
  }
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void store(Context& c, const params& p, index_t b, index_t k, index_t i,
                               word32 inside, const packed<output, V>& y) {
    if (p.out.runs && inside == run_mask) {
      packed<output, V> some;
      EBB_UNROLL for (int j = 0; j < V; ++j) some.v[j] = walked(p.reverse, y.v, j);
      c.store(p.out.at(b, p.reverse ? p.steps - i - V : i, k), some);
    } else {
      EBB_UNROLL for (int j = 0; j < V; ++j) {
        if ((inside >> j & 1u) != 0)
          c.store(p.out.at(b, p.step(i + j), k), packed<output, 1>{{y.v[j]}});
      }
    }
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
