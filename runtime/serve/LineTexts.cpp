#include "runtime/serve/LineTexts.h"

#include <algorithm>

namespace heddle::serve {

std::vector<std::string> readTexts(Fields &fields, bool takesPairs) {
  const Fields::Json *field = fields.find("text");
  std::vector<std::string> texts;
  auto fail = [&] {
    fields.fail("text", str("'text' must be a text, or a list of 1 to ", kMostTexts, " texts",
                            takesPairs ? " or pairs of texts." : "."));
    return std::vector<std::string>();
  };
  // Replaces line breaks, and tabs if they separate pairs, by spaces.
  auto lineOf = [&](const Fields::Json &text) {
    std::string line = text.get<std::string>();
    std::ranges::replace_if(line, [&](char c) { return c == '\n' || c == '\r' || (takesPairs && c == '\t'); }, ' ');
    return line;
  };
  if (field && field->is_string())
    return {lineOf(*field)};
  if (!field || !field->is_array() || field->empty() || field->size() > kMostTexts)
    return fail();
  for (const Fields::Json &each : *field) {
    bool isPair = takesPairs && each.is_array() && each.size() == 2 && each[0].is_string() && each[1].is_string();
    if (isPair)
      texts.push_back(lineOf(each[0]) + "\t" + lineOf(each[1]));
    else if (each.is_string())
      texts.push_back(lineOf(each));
    else
      return fail();
  }
  return texts;
}

} // namespace heddle::serve
