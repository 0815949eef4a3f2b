// A SentencePiece model as its file has it: a message of protobuf.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct SentencePieceFile {
  enum Kind : uint64_t { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };
  struct Piece {
    std::string text;
    float score = 0;
    uint64_t kind = Normal;
  };
  enum Model : uint64_t { Unigram = 1, BytePairs = 2, Word = 3, Character = 4 };

  std::vector<Piece> pieces; // by number
  uint64_t model = Unigram;
  bool usesBytes = false;    // what has no piece is written as its bytes
  bool spaceBehind = false;  // the mark of a space ends a word and does not begin one
  std::string begin = "<s>"; // the mark at the begin of a text
  std::string characterMap;  // empty: characters stay as they are
  bool spaceFirst = true;    // a space is put in front of a text
  bool dropsSpaces = true;   // at both ends of a text, and all but the first of several
  bool escapesSpaces = true; // a space is U+2581 in a piece

  // Fails if the bytes are no such message, or have no piece; `name` is the file's, for messages.
  static Result<SentencePieceFile> parse(std::string_view bytes, const std::string &name);
};

// Fails if a model has a table of characters that libsentencepiece would leave when it looks texts up in it.
Status checkSentencePieceMaps(std::string_view bytes, const std::string &name);

} // namespace heddle
