// The pieces of a vocabulary and their numbers.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/text/TextCodec.h"

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

class PieceTable {
public:
  // An object of JSON whose keys are pieces; `name` is the file's, for messages.
  static Result<PieceTable> fromJson(std::string_view text, const std::string &name);
  // A file with a piece a line.
  static Result<PieceTable> readLines(const std::filesystem::path &path);

  // Gives the number to the piece, be it there by another number or not.
  Status add(int32_t id, const std::string &piece, const std::string &name);

  int32_t size() const { return int32_t(texts.size()); }
  std::optional<int32_t> find(std::string_view piece) const;
  // Empty where the number has no piece.
  const std::string &operator[](int32_t id) const { return texts[size_t(id)]; }
  bool contains(int32_t id) const { return id >= 0 && id < size(); }
  // For people: "#7" where 7 has no piece.
  std::string shown(int32_t id) const;

private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::vector<std::string> texts; // by number
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids;
};

// The text of a vocabulary's file.
Result<std::string> readVocabularyFile(const std::filesystem::path &path);

// Those of the files that the folder has.
Result<std::vector<TokenizerFile>> readTokenizerFiles(const std::filesystem::path &folder,
                                                      std::span<const std::string_view> names);

// An error of kind NotFound where the folder lacks one of the files that a vocabulary of this kind of model is.
Status requireVocabularyFiles(const std::filesystem::path &folder, std::initializer_list<const char *> names,
                              std::string_view kind);

} // namespace heddle
