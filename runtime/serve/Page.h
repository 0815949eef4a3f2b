// The web page at /: plain HTML and JavaScript without external resources.
#pragma once

#include <string>

namespace heddle::serve {

struct PageOptions {
  std::string model, kind; // kind: see Routes::kind()
  bool needsKey = false;   // the page asks for a key
  bool aligns = false;     // translations include the attention to their source
};

std::string pageOf(const PageOptions &options);

} // namespace heddle::serve
