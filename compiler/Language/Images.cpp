// Images as an input: rows of pixels in the place of tokens, of a height and a width that are the same for all images.
#include "compiler/Language/Elaborator.h"
#include "compiler/Language/Parts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

ImageShape ModelText::getImageShape() const {
  ImageShape shape{getCount("image_height"), getCount("image_width"), std::max<int64_t>(getCount("channels"), 1)};
  return shape.height || shape.width ? shape : ImageShape();
}

/// The shape of the source's images, with an error where there can be none.
ImageShape Elaborator::readImageShape() {
  ImageShape shape = model.getImageShape();
  if (shape.height == 0 && shape.width == 0)
    return {};
  StringRef task = model.task;
  if (shape.height == 0 || shape.width == 0)
    fail(model.start) << "an image has an `image_height` and an `image_width`, and one of them is missing or 0";
  else if (task == "tag" || task == "pretrain")
    fail(model.start) << "the task '" << task
                      << "' is one of words, and has no images; leave `image_height` and `image_width` out";
  else if (countOf("sentences") || countOf("neighbours") || countOf("token_types"))
    fail(model.start) << "an image has no words, so `sentences`, `neighbours` and `token_types` have no meaning beside "
                         "`image_height`";
  else if (shape.height > limits.maxTokens / shape.width)
    fail(model.start) << "an image of " << shape.height << " x " << shape.width
                      << " pixels does not fit into a call, which holds "
                      << "'max_tokens' = " << limits.maxTokens << " of them; --set max_tokens=N makes room for more";
  else
    return shape;
  return {};
}

/// `input.pixels`: a row of the image's channels for each pixel, row by row.
Item Elaborator::pixelsOf(const Side &side, const Name &input) {
  auto type = RankedTensorType::get({ShapedType::kDynamic, side.image.channels}, builder.getF32Type(),
                                    columnOf(side.tokens).getEncoding());
  return make(addPort(side.name + "_pixels", type, /*limit=*/0, input.where));
}

/// `input.rows` and `input.columns`: where in its image each pixel is.
void Elaborator::addPixelPlaces(const Side &side, const Name &input) {
  Location at = place(input.where);
  RankedTensorType type = typeOf(side.positions);
  Value width = fill(type, static_cast<double>(side.image.width), input.where);
  part->scope.items[side.name + ".rows"] = make(arith::DivUIOp::create(builder, at, side.positions, width));
  part->scope.items[side.name + ".columns"] = make(arith::RemUIOp::create(builder, at, side.positions, width));
}
