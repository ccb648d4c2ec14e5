// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/column_scan.hpp
/// @brief  The scan of data whose channels are adjacent in memory: a tile is a piece of many
///   channels.
#pragma once

#include <ebb/recurrence/backend/cuda/descriptor.hpp>
#include <ebb/recurrence/backend/cuda/scan_params.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// Single pass with decoupled look-back over columns of adjacent channels.
///
/// A tile is 32 V channels wide and Warps Depth steps deep. A lane keeps V channels of Depth steps,
/// so that the steps need no shuffles; warps meet in shared memory; warp 0 looks back, each lane
/// for its own channels: to the nearest state, and then forward again, map by map in the order of
/// time, so that every state between tiles is the same number whichever state was found.
/// Tiles are drawn by ticket, chunk by chunk, so that the tiles before one have been drawn.
///
/// @tparam Steps  what is done at a step: scan_steps, or back_steps
/// @tparam Cuts   whether there are packed sequences, resets or snapshots
template <class Steps, bool Cuts, int V, int Warps, int Depth>
struct column_scan {
  using params = typename Steps::params;
  using State = typename Steps::state;
  using Gate = typename Steps::gate;
  static constexpr int threads = warp_size * Warps;
  /// Channels and steps of a tile.
  static constexpr int width = warp_size * V, tile = Warps * Depth;
  static_assert(Depth <= warp_size, "ebb: a lane for each step of a warp");

  using algebra = map_algebra<State, Gate::form, Cuts>;
  using map = typename algebra::map;
  using descriptor = tile_descriptor<State>;
  using weight = typename Steps::weight;

  template <class Context>
  struct shared_memory {
    typename Context::template shared<word32, 1> ticket;
    typename Context::template shared<packed_map<State>, Warps * V * warp_size> maps;
    typename Context::template shared<State, V * warp_size> carry;
  };

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void run(Context& c, shared_memory<Context>& m, const params& p) {
    const int lane = c.lane(), warp = c.warp();
    if (c.thread() == 0) m.ticket.put(c, 0, c.fetch_add(p.tiles.ticket, 1) - p.tiles.first_ticket);
    c.sync_block();
    const index_t columns = (p.channels + width - 1) / width, all = p.batches * columns;
    const index_t id = m.ticket.get(c, 0), chunk = id / all, column = id % all;
    const index_t b = column / columns, k = column % columns * width + lane * V;
    const int count = static_cast<int>(p.channels - k < V ? p.channels - k : V);  // may be <= 0
    const index_t start = chunk * tile + warp * Depth;

    // Lane j knows where step j of the warp stands.
    step_place own;
    if constexpr (Cuts) {
      place_finder finder;
      if (lane < Depth && start + lane < p.steps)
        own = finder.at(c, p.where, p.steps, p.reverse, b, p.step(start + lane));
    }

    weight w[Depth][V];
    State x[Depth][V];
    cut_bits cuts;
    load(c, p, own, b, k, count, start, w, x, cuts);

    EBB_UNROLL for (int v = 0; v < V; ++v) {
      map some = Steps::map_of(c, w[0][v], x[0][v], begins(cuts, 0), ends(cuts, 0));
      EBB_UNROLL for (int j = 1; j < Depth; ++j) {
        some = algebra::then(c, some,
                             Steps::map_of(c, w[j][v], x[j][v], begins(cuts, j), ends(cuts, j)));
      }
      m.maps.put(c, place(warp, v, lane), packed_map<State>::of(some));
    }
    c.sync_block();
    if (warp == 0) pass_on(c, m, p, b, k, count, chunk, column, all);
    c.sync_block();

    State h[V];
    EBB_UNROLL for (int v = 0; v < V; ++v) {
      h[v] = m.carry.get(c, v * warp_size + lane);
      for (int i = 0; i < warp; ++i)
        h[v] = algebra::apply(c, m.maps.get(c, place(i, v, lane)).map(), h[v]);
    }
    EBB_UNROLL for (int j = 0; j < Depth; ++j) {
      const index_t t = p.step(start + j);
      State y[V];
      EBB_UNROLL for (int v = 0; v < V; ++v) {
        y[v] = Steps::advance(c, w[j][v], x[j][v], begins(cuts, j), ends(cuts, j), h[v]);
      }
      if constexpr (Cuts) {
        const step_place here = of_lane(c, own, j);
        if (!here.inside) continue;
        store(c, p, b, t, k, count, w[j], y);
        EBB_UNROLL for (int v = 0; v < V; ++v) {
          if (v < count) keep_state(c, p.where, here, b, t, k + v, h[v]);
        }
      } else if (start + j < p.steps) {
        store(c, p, b, t, k, count, w[j], y);
        if (start + j == p.steps - 1 && p.where.final.data != nullptr) {
          EBB_UNROLL for (int v = 0; v < V; ++v) {
            if (v < count) c.store(p.where.final.at(b, 0, k + v), packed<State, 1>{{h[v]}});
          }
        }
      }
    }
  }

