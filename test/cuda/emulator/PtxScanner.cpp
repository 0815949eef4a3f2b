#include "test/cuda/emulator/PtxScanner.h"

#include <bit>
#include <cctype>
#include <cstdlib>

namespace heddle::emulator {

static bool isNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

void PtxScanner::failExpected(const std::string &wanted) const {
  fail("expected " + wanted + " before '" + std::string(text.substr(at, 20)) + "'");
}

void PtxScanner::skipSpace() {
  while (at < text.size()) {
    if (std::isspace(static_cast<unsigned char>(peek()))) {
      advance();
    } else if (peek() == '/' && peek(1) == '/') {
      while (at < text.size() && peek() != '\n')
        ++at;
    } else if (peek() == '/' && peek(1) == '*') {
      while (at < text.size() && !(peek() == '*' && peek(1) == '/'))
        advance();
      if (at >= text.size())
        fail("a comment is not closed");
      at += 2;
    } else {
      return;
    }
  }
}

bool PtxScanner::atEnd() {
  skipSpace();
  // A caller may include the terminating zero in the length.
  return at >= text.size() || peek() == '\0';
}

bool PtxScanner::accept(char c) {
  skipSpace();
  if (peek() != c)
    return false;
  advance();
  return true;
}

void PtxScanner::expect(char c) {
  if (!accept(c))
    failExpected(std::string("'") + c + "'");
}

std::string PtxScanner::name() {
  skipSpace();
  size_t start = at;
  while (isNameCharacter(peek()))
    ++at;
  if (at == start)
    failExpected("a name");
  return std::string(text.substr(start, at - start));
}

std::string PtxScanner::dottedName() {
  std::string whole = name();
  while (peek() == '.' && isNameCharacter(peek(1))) {
    ++at;
    whole += "." + name();
  }
  return whole;
}

std::string PtxScanner::directive() {
  skipSpace();
  if (peek() != '.')
    return "";
  ++at;
  size_t start = at;
  while (isNameCharacter(peek()) || (peek() == ':' && peek(1) == ':' && ++at))
    ++at;
  return std::string(text.substr(start, at - start));
}

bool PtxScanner::atNumber() {
  skipSpace();
  return std::isdigit(static_cast<unsigned char>(peek())) ||
         ((peek() == '-' || peek() == '+') && std::isdigit(static_cast<unsigned char>(peek(1))));
}

Operand PtxScanner::number() {
  skipSpace();
  Operand operand;
  operand.kind = Operand::Integer;
  bool negative = peek() == '-';
  if (peek() == '-' || peek() == '+')
    ++at;
  size_t start = at;
  while (isNameCharacter(peek()) || (peek() == '.' && std::isdigit(static_cast<unsigned char>(peek(1)))) ||
         ((peek() == '-' || peek() == '+') && (text[at - 1] == 'e' || text[at - 1] == 'E') && text[start + 1] != 'x' &&
          text[start + 1] != 'f' && text[start + 1] != 'd'))
    ++at;
  std::string digits(text.substr(start, at - start));
  char second = digits.size() > 1 ? static_cast<char>(std::tolower(digits[1])) : '\0';
  char *end = nullptr;
  if (digits[0] == '0' && (second == 'f' || second == 'd')) {
    operand.kind = Operand::Real;
    operand.realBits = second == 'f' ? 32 : 64;
    operand.value = std::strtoull(digits.c_str() + 2, &end, 16);
    if (negative)
      operand.value ^= uint64_t(1) << (operand.realBits - 1);
    if (digits.size() != 2 + operand.realBits / 4)
      fail("'" + digits + "' is no number");
  } else if (digits.find('.') != std::string::npos) {
    operand.kind = Operand::Real;
    operand.realBits = 64;
    operand.value = std::bit_cast<uint64_t>(std::strtod(digits.c_str(), &end));
    if (negative)
      operand.value ^= uint64_t(1) << 63;
  } else {
    bool binary = digits[0] == '0' && second == 'b';
    operand.value = std::strtoull(digits.c_str() + (binary ? 2 : 0), &end, binary ? 2 : 0);
    if (*end == 'U')
      ++end;
    if (negative)
      operand.value = -operand.value;
  }
  if (*end)
    fail("'" + digits + "' is no number");
  return operand;
}

uint64_t PtxScanner::integer() {
  Operand operand = number();
  if (operand.kind != Operand::Integer)
    fail("expected an integer");
  return operand.value;
}

void PtxScanner::skipLine() {
  while (at < text.size() && peek() != '\n')
    ++at;
}

void PtxScanner::skipBraces() {
  expect('{');
  for (unsigned depth = 1; depth; advance()) {
    if (at >= text.size())
      fail("braces are not closed");
    if (peek() == '{')
      ++depth;
    else if (peek() == '}')
      --depth;
  }
}

void PtxScanner::skipUntil(char c) {
  while (at < text.size() && peek() != c)
    advance();
  expect(c);
}

std::string PtxScanner::opcode() {
  skipSpace();
  size_t start = at;
  while (isNameCharacter(peek()) || peek() == '.' || peek() == ':')
    ++at;
  return std::string(text.substr(start, at - start));
}

} // namespace heddle::emulator
