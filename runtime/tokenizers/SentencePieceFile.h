// A SentencePiece model as stored in its file, a protobuf message.
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

  std::vector<Piece> pieces; // in the order of their numbers
  uint64_t model = Unigram;
  bool usesBytes = false;                  // a character without a piece is written as its bytes
  bool spaceBehind = false;                // the mark of a space ends a word instead of beginning it
  std::string begin = "<s>", end = "</s>"; // the marks of a text
  std::string unknown = " \u2047 ";        // the text of an unknown piece
  std::string characterMap;                // empty: characters stay as they are
  bool changesDecoded = false;             // has a character map for decoded texts
  bool spaceFirst = true;                  // a space is prepended to a text
  bool dropsSpaces = true;                 // removes spaces at both ends of a text, and all but one of several in a row
  bool escapesSpaces = true;               // pieces contain U+2581 instead of spaces

  // Fails if the bytes are not such a message or have no piece. `name` is the file's name for messages.
  static Result<SentencePieceFile> parse(std::string_view bytes, const std::string &name);
};

} // namespace heddle
