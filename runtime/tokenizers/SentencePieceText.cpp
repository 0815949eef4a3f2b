#include "runtime/tokenizers/SentencePieceText.h"

namespace heddle {

std::string SentencePieceText::apply(std::string_view text, bool continues) const {
  auto take = [&](std::string_view &rest) {
    size_t bytes = kept.prefixBytes(rest);
    if (bytes == 0)
      return map.takeLongest(rest);
    std::string_view taken = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
    return taken;
  };
  bool begins = !continues;
  if (dropsSpaces)
    for (std::string_view rest = text; !rest.empty() && take(rest) == " "; text = rest)
      begins = true;
  std::string result;
  if (text.empty())
    return result;
  if (addsSpace && begins && !spaceBehind)
    result = kSpaceMark;
  bool behindSpace = dropsSpaces;
  while (!text.empty()) {
    std::string_view part = take(text);
    while (behindSpace && part.starts_with(' '))
      part.remove_prefix(1);
    for (char c : part)
      if (c == ' ')
        result += kSpaceMark;
      else
        result += c;
    if (!part.empty())
      behindSpace = dropsSpaces && part.ends_with(' ');
  }
  while (dropsSpaces && result.ends_with(kSpaceMark))
    result.resize(result.size() - kSpaceMark.size());
  if (addsSpace && begins && spaceBehind)
    result += kSpaceMark;
  return result;
}

} // namespace heddle
