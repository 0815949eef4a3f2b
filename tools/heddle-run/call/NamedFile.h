// NAME=@FILE, as --input, --output and --expect take it.
#pragma once

#include "runtime/core/Status.h"

#include <string>
#include <string_view>

namespace heddle::run {

struct NamedFile {
  std::string name, path;

  static Result<NamedFile> parse(std::string_view flag, std::string_view text);
};

} // namespace heddle::run
