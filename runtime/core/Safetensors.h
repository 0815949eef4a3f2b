// Safetensors files: an 8-byte header length, a JSON header, then the tensors' bytes. F32 and I32 are read unchanged,
// F16 and BF16 as F32. F32, I32 and BF16 can be written.
// Reading and writing are streamed, tensor by tensor, so a checkpoint never has to fit into host memory.
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
  uint64_t bytes = 0;  // as read; F16 and BF16 take half as many in the file
  enum class Stored : uint8_t { AsIs, F16, BF16 } stored = Stored::AsIs; // the type in the file
};

using SafetensorsMetadata = std::map<std::string, std::string>;

// A tensor of a type that Heddle does not read as numbers.
struct OtherTensor {
  std::string type; // as the file names it
  Shape shape;
  uint64_t offset = 0, bytes = 0; // in the file
};

// How to treat tensors of types that Heddle does not read, such as the int64 positions in other programs' files.
enum class OtherTypes { Refuse, PassOver };

class SafetensorsReader {
public:
  // Reads and checks the header: names are unique, and the tensors cover the data without gap or overlap.
  static Result<SafetensorsReader> open(const std::filesystem::path &path, OtherTypes others = OtherTypes::Refuse);

  const std::filesystem::path &path() const { return file.path(); }
  const std::vector<SafetensorsEntry> &entries() const { return tensors; } // by offset
  const SafetensorsMetadata &metadata() const { return strings; }
  const SafetensorsEntry *find(std::string_view name) const;
  // Returns a tensor that was passed over, or null if there is no such tensor.
  const OtherTensor *passedOver(std::string_view name) const;

  // Reads `into.size()` bytes of a tensor, from its byte `offset` on. Both are multiples of an element's bytes.
  Status read(const SafetensorsEntry &entry, uint64_t offset, std::span<std::byte> into) const;
  Result<HostTensor> read(std::string_view name) const;
  // Reads `into.size()` bytes of a tensor that was passed over, from its byte `offset` on, as they are in the file.
  Status read(const OtherTensor &tensor, uint64_t offset, std::span<std::byte> into) const;

private:
  explicit SafetensorsReader(InputFile file) : file(std::move(file)) {}

  InputFile file;
  std::vector<SafetensorsEntry> tensors;
  std::map<std::string, size_t, std::less<>> byName;
  std::map<std::string, OtherTensor, std::less<>> others;
  SafetensorsMetadata strings;
};

// create() writes the header. The caller then writes the tensors' bytes with write(), in the order of `entries`.
class SafetensorsWriter {
public:
  // Computes `offset` and `bytes` of the entries. If an entry is stored as BF16, write() takes its numbers as BF16, two
  // bytes each.
  static Result<SafetensorsWriter> create(const std::filesystem::path &path, std::vector<SafetensorsEntry> entries,
                                          const SafetensorsMetadata &metadata = {});

  Status write(std::span<const std::byte> data);
  Status commit(); // fails if bytes are missing

private:
  SafetensorsWriter(AtomicFile file, uint64_t missing) : file(std::move(file)), missing(missing) {}

  AtomicFile file;
  uint64_t missing;
};

} // namespace heddle
