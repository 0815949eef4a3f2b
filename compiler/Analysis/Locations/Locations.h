// Where in a model an op comes from. MLIR's locations carry this from the import to the artifact, and messages print
// it.
//
// The importer gives an op the line of the description that governs it, under the name of a part of the model:
// "encoder.0.self.query"("model.toml":5:1). Passes that derive ops from such an op use these functions to keep its
// location.
#pragma once

#include "mlir/IR/Operation.h"

#include <string>

namespace mlir::heddle {

/// Returns the location with `prefix` put before its name: "gradient of encoder.0.self.query". A location without a
/// name gets the name `alone`.
Location renameLocation(Location place, StringRef prefix, StringRef alone);

/// Returns the location of a kernel: the locations of all its ops, in order.
Location locationOfKernel(ArrayRef<Operation *> ops);

/// Describes a location: "encoder.0.feed_forward.inner: matmul, addf (model.toml:5:1)". Only the location of a kernel
/// knows the ops' names. Returns an empty string if nothing is known.
std::string describeLocation(Location place);

/// Returns the names of the parts of the model that a location belongs to: "encoder.0.feed_forward.inner". The parts of
/// a kernel are those of its ops.
SmallVector<StringRef> getPartsOfPlace(Location place);

} // namespace mlir::heddle
