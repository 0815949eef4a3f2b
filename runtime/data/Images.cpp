#include "runtime/data/Images.h"

#include "runtime/core/Npy.h"

#include <cmath>

namespace heddle {
namespace {

using Json = nlohmann::json;

std::string shown(const ImageShape &shape) {
  return str(shape.height, " x ", shape.width,
             shape.channels == 1 ? str(" pixels") : str(" pixels of ", shape.channels, " channels"));
}

} // namespace

Result<Image> Image::parse(const Json &value, const std::string &origin) {
  auto bad = [&](std::string_view what) {
    return makeError(ErrorKind::Malformed, origin, " has an \"image\" ", what,
                     "; an image is a list of rows, of which each has a number, "
                     "or a list of as many numbers as there are channels, for each pixel, such as [[0, 0.5], [1, 0]], "
                     "or the name of a "
                     ".npy file of such numbers.");
  };
  Image image;
  if (value.is_string()) {
    image.file = value.get<std::string>();
    return image.file.empty() ? Result<Image>(bad("without a name")) : Result<Image>(std::move(image));
  }
  auto isList = [](const Json &json) { return json.is_array() && !json.empty(); };
  if (!isList(value) || !isList(value[0]))
    return bad("that is no list of rows");
  bool hasChannels = isList(value[0][0]);
  image.shape = {int64_t(value.size()), int64_t(value[0].size()), hasChannels ? int64_t(value[0][0].size()) : 1};
  auto add = [&](const Json &number) {
    if (!number.is_number() || !std::isfinite(number.get<float>()))
      return false;
    image.numbers.push_back(number.get<float>());
    return true;
  };
  for (const Json &row : value) {
    if (!row.is_array() || int64_t(row.size()) != image.shape.width)
      return bad("whose rows are not of one length");
    for (const Json &pixel : row) {
      if (pixel.is_array() != hasChannels || (hasChannels && int64_t(pixel.size()) != image.shape.channels))
        return bad("whose pixels are not of as many channels");
      bool isRead = hasChannels ? std::ranges::all_of(pixel, add) : add(pixel);
      if (!isRead)
        return bad("with something else than finite numbers of 32 bits");
    }
  }
  return image;
}

// The folder that image files are relative to, in a text that lies in `folder`. A text in memory or from a pipe lies in
// no folder of files, so its image files are relative to the working directory.
static std::filesystem::path folderOfFiles(const std::filesystem::path &folder) {
  return folder == "/proc/self/fd" || folder == "/dev/fd" ? std::filesystem::path() : folder;
}

Result<std::vector<float>> Image::read(const ImageShape &wanted, const std::filesystem::path &folder,
                                       const std::string &origin) const {
  auto check = [&](const ImageShape &shape, std::string_view name) -> Status {
    if (shape.height == wanted.height && shape.width == wanted.width && shape.channels == wanted.channels)
      return Success();
    return makeError(
        ErrorKind::InvalidArgument, origin, " has an image", name, " of ", shown(shape),
        ", and the model takes images of ", shown(wanted),
        "; all images of a model have one shape, which `--set image_height=N`, `image_width` and `channels` "
        "say when it is compiled.");
  };
  if (file.empty()) {
    HEDDLE_CHECK(check(shape, ""));
    return numbers;
  }
  Result<HostTensor> tensor = readNpy(folderOfFiles(folder) / file);
  if (!tensor.ok())
    return std::move(tensor).error().within(origin);
  const Shape &extents = tensor->shape();
  if (tensor->type() != ElementType::F32 || (extents.size() != 2 && extents.size() != 3))
    return makeError(ErrorKind::InvalidArgument, origin, " has the image '", file, "', which is ",
                     describe(tensor->type(), extents),
                     "; an image is rows x columns, or rows x columns x channels, of float32.");
  HEDDLE_CHECK(check({extents[0], extents[1], extents.size() == 3 ? extents[2] : 1}, str(" '", file, "'")));
  std::span<const float> values = tensor->values<float>();
  if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
    return makeError(ErrorKind::InvalidArgument, origin, " has the image '", file,
                     "', in which some numbers are not finite.");
  return std::vector<float>(values.begin(), values.end());
}

Result<std::vector<float>> readImageLine(std::string_view line, const ImageShape &wanted,
                                         const std::filesystem::path &folder, const std::string &origin) {
  Result<Json> json = parseJson(line, origin);
  if (!json.ok() || !json->is_object() || !json->contains("image"))
    return makeError(ErrorKind::Malformed, origin, " is no record with an \"image\", and the model takes images: ",
                     R"({"image": [[0, 0.5], [1, 0]]}.)");
  HEDDLE_ASSIGN(Image image, Image::parse((*json)["image"], origin));
  return image.read(wanted, folder, origin);
}

} // namespace heddle
