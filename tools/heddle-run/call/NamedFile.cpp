#include "tools/heddle-run/call/NamedFile.h"

namespace heddle::run {

Result<NamedFile> NamedFile::parse(std::string_view flag, std::string_view text) {
  size_t equals = text.find("=@");
  if (equals == std::string_view::npos || equals == 0 || equals + 2 == text.size())
    return makeError(ErrorKind::InvalidArgument, flag, "=", text, " is not of the form ", flag, "=NAME=@FILE.npy.");
  return NamedFile{std::string(text.substr(0, equals)), std::string(text.substr(equals + 2))};
}

} // namespace heddle::run
