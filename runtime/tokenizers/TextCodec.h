// Converts text to token ids and back, for every kind of vocabulary.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// A file of a vocabulary, as stored in a folder.
struct TokenizerFile {
  std::string name, bytes;
};

// The marks in the input of an encoder. A text is `before` A `after`; a pair of texts is `before` A `between` B `after`.
struct InputMarks {
  std::vector<int32_t> before, after;
  std::optional<std::vector<int32_t>> between; // absent if the vocabulary has no form for pairs
};

// The piece that stands for a hidden word.
inline constexpr std::string_view kMaskPiece = "[MASK]";

class TextCodec {
public:
  virtual ~TextCodec() = default;

  virtual std::vector<int32_t> encode(std::string_view line) const = 0;
  // Encodes the target of a pair, if the target side has its own pieces.
  virtual std::vector<int32_t> encodeTarget(std::string_view line) const { return encode(line); }
  // Encodes a text that follows another text: without the space that many vocabularies prepend to a text.
  virtual std::vector<int32_t> encodeContinuation(std::string_view text) const { return encode(text); }
  // Encodes a text without the marks of inputMarks().
  virtual std::vector<int32_t> encodeUnmarked(std::string_view text) const { return encode(text); }
  // The marks in the input of an encoder; null if the vocabulary does not define them.
  virtual const InputMarks *inputMarks() const { return nullptr; }
  virtual std::string decode(std::span<const int32_t> ids) const = 0;
  // The text of `ids` when it follows the text of `before`.
  virtual std::string continuation(std::span<const int32_t> before, std::span<const int32_t> ids) const {
    (void)before;
    return decode(ids);
  }

  // The parts of a text that the vocabulary does not know, each listed once.
  virtual std::vector<std::string> unknownParts(std::string_view line) const {
    (void)line;
    return {};
  }

  // A token as written in the vocabulary; "#7" if 7 has no piece.
  virtual std::string piece(int32_t id) const = 0;
  virtual int32_t pieces() const = 0; // ids are below this
  // The begin mark of every text, if the vocabulary defines one. encode() does not add it.
  virtual std::optional<int32_t> beginId() const { return std::nullopt; }
  // The end mark of a text, if the vocabulary has one.
  virtual std::optional<int32_t> endId() const { return std::nullopt; }

  // Removes tokens with ids from `rows` on: they become unknown, and pieces() is at most `rows`. Only published
  // vocabularies implement this; the others do nothing.
  virtual void limitTo(int32_t rows) { (void)rows; }

  // The token that stands for a hidden word, if the vocabulary has one.
  virtual std::optional<int32_t> maskId() const { return std::nullopt; }

  // The names of the labels that a model predicts for texts or words; empty if it predicts none.
  virtual const std::vector<std::string> &labels() const {
    static const std::vector<std::string> none;
    return none;
  }

  // The files that a folder must contain so that the vocabulary can be loaded from it.
  virtual const std::vector<TokenizerFile> &files() const = 0;
};

} // namespace heddle
