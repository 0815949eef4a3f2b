// Weights of packed numbers, as artifacts that were compiled with --weights have them: made of f32 when a weight is
// written, or of the parts of a GGUF file's tensor.
#pragma once

#include "runtime/core/PackedFormat.h"
#include "runtime/core/PackedTensor.h"
#include "runtime/session/Session.h"

namespace heddle {

// The values of the variables that make up a weight, by their names.
using PackedParts = std::vector<std::pair<std::string, HostTensor>>;

// All variables of a model.
using Variables = std::span<const VariableInfo>;

// Whether the variable has a weight's words, with scales beside them.
bool isPackedWeight(Variables all, const VariableInfo &variable);

// Whether numbers of a rows x columns matrix that are packed in this way fit the weight's variables as they are.
bool keepsAs(Variables all, const VariableInfo &weight, const PackedFormat &format, const Shape &whole);

// The parts of a tensor for which keepsAs() holds.
Result<PackedParts> packParts(Variables all, const VariableInfo &weight, PackedTensor tensor);

struct PackedWeight {
  HostTensor words;  // i32: each holds the numbers of 32 / bits rows of a column, the first in its lowest bits
  HostTensor scales; // f32: of groups of rows and columns
};

// The numbers of 8 or 4 bits nearest to `values`, rows x columns of f32, where `words` and `scales` are the shapes
// wanted: a scale is that of as many rows, and columns, as the matrix has more. 8 bits go from -127 to 127; of 4 bits
// -8 is the number of a group's largest magnitude. InvalidArgument where the shapes do not fit each other; Malformed
// where a value is not finite.
Result<PackedWeight> packWeight(const TensorView &values, const Shape &words, const Shape &scales);

// The same for a weight's variables. InvalidArgument where it is packed as a file has it, to which nothing is rounded.
Result<PackedParts> packWeight(Variables all, const VariableInfo &weight, const TensorView &values);

} // namespace heddle
