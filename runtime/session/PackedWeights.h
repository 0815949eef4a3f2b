// Packed weights, as in artifacts compiled with --weights: packed from f32 values when a weight is written, or from the
// parts of a GGUF file's tensor.
#pragma once

#include "runtime/core/PackedFormat.h"
#include "runtime/core/PackedTensor.h"
#include "runtime/session/Session.h"

namespace heddle {

// The variables that make up a weight, as pairs of name and value.
using PackedParts = std::vector<std::pair<std::string, HostTensor>>;

// All variables of a model.
using Variables = std::span<const VariableInfo>;

// Returns true if the variable holds a weight's packed words and has scales beside it.
bool isPackedWeight(Variables all, const VariableInfo &variable);

// Returns true if the variables of the weight can hold a matrix of shape `whole` in this packed format without
// rounding.
bool keepsAs(Variables all, const VariableInfo &weight, const PackedFormat &format, const Shape &whole);

// Splits a packed tensor into the variables of the weight. keepsAs() must hold.
Result<PackedParts> packParts(Variables all, const VariableInfo &weight, PackedTensor tensor);

struct PackedWeight {
  HostTensor words;  // i32: each word holds 32 / bits consecutive rows of a column, the first row in the lowest bits
  HostTensor scales; // f32: one for each group of rows and columns
};

// The columns of words and of groups may be split into panels, stored one after another: a part of a matrix of N columns
// then has N / P * rows rows and P columns. Returns the shape with panels of `panel` columns of a part of shape `part`. A
// single row is the same with panels and without.
Shape inPanels(const Shape &part, int64_t panel);

// Copies a matrix from rows to panels of `panel` columns, or back. Its elements may be of any type.
enum class Order { ToPanels, ToRows };
std::vector<std::byte> reorder(std::span<const std::byte> matrix, const Shape &shape, int64_t panel, Order order);

// Stores a part of a packed weight with panels, or without, as in `shape`: one of the two shapes is inPanels() of the
// other, or they are the same.
Result<HostTensor> rearranged(HostTensor part, const Shape &shape);

// Rounds `values`, an f32 matrix, to 8-bit or 4-bit integers with a scale for each group. `words` and `scales` are the
// shapes of the results: `words` implies the bit width, and a group has values.rows / scales.rows rows and
// values.columns / scales.columns columns. 8-bit integers lie in [-127, 127]. With 4 bits, the value of the largest
// magnitude in a group becomes -8. Fails with InvalidArgument if the shapes do not fit each other, and with Malformed
// if a value is not finite.
Result<PackedWeight> packWeight(const TensorView &values, const Shape &words, const Shape &scales);

// Packs a weight's variables from f32. Fails with InvalidArgument if the weight keeps a GGUF format with offsets, upper
// bits or packed scales: values are not rounded to such formats.
Result<PackedParts> packWeight(Variables all, const VariableInfo &weight, const TensorView &values);

} // namespace heddle
