// TensorBoard's event files: a TFRecord for each event (its length, a masked CRC-32C of it, the bytes, their CRC), an
// event being a protocol buffer of a few fields. `tensorboard --logdir FOLDER` shows them.
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
  // Begins a new file in the folder, which is made where it is not there. TensorBoard reads all files of a folder; of
  // those before, it drops what they have of steps after `resumedStep`.
  static Result<EventFile> create(const std::filesystem::path &folder, uint64_t resumedStep);

  Status scalars(uint64_t step, std::span<const std::pair<std::string_view, double>> values);

private:
  Status write(const std::string &event);

  std::filesystem::path path;
  std::ofstream file;
};

} // namespace heddle::run
