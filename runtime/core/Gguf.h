// GGUF files (llama.cpp's format), versions 2 and 3: keys with values; the tensors' names, shapes and types; and the
// aligned tensors themselves. Numbers are little endian.
#pragma once

#include "runtime/core/File.h"
#include "runtime/core/GgufTypes.h"
#include "runtime/core/PackedTensor.h"
#include "runtime/core/Tensor.h"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle {

struct GgufValue {
  using Array = std::vector<GgufValue>; // elements have the same type
  std::variant<uint64_t, int64_t, double, bool, std::string, Array> value;

  // These return nothing, or null, if the value is of another kind. whole() takes integers of any type that are not
  // negative.
  std::optional<uint64_t> whole() const;
  std::optional<double> number() const; // integers too; a 32-bit float is read as its shortest decimal
  std::optional<bool> flag() const;
  const std::string *text() const { return std::get_if<std::string>(&value); }
  const Array *array() const { return std::get_if<Array>(&value); }
};

struct GgufEntry {
  std::string name;
  Shape shape;         // outermost dimension first; the file stores the reverse order
  uint32_t type = 0;   // GgufTypes.h
  uint64_t offset = 0; // in the file
  uint64_t bytes = 0;  // in the file; 0 if Heddle cannot read the type
  size_t part = 0;     // index of the file, for a model in several files

  const GgufType *readType() const; // null if Heddle cannot read the type
};

class GgufReader {
public:
  // Reads and checks everything but the tensors themselves: keys and names are unique, and tensors of types that Heddle
  // reads lie within the file and do not overlap. If a model is split into several files, `path` must be the first. The
  // model then looks like a single file, without the keys that describe the split.
  static Result<GgufReader> open(const std::filesystem::path &path);
  // The same for bytes in memory, which have no tensors; `name` is for messages.
  static Result<GgufReader> parse(std::string_view bytes, const std::string &name);

  const std::filesystem::path &path() const { return name; }
  const std::vector<GgufEntry> &entries() const { return tensors; } // in the file's order
  const GgufEntry *find(std::string_view tensor) const;
  // Sorted by key.
  const std::map<std::string, GgufValue, std::less<>> &values() const { return keys; }
  const GgufValue *value(std::string_view key) const;
  uint64_t alignment() const { return unit; }

  // Reads a tensor as f32. Heddle must be able to read its type.
  Result<HostTensor> read(const GgufEntry &entry) const;
  // Reads a matrix of packed numbers as numbers, scales and offsets. Its rows must be whole blocks.
  Result<PackedTensor> readPacked(const GgufEntry &entry) const;
  // Reads bytes of a tensor as the file stores them, from `offset` on. The range must lie within the tensor.
  Status readStored(const GgufEntry &entry, uint64_t offset, std::span<std::byte> into) const;

  // All keys in the file's order, each with the bytes of its key and value in the file.
  const std::vector<std::pair<std::string, std::string>> &stored() const { return inOrder; }
  // Returns the bytes of all keys with this prefix, and of their values, as the file stores them.
  std::string storedValues(std::string_view prefix) const;
  uint64_t countValues(std::string_view prefix) const;

private:
  friend class GgufParser;
  Status forBlocks(const GgufEntry &entry, const std::function<void(size_t, std::span<const std::byte>)> &take) const;

  std::filesystem::path name;
  std::vector<InputFile> files; // one for each part
  std::vector<GgufEntry> tensors;
  std::map<std::string, size_t, std::less<>> byName;
  std::map<std::string, GgufValue, std::less<>> keys;
  std::vector<std::pair<std::string, std::string>> inOrder;
  uint64_t unit = 32;

  static Result<GgufReader> openPart(const std::filesystem::path &path);
  Status openParts(); // opens the other parts
};

// Returns true if the file holds an adapter instead of a model.
bool isGgufAdapter(const GgufReader &file);

// The functions below return pieces of a GGUF file, for writing one.
// The header, which precedes the keys.
std::string ggufHeader(uint64_t tensors, uint64_t keys);
// A key and its value.
std::string ggufValue(const std::string &key, const std::string &text);
std::string ggufValue(const std::string &key, uint32_t number);
std::string ggufValue(const std::string &key, float number);
// The entry of a tensor in the list between keys and tensors; `offset` counts from the first tensor.
std::string ggufTensorInfo(const std::string &name, std::span<const int64_t> shape, uint32_t type, uint64_t offset);

// Returns true if the file begins like a GGUF file or has a GGUF file's name.
bool isGgufFile(const std::filesystem::path &path);

} // namespace heddle
