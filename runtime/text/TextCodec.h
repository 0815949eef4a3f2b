// Text to token ids and back, whatever the vocabulary.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// A file of a vocabulary, as a folder keeps it.
struct TokenizerFile {
  std::string name, bytes;
};

// The piece that stands for a hidden word.
inline constexpr std::string_view kMaskPiece = "[MASK]";

class TextCodec {
public:
  virtual ~TextCodec() = default;

  virtual std::vector<int32_t> encode(std::string_view line) const = 0;
  // The target of a pair, where its side has pieces of its own.
  virtual std::vector<int32_t> encodeTarget(std::string_view line) const { return encode(line); }
  // The tokens of a text that follows another one: without the space that many vocabularies put in front of a text.
  virtual std::vector<int32_t> encodeContinuation(std::string_view text) const { return encode(text); }
  virtual std::string decode(std::span<const int32_t> ids) const = 0;
  // The text of `ids` where it stands behind that of `before`.
  virtual std::string continuation(std::span<const int32_t> before, std::span<const int32_t> ids) const {
    (void)before;
    return decode(ids);
  }

  // The parts of a text that the vocabulary does not know, each once.
  virtual std::vector<std::string> unknownParts(std::string_view line) const {
    (void)line;
    return {};
  }

  // A token as it stands in the vocabulary; "#7" where 7 has no piece.
  virtual std::string piece(int32_t id) const = 0;
  virtual int32_t pieces() const = 0; // ids are below it
  // The mark at the begin of every text, which encode() leaves out, where the vocabulary says that there is one.
  virtual std::optional<int32_t> beginId() const { return std::nullopt; }
  // The mark at the end of a text, where the vocabulary has one.
  virtual std::optional<int32_t> endId() const { return std::nullopt; }

  // Tokens from `rows` on become unknown: no text has them any more, and pieces() is `rows` at most. Vocabularies that
  // are not published ones stay as they are.
  virtual void limitTo(int32_t rows) { (void)rows; }

  // The token that stands for a hidden word, where the vocabulary has one.
  virtual std::optional<int32_t> maskId() const { return std::nullopt; }

  // The names of the labels that a model gives to texts or words, where it gives any.
  virtual const std::vector<std::string> &labels() const {
    static const std::vector<std::string> none;
    return none;
  }

  // What a folder has to hold, so that the vocabulary can be loaded from it.
  virtual const std::vector<TokenizerFile> &files() const = 0;
};

} // namespace heddle
