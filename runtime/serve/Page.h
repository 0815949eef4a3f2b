// The page at /, for people: plain HTML and JavaScript, with nothing from outside.
#pragma once

#include <string>

namespace heddle::serve {

// `kind` is that of Routes. `needsKey`: the page asks for a key.
std::string pageOf(const std::string &model, const std::string &kind, bool needsKey);

} // namespace heddle::serve
