// Reads the words and numbers of a PTX text, and counts its lines.
#pragma once

#include "test/cuda/emulator/Ptx.h"

namespace heddle::emulator {

class PtxScanner {
protected:
  explicit PtxScanner(std::string_view text) : text(text) {}

  [[noreturn]] void fail(const std::string &message) const { throw PtxError(line, message); }
  // Fails because something else comes than `wanted`.
  [[noreturn]] void failExpected(const std::string &wanted) const;

  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  void advance() {
    if (text[at++] == '\n')
      ++line;
  }

  // Skip white space and comments, the rest of the line, the text up to and including `c`, or a pair of braces.
  void skipSpace();
  void skipLine();
  void skipUntil(char c);
  void skipBraces();

  // The functions below skip white space first.
  bool atEnd();
  bool accept(char c);
  void expect(char c);
  std::string name();
  // Parses a register with its component: "%tid.x".
  std::string dottedName();
  // Parses a directive and returns it without its dot ("shared"); empty if none follows.
  std::string directive();
  // Parses modifiers, dots included: "ld.shared::cta.u32".
  std::string opcode();
  bool atNumber();
  Operand number();
  uint64_t integer();

  std::string_view text;
  size_t at = 0;
  unsigned line = 1;
};

} // namespace heddle::emulator
