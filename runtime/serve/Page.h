// The page at /, for people: plain HTML and JavaScript, with nothing from outside.
#pragma once

#include <string>

namespace heddle::serve {

struct PageOptions {
  std::string model, kind; // kind is that of Routes
  bool needsKey = false;   // the page asks for a key
  bool aligns = false;     // translations come with the attention to their source
};

std::string pageOf(const PageOptions &options);

} // namespace heddle::serve
