// Schedules the launches of an entry.
#pragma once

#include "compiler/Program/Planning/EntryGraph.h"

namespace mlir::heddle {

/// Orders the launches. A variable is overwritten in place after the last use of its old value, and then as soon as
/// possible, because an optimizer's update frees the gradient that it consumes. To make this possible, a launch that
/// computes a few numbers from variables may run twice. Collectives start as early as possible, and launches that need
/// their results run last, so that communication overlaps with computation. All other launches keep their order. Fails,
/// after an error, if there is no valid order.
LogicalResult scheduleLaunches(EntryGraph &graph);

} // namespace mlir::heddle
