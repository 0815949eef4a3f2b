#include "runtime/tokenizers/SentencePieceFile.h"

#include <bit>
#include <cstring>

namespace heddle {
namespace {

// A field of a protobuf message. Numbers are in `value`, texts and nested messages in `bytes`.
struct Field {
  uint64_t number = 0, value = 0;
  std::string_view bytes;

  bool flag() const { return value != 0; }
};

// Iterates over the fields of a message.
class Fields {
public:
  explicit Fields(std::string_view message) : rest(message) {}

  // Returns false at the message's end, or if it is damaged.
  bool next(Field &field) {
    uint64_t key = 0;
    if (rest.empty() || !readNumber(key))
      return false;
    field = {.number = key >> 3};
    switch (key & 7) {
    case 0:
      return readNumber(field.value);
    case 1:
      return readFixed(8, field);
    case 2: {
      uint64_t length = 0;
      if (!readNumber(length) || length > rest.size())
        return damaged = true, false;
      field.bytes = rest.substr(0, length);
      rest.remove_prefix(length);
      return true;
    }
    case 5:
      return readFixed(4, field);
    default: // groups, which models do not use
      return damaged = true, false;
    }
  }
  bool isDamaged() const { return damaged; }

private:
  bool readNumber(uint64_t &number) {
    number = 0;
    for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
      auto byte = uint8_t(rest.front());
      rest.remove_prefix(1);
      number |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80)
        return true;
    }
    damaged = true;
    return false;
  }
  bool readFixed(size_t bytes, Field &field) {
    if (rest.size() < bytes)
      return damaged = true, false;
    std::memcpy(&field.value, rest.data(), bytes);
    rest.remove_prefix(bytes);
    return true;
  }

  std::string_view rest;
  bool damaged = false;
};

// Calls `onField` for each field. Returns false if the message is damaged or `onField` returns false.
template <typename OnField> bool forEachField(std::string_view message, OnField onField) {
  Fields fields(message);
  for (Field field; fields.next(field);)
    if (!onField(field))
      return false;
  return !fields.isDamaged();
}

// Field numbers in sentencepiece_model.proto.
enum ModelField : uint64_t { kPiece = 1, kTrainer = 2, kNormalizer = 3, kDenormalizer = 5 };

bool readPiece(std::string_view message, SentencePieceFile::Piece &piece) {
  return forEachField(message, [&](const Field &field) {
    if (field.number == 1)
      piece.text = field.bytes;
    else if (field.number == 2)
      piece.score = std::bit_cast<float>(uint32_t(field.value));
    else if (field.number == 3)
      piece.kind = field.value;
    return true;
  });
}

bool readTrainer(std::string_view message, SentencePieceFile &file) {
  return forEachField(message, [&](const Field &field) {
    if (field.number == 3)
      file.model = field.value;
    else if (field.number == 24)
      file.spaceBehind = field.flag();
    else if (field.number == 35)
      file.usesBytes = field.flag();
    else if (field.number == 44)
      file.unknown = field.bytes;
    else if (field.number == 46)
      file.begin = field.bytes;
    else if (field.number == 47)
      file.end = field.bytes;
    return true;
  });
}

bool readNormalizer(std::string_view message, SentencePieceFile &file) {
  return forEachField(message, [&](const Field &field) {
    if (field.number == 2)
      file.characterMap = field.bytes;
    else if (field.number == 3)
      file.spaceFirst = field.flag();
    else if (field.number == 4)
      file.dropsSpaces = field.flag();
    else if (field.number == 5)
      file.escapesSpaces = field.flag();
    return true;
  });
}

} // namespace

Result<SentencePieceFile> SentencePieceFile::parse(std::string_view bytes, const std::string &name) {
  SentencePieceFile file;
  bool isWhole = forEachField(bytes, [&](const Field &field) {
    if (field.number == kPiece)
      return readPiece(field.bytes, file.pieces.emplace_back());
    if (field.number == kTrainer)
      return readTrainer(field.bytes, file);
    if (field.number == kDenormalizer)
      return forEachField(field.bytes, [&](const Field &inner) {
        file.changesDecoded |= inner.number == 2 && !inner.bytes.empty();
        return true;
      });
    return field.number != kNormalizer || readNormalizer(field.bytes, file);
  });
  if (!isWhole || file.pieces.empty())
    return makeError(ErrorKind::Malformed, "'", name,
                     "' is not a SentencePiece model: it is damaged or a file of another kind; download it again.");
  return file;
}

} // namespace heddle
