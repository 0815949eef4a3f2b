#include "tools/cli/SameFile.h"

namespace heddle::cli {

namespace fs = std::filesystem;

Status checkOutput(std::string_view flag, const fs::path &output, const std::vector<fs::path> &inputs) {
  std::error_code error;
  if (!fs::is_regular_file(output, error) && !fs::is_directory(output, error))
    return Success();
  for (const fs::path &input : inputs)
    if (fs::equivalent(input, output, error))
      return makeError(ErrorKind::InvalidArgument, flag, " '", output.string(), "' would replace ",
                       input == output ? std::string("a file that is read")
                                       : str("'", input.string(), "', which is read"),
                       "; name another file.");
  return Success();
}

} // namespace heddle::cli
