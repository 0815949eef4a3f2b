// NumPy's .npy files: versions 1.0 to 3.0, little-endian f32 and i32, C order.
#pragma once

#include "runtime/core/Tensor.h"

#include <filesystem>

namespace heddle {

Result<HostTensor> readNpy(const std::filesystem::path &path);
Status writeNpy(const std::filesystem::path &path, const TensorView &tensor);

} // namespace heddle
