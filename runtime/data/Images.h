// Images in records, or as the source lines of a translation. An "image" is a list of rows of pixels, each pixel a
// number or a list of numbers, or the name of a .npy file with the same contents.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/core/Json.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// An image as it appears in a record.
struct Image {
  ImageShape shape;
  std::vector<float> numbers; // pixel by pixel, row by row
  std::string file;           // the file that holds the numbers, if they are not in the record

  // Fails if the value is neither rows of pixels nor a name. `origin` names the record, as in "'train.jsonl' line 3".
  static Result<Image> parse(const nlohmann::json &value, const std::string &origin);

  // The numbers in the layout that a model takes, read from a file beside the records if necessary. Fails if the image
  // has another shape.
  Result<std::vector<float>> read(const ImageShape &wanted, const std::filesystem::path &folder,
                                  const std::string &origin) const;
};

// Reads the image of a source line, {"image": [[0, 1], [1, 0]]}, in the layout that a model takes. Fails if the line is
// not such a record.
Result<std::vector<float>> readImageLine(std::string_view line, const ImageShape &wanted,
                                         const std::filesystem::path &folder, const std::string &origin);

} // namespace heddle
