// Writes TensorBoard's event files. Each event is a TFRecord (length, the length's masked CRC-32C, bytes, their masked
// CRC-32C) that holds a protocol buffer of a few fields. `tensorboard --logdir FOLDER` shows them.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace heddle::run {

// CRC-32C (Castagnoli), as in RFC 3720.
uint32_t crc32c(std::string_view bytes);

class EventFile {
public:
  // Begins a new file in the folder, and creates the folder if needed. TensorBoard reads all files of a folder. It
  // drops records of earlier files that are of steps after `resumedStep`.
  static Result<EventFile> create(const std::filesystem::path &folder, uint64_t resumedStep);

  Status scalars(uint64_t step, std::span<const std::pair<std::string_view, double>> values);

private:
  Status write(const std::string &event);

  std::filesystem::path path;
  std::ofstream file;
};

} // namespace heddle::run
