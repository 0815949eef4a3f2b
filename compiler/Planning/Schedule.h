// The order in which an entry's launches run.
#ifndef HEDDLE_COMPILER_PLANNING_SCHEDULE_H
#define HEDDLE_COMPILER_PLANNING_SCHEDULE_H

#include "compiler/Planning/EntryGraph.h"

namespace mlir::heddle {

/// Orders the launches so that a variable is overwritten, in place, after the last use of its old value, and as soon as
/// possible then: an optimizer's update frees the gradient that it consumes. A launch that computes a few numbers from
/// variables may be done twice to that end. What several ranks do together begins as early as it can, and what needs
/// its results comes last, so that they are on their way while the rest is computed. Launches keep their order
/// otherwise. Fails, after an error, where no order will do.
LogicalResult scheduleLaunches(EntryGraph &graph);

} // namespace mlir::heddle

#endif
