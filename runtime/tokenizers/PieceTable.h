// The pieces of a vocabulary and their numbers.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/tokenizers/TextCodec.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heddle {

// Stands for a space in the pieces of SentencePiece.
inline constexpr std::string_view kSpaceMark = "\u2581";

class PieceTable {
public:
  // Parses a JSON object whose keys are pieces and whose values are their numbers. `name` is the file's name for
  // messages.
  static Result<PieceTable> fromJson(std::string_view text, const std::string &name);
  static Result<PieceTable> fromObject(const nlohmann::json &json, const std::string &name);
  // Reads a file with one piece per line.
  static Result<PieceTable> readLines(const std::filesystem::path &path);

  // Assigns the number to the piece, even if the piece already has another number.
  Status add(int32_t id, const std::string &piece, const std::string &name);

  int32_t size() const { return int32_t(texts.size()); }
  std::optional<int32_t> find(std::string_view piece) const;
  // The piece with this number; empty if there is none.
  const std::string &operator[](int32_t id) const { return texts[size_t(id)]; }
  bool contains(int32_t id) const { return id >= 0 && id < size(); }
  // The piece for messages; "#7" if 7 has no piece.
  std::string shown(int32_t id) const;

private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::vector<std::string> texts; // by number
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids;
};

// Reads a file of a vocabulary as text.
Result<std::string> readVocabularyFile(const std::filesystem::path &path);

// Reads the named files that exist in the folder.
Result<std::vector<TokenizerFile>> readTokenizerFiles(const std::filesystem::path &folder,
                                                      std::span<const std::string_view> names);

// Fails with NotFound if the folder lacks one of the files that make up the vocabulary of this kind of model.
Status requireVocabularyFiles(const std::filesystem::path &folder, std::initializer_list<const char *> names,
                              std::string_view kind);

} // namespace heddle
