// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/ebb.hpp
/// @brief  Everything that needs only the standard library.
///
///   spectrum  ->  decay  ->  recurrence  ->  readout
///
/// rates r_k, log-decays log a_{t,k}, states h_t = a_t h_{t-1} + b_t, outputs y = C h + D x; and
/// model/, ready compositions of the four.
#pragma once

// Included in the order of the data; each header brings what it needs.
#include <ebb/version.hpp>

#include <ebb/core/affine.hpp>
#include <ebb/core/array.hpp>
#include <ebb/core/head_view.hpp>
#include <ebb/core/scalar.hpp>
#include <ebb/core/sequences.hpp>
#include <ebb/core/storage.hpp>
#include <ebb/core/view.hpp>

#include <ebb/spectrum/complex.hpp>
#include <ebb/spectrum/geometric.hpp>
#include <ebb/spectrum/linear.hpp>
#include <ebb/spectrum/listed.hpp>
#include <ebb/spectrum/ordered.hpp>
#include <ebb/spectrum/random.hpp>
#include <ebb/spectrum/two_ended.hpp>

#include <ebb/decay/average.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/irregular.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/selective.hpp>
#include <ebb/decay/sigmoid_gate.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/decay/two_ended.hpp>

#include <ebb/recurrence/backend/key_lanes.hpp>
#include <ebb/recurrence/backend/matrix_reference.hpp>
#include <ebb/recurrence/backend/reference.hpp>
#include <ebb/recurrence/backend/rows.hpp>
#include <ebb/recurrence/backend/sequential.hpp>
#include <ebb/recurrence/delta.hpp>
#include <ebb/recurrence/history.hpp>
#include <ebb/recurrence/layer.hpp>
#include <ebb/recurrence/matrix_vjp.hpp>
#include <ebb/recurrence/outer.hpp>
#include <ebb/recurrence/scan.hpp>
#include <ebb/recurrence/selective_scan.hpp>
#include <ebb/recurrence/tree.hpp>
#include <ebb/recurrence/tree_vjp.hpp>
#include <ebb/recurrence/vjp.hpp>

#include <ebb/readout/gate.hpp>
#include <ebb/readout/linear.hpp>

#include <ebb/model/gated_deltanet.hpp>
#include <ebb/model/gla.hpp>
#include <ebb/model/mamba2.hpp>
#include <ebb/model/retnet.hpp>
#include <ebb/model/rwkv7.hpp>
