// A small byte-level vocabulary, like GPT-2's.
#pragma once

#include "runtime/text/Unicode.h"

#include <nlohmann/json.hpp>

namespace heddle::test {

// Returns all bytes, "ab", "abc" and the end mark.
inline nlohmann::json bytePieces() {
  nlohmann::json pieces;
  char32_t other = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    char32_t c = (byte > 32 && byte < 127) || (byte > 160 && byte != 173) ? char32_t(byte) : other++;
    pieces[toUtf8(std::u32string_view(&c, 1))] = byte;
  }
  for (const char *piece : {"ab", "abc", "<|endoftext|>"})
    pieces[piece] = pieces.size();
  return pieces;
}

} // namespace heddle::test
