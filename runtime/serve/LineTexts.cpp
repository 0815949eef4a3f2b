#include "runtime/serve/LineTexts.h"

#include <algorithm>

namespace heddle::serve {

std::string lineOf(std::string text, bool isOfPair) {
  std::ranges::replace_if(text, [&](char c) { return c == '\n' || c == '\r' || (isOfPair && c == '\t'); }, ' ');
  return text;
}

std::vector<std::string> readTexts(Fields &fields, Pairs pairs) {
  bool takesPairs = pairs != Pairs::None, isOfPair = pairs == Pairs::Required;
  const Fields::Json *field = fields.find("text");
  std::vector<std::string> texts;
  auto fail = [&] {
    fields.fail("text", str("'text' must be a text, or a list of 1 to ", kMostTexts, " texts",
                            takesPairs ? " or pairs of texts." : "."));
    return std::vector<std::string>();
  };
  if (field && field->is_string())
    return {lineOf(field->get<std::string>(), isOfPair)};
  if (!field || !field->is_array() || field->empty() || field->size() > kMostTexts)
    return fail();
  for (const Fields::Json &each : *field) {
    bool isPair = takesPairs && each.is_array() && each.size() == 2 && each[0].is_string() && each[1].is_string();
    if (isPair)
      texts.push_back(lineOf(each[0].get<std::string>(), true) + "\t" + lineOf(each[1].get<std::string>(), true));
    else if (each.is_string())
      texts.push_back(lineOf(each.get<std::string>(), isOfPair));
    else
      return fail();
  }
  return texts;
}

} // namespace heddle::serve
