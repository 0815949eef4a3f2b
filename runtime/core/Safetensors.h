// Safetensors files: an 8-byte header length, a JSON header, then the tensors' bytes. F32 and I32 are read as they are,
// F16 and BF16 as F32; F32, I32 and BF16 are written.
// Both ways are streamed, tensor by tensor: a checkpoint is never held in host memory.
#pragma once

#include "runtime/core/File.h"
#include "runtime/core/Tensor.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct SafetensorsEntry {
  std::string name;
  ElementType type = ElementType::F32;
  Shape shape;
  uint64_t offset = 0; // in the file
  uint64_t bytes = 0;  // as read: F16 and BF16 take half of them in the file
  enum class Stored : uint8_t { AsIs, F16, BF16 } stored = Stored::AsIs; // in the file, read or to be written
};

using SafetensorsMetadata = std::map<std::string, std::string>;

// What to do with tensors of types that Heddle does not read, such as the int64 positions in other programs' files.
enum class OtherTypes { Refuse, PassOver };

class SafetensorsReader {
public:
  // Reads and checks the header: names are unique, and the tensors cover the data without gap or overlap.
  static Result<SafetensorsReader> open(const std::filesystem::path &path, OtherTypes others = OtherTypes::Refuse);

  const std::filesystem::path &path() const { return file.path(); }
  const std::vector<SafetensorsEntry> &entries() const { return tensors; } // by offset
  const SafetensorsMetadata &metadata() const { return strings; }
  const SafetensorsEntry *find(std::string_view name) const;
  // The type of a tensor that was passed over, as the file has it; nothing where there is no such tensor.
  std::optional<std::string> passedOver(std::string_view name) const;

  // Reads `into.size()` bytes of a tensor, beginning `offset` bytes into it, both whole elements.
  Status read(const SafetensorsEntry &entry, uint64_t offset, std::span<std::byte> into) const;
  Result<HostTensor> read(std::string_view name) const;

private:
  explicit SafetensorsReader(InputFile file) : file(std::move(file)) {}

  InputFile file;
  std::vector<SafetensorsEntry> tensors;
  std::map<std::string, size_t, std::less<>> byName;
  std::map<std::string, std::string, std::less<>> others;
  SafetensorsMetadata strings;
};

// Writes the header at once; the bytes of the tensors follow through write(), in the order of `entries`.
class SafetensorsWriter {
public:
  // `offset` and `bytes` of the entries are computed here. One that is stored as BF16 is then given as such, two bytes
  // a number.
  static Result<SafetensorsWriter> create(const std::filesystem::path &path, std::vector<SafetensorsEntry> entries,
                                          const SafetensorsMetadata &metadata = {});

  Status write(std::span<const std::byte> data);
  Status commit(); // fails where bytes are missing

private:
  SafetensorsWriter(AtomicFile file, uint64_t missing) : file(std::move(file)), missing(missing) {}

  AtomicFile file;
  uint64_t missing;
};

} // namespace heddle
