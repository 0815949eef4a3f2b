// Where in a model an op comes from, kept in MLIR's locations from the import to the artifact, whose messages name it.
//
// The importer places an op at the line of the description that governs it, under the name of a part of the model:
// "encoder.0.self.query"("model.toml":5:1). What is made of such ops keeps their places, by way of these functions.
#ifndef HEDDLE_COMPILER_LOCATIONS_LOCATIONS_H
#define HEDDLE_COMPILER_LOCATIONS_LOCATIONS_H

#include "mlir/IR/Operation.h"

#include <string>

namespace mlir::heddle {

/// The same place under another name, made of a prefix and the old one: "gradient of encoder.0.self.query". Without an
/// old name it is `alone`.
Location renameLocation(Location place, StringRef prefix, StringRef alone);

/// The place of a kernel: of all its ops, the first one's before the others'.
Location locationOfKernel(ArrayRef<Operation *> ops);

/// A place in words: "encoder.0.feed_forward.inner: matmul, addf (model.toml:5:1)", the ops' names being known of a
/// kernel alone. Empty where nothing is known.
std::string describeLocation(Location place);

/// The parts of the model that a place is of: "encoder.0.feed_forward.inner". Those of a kernel are its ops'.
SmallVector<StringRef> getPartsOfPlace(Location place);

} // namespace mlir::heddle

#endif
