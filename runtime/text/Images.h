// Images in records, and in the place of a source's sentences: "image" is rows of pixels, each a number or a list of
// numbers, or the name of a .npy file of them.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/core/Json.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// An image as a record has it.
struct Image {
  ImageShape shape;
  std::vector<float> numbers; // pixel by pixel, row by row
  std::string file;           // where they are yet to be read from; else empty

  // Fails where the value is neither rows of pixels nor a name; `origin` is the record's place, as in "'train.jsonl'
  // line 3".
  static Result<Image> parse(const nlohmann::json &value, const std::string &origin);

  // The numbers, of a file beside the records if need be, as a model takes them. Fails where the image has another
  // shape.
  Result<std::vector<float>> read(const ImageShape &wanted, const std::filesystem::path &folder,
                                  const std::string &origin) const;
};

// The image of a line of a source, {"image": [[0, 1], [1, 0]]}, as a model takes it. Fails where the line is no such
// record.
Result<std::vector<float>> readImageLine(std::string_view line, const ImageShape &wanted,
                                         const std::filesystem::path &folder, const std::string &origin);

} // namespace heddle