 private:
  static EBB_DEVICE bool begins(const cut_bits& cuts, int j) {
    return Cuts && (cuts.begins >> j & 1u) != 0;
  }
  static EBB_DEVICE bool ends(const cut_bits& cuts, int j) {
    return Cuts && (cuts.ends >> j & 1u) != 0;
  }
  static EBB_DEVICE int place(int warp, int v, int lane) {
    return (warp * V + v) * warp_size + lane;
  }

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE step_place of_lane(Context& c, const step_place& own, int lane) {
    const word32 flags = (own.inside ? 1u : 0u) | (own.first ? 2u : 0u) | (own.last ? 4u : 0u) |
                         (own.reset ? 8u : 0u);
    const word32 got = c.shuffle(flags, lane);
    step_place result;
    result.sequence = c.shuffle(own.sequence, lane);
    result.inside = (got & 1u) != 0, result.first = (got & 2u) != 0;
    result.last = (got & 4u) != 0, result.reset = (got & 8u) != 0;
    return result;
  }

  // Warp 0: the state before the tile to shared memory, what the tile does to the next ones.
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void pass_on(Context& c, shared_memory<Context>& m, const params& p, index_t b,
                                 index_t k, int count, index_t chunk, index_t column, index_t all) {
    const int lane = c.lane();
    // Lanes side by side have descriptors side by side.
    const auto word_of = [&](index_t j, int v) {
      return p.tiles.words + (((j * all + column) * V + v) * warp_size + lane) * descriptor::words;
    };
    map total[V];
    State h[V];
    EBB_UNROLL for (int v = 0; v < V; ++v) {
      total[v] = m.maps.get(c, place(0, v, lane)).map();
      EBB_UNROLL for (int i = 1; i < Warps; ++i) {
        total[v] = algebra::then(c, total[v], m.maps.get(c, place(i, v, lane)).map());
      }
      h[v] = State(0);
    }
    if (chunk > 0) {
      EBB_UNROLL for (int v = 0; v < V; ++v) {
        descriptor::put(c, word_of(chunk, v), total[v],
                        Cuts && total[v].cut ? tile_status::prefix : tile_status::aggregate,
                        p.tiles.epoch);
      }
      map some[V];
      const auto states_in = [&](index_t j) {
        bool all_states = true;
        EBB_UNROLL for (int v = 0; v < V; ++v) {
          const tile_status status = descriptor::get(c, word_of(j, v), p.tiles.epoch, some[v]);
          all_states = all_states && status == tile_status::prefix;
          some[v].cut = status == tile_status::prefix;  // from here on: h -> b
        }
        return all_states;
      };
      index_t j = chunk - 1;
      while (!states_in(j)) --j;
      for (;;) {
        EBB_UNROLL for (int v = 0; v < V; ++v) {
          h[v] = some[v].cut ? some[v].b : algebra::apply(c, some[v], h[v]);
        }
        if (++j == chunk) break;
        states_in(j);
      }
    } else if (!Cuts) {
      EBB_UNROLL for (int v = 0; v < V; ++v) {
        if (v < count) h[v] = Steps::initial(c, p.where, b, 0, k + v);
      }
    }
    EBB_UNROLL for (int v = 0; v < V; ++v) {
      if (chunk == 0 || !(Cuts && total[v].cut))
        descriptor::put(c, word_of(chunk, v),
                        {State(0), algebra::apply(c, total[v], h[v]), 0, false, false},
                        tile_status::prefix, p.tiles.epoch);
      m.carry.put(c, v * warp_size + lane, h[v]);
    }
  }

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void load(Context& c, const params& p, const step_place& own, index_t b,
                              index_t k, int count, index_t start, weight (&w)[Depth][V],
                              State (&x)[Depth][V], cut_bits& cuts) {
    typename Steps::input data[Depth][V]{};
    typename Steps::value values[Depth][V]{};
    word32 inside = 0;
    EBB_UNROLL for (int j = 0; j < Depth; ++j) {
      bool in = start + j < p.steps;
      if constexpr (Cuts) in = of_lane(c, own, j).inside;
      if (!in) continue;
      inside |= word32{1} << j;
      const index_t t = p.step(start + j);
      if (Steps::reads(p))
        fetch(
            c, p.in, b, t, count, [&](int v) { return k + v; }, data[j]);
      if constexpr (Steps::reads_values)
        fetch(
            c, p.gate.values, b, t, count, [&](int v) { return p.gate.column(k + v); }, values[j]);
    }
    // Lane j makes what step j has in common for all channels.
    typename Steps::time_part own_time{};
    if constexpr (Gate::keeps_time) {
      index_t position = own.position;
      if constexpr (!Cuts)
        position =
            p.step(start + lane_of_step(c)) +
            (p.where.first_positions != nullptr ? c.load_cached(p.where.first_positions + b) : 1);
      own_time = p.gate.time(c, position > 0 ? position : 1);
    }
    typename Steps::channel_part channels[V];
    EBB_UNROLL for (int v = 0; v < V; ++v) {
      channels[v] = {};
      if (v < count) channels[v] = p.gate.channel(c, k + v);
    }
    EBB_UNROLL for (int j = 0; j < Depth; ++j) {
      typename Steps::time_part time{};
      if constexpr (Gate::keeps_time) time = c.shuffle(own_time, j);
      step_place here;
      if constexpr (Cuts) {
        here = of_lane(c, own, j);
        if (here.inside) Steps::note(here, word32{1} << j, cuts);
      }
      EBB_UNROLL for (int v = 0; v < V; ++v) {
        if constexpr (Cuts) {
          w[j][v] = algebra::identity_weight();
          x[j][v] = State(0);
          if ((inside >> j & 1u) == 0 || v >= count) continue;
        }
        // Without cuts the steps that are not there come last, and nothing reads what they do:
        // constant decays then have one weight for all steps of a lane, not one in each.
        w[j][v] = p.gate.weight(c, channels[v], time, values[j][v]);
        Steps::make(c, w[j][v], x[j][v], data[j][v]);
        if constexpr (Cuts) Steps::meet(c, p, here, b, p.step(start + j), k + v, w[j][v], x[j][v]);
      }
    }
  }
  template <class Context>
  static EBB_DEVICE int lane_of_step(Context& c) {
    return c.lane() < Depth ? c.lane() : Depth - 1;
  }

