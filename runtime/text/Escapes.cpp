#include "runtime/text/Escapes.h"

#include <utility>

namespace heddle {
namespace {

constexpr std::pair<char, char> kEscapes[] = {{'\n', 'n'}, {'\r', 'r'}, {'\\', '\\'}};

} // namespace

std::string escaped(std::string_view text) {
  std::string line;
  for (char c : text) {
    char shown = c;
    for (auto [meant, letter] : kEscapes)
      if (c == meant) {
        line += '\\';
        shown = letter;
      }
    line += shown;
  }
  return line;
}

std::string unescaped(std::string_view line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    char meant = line[i];
    for (auto [character, letter] : kEscapes)
      if (line[i] == '\\' && line.substr(i + 1).starts_with(letter)) {
        meant = character;
        ++i;
        break;
      }
    text += meant;
  }
  return text;
}

} // namespace heddle