  // The elements of a step that are there.
  EBB_NO_EXEC_CHECK template <class Context, class D, class Channel>
  static EBB_DEVICE void fetch(Context& c, const operand<const D>& from, index_t b, index_t t,
                               int count, const Channel& channel, D (&to)[V]) {
    if (from.runs && count == V) {
      const packed<D, V> some = c.template load<V>(from.at(b, t, channel(0)));
      EBB_UNROLL for (int v = 0; v < V; ++v) to[v] = some.v[v];
    } else {
      EBB_UNROLL for (int v = 0; v < V; ++v) {
        if (v < count) to[v] = Steps::one(c, from, b, t, channel(v));
      }
    }
  }
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void store(Context& c, const params& p, index_t b, index_t t, index_t k,
                               int count, const weight (&w)[V], const State (&y)[V]) {
    using To = typename Steps::output;
    if (!Steps::writes(p)) return;
    if (p.out.runs && count == V) {
      packed<To, V> some;
      EBB_UNROLL for (int v = 0; v < V; ++v) some.v[v] = Steps::stored(c, w[v], y[v]);
      c.store(p.out.at(b, t, k), some);
    } else {
      EBB_UNROLL for (int v = 0; v < V; ++v) {
        if (v < count)
          c.store(p.out.at(b, t, k + v), packed<To, 1>{{Steps::stored(c, w[v], y[v])}});
      }
    }
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
