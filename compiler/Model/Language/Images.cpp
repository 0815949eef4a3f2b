// Images as an input: sequences of pixels instead of tokens. All images have the same height and width.
#include "compiler/Model/Language/Elaborator.h"
#include "compiler/Model/Language/Parts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

ImageShape ModelText::getImageShape() const {
  ImageShape shape{getCount("image_height"), getCount("image_width"), std::max<int64_t>(getCount("channels"), 1)};
  return shape.height || shape.width ? shape : ImageShape();
}

/// The shape of the source's images. Reports an error if the parameters are incomplete or the task takes no images.
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

/// `input.pixels`: a row of channels for each pixel, in row-major order.
Item Elaborator::pixelsOf(const Side &side, const Name &input) {
  auto type = RankedTensorType::get({ShapedType::kDynamic, side.image.channels}, builder.getF32Type(),
                                    columnOf(side.tokens).getEncoding());
  return make(addPort(side.name, "pixels", type, /*limit=*/0, input.where));
}

/// `input.rows` and `input.columns`: each pixel's row and column in its image.
void Elaborator::addPixelPlaces(const Side &side, const Name &input) {
  Location at = place(input.where);
  RankedTensorType type = typeOf(side.positions);
  Value width = fill(type, static_cast<double>(side.image.width), input.where);
  part->scope.items[side.name + ".rows"] = make(arith::DivUIOp::create(builder, at, side.positions, width));
  part->scope.items[side.name + ".columns"] = make(arith::RemUIOp::create(builder, at, side.positions, width));
}

/// The side of a call's first argument. Null, after an error, unless the argument has a row for each pixel of images.
Side *Elaborator::imagesOf(BuiltinCall &call) {
  StringRef name = call.expression.text;
  Value x = tensor(call.given[0].item, call.given[0].where, "what " + name + "() is of");
  if (!x)
    return nullptr;
  Side *side = scanState ? nullptr : findSide(typeOf(x));
  if (side && side->image.height)
    return side;
  fail(call.where()) << name << "() takes rows of pixels, not " << describe(call.given[0].item)
                     << (scanState ? "; within a scan there is one row at a time" : "");
  return nullptr;
}

/// grid_columns(x): the column of each pixel in its image.
Item Elaborator::gridColumns(BuiltinCall &call) {
  Side *side = imagesOf(call);
  if (!side)
    return mistake();
  Value positions = import(side->positions),
        width = fill(typeOf(positions), static_cast<double>(side->image.width), call.where());
  return make(arith::RemUIOp::create(builder, place(call.where()), positions, width));
}

/// grid_width(x): the number of pixels in a row of an image.
Item Elaborator::gridWidth(BuiltinCall &call) {
  Side *side = imagesOf(call);
  return side ? wholeNumber(side->image.width) : mistake();
}

/// The side of images that have every `stride`-th row and column of the images of `side`. It has sizes and ports of its
/// own. Their names contain the stride relative to the model's input images.
Side *Elaborator::strided(const Side &side, int64_t stride, LocationAttr where) {
  std::string all = "source", name = all + "_stride" + std::to_string(side.stride * stride);
  if (Side *known = sideNamed(name))
    return known;
  const Side &whole = *sideNamed(all);
  auto images = std::make_unique<Side>();
  images->name = name;
  images->tokens = name + "_tokens";
  images->longest = name + "_length";
  images->stride = side.stride * stride;
  images->image = {side.image.height / stride, side.image.width / stride, side.image.channels};
  images->most = images->image.pixels();
  int64_t most = limits.maxTokens / whole.image.pixels() * images->most;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(part->function);
    addSize(images->tokens, most);
    addSize(images->longest, images->most, name + "_lengths");
  }
  auto add = [&](StringRef role, StringRef size, int64_t limit) {
    return addPort(name, role, columnOf(size), limit, where);
  };
  images->positions = add("positions", images->tokens, images->most);
  images->starts = add("starts", kSequences, most + 1);
  images->lengths = add("lengths", kSequences, images->most + 1);
  return sides.emplace_back(std::move(images)).get();
}

/// subsample(x, stride, row, column): every `stride`-th row and column of pixels, starting from `row` and `column`.
Item Elaborator::subsample(BuiltinCall &call) {
  Side *side = imagesOf(call);
  std::optional<int64_t> stride = whole(call.given[1], "a stride", 1),
                         row = whole(call.given[2], "the first row of pixels", 0),
                         column = whole(call.given[3], "the first column of pixels", 0);
  if (!side || !stride || !row || !column)
    return mistake();
  Value x = tensor(call.given[0].item, call.given[0].where, "what subsample() is of");
  if (typeOf(x).getRank() != 2 || !typeOf(x).getElementType().isF32())
    return fail(call.where()) << "subsample() takes rows of pixels, not " << describe(call.given[0].item);
  if (side->image.height % *stride || side->image.width % *stride)
    return fail(call.where()) << "a stride of " << *stride << " does not divide images of " << side->image.height
                              << " x " << side->image.width
                              << " pixels; images of another size, or another stride, fit";
  if (*row >= *stride || *column >= *stride)
    return fail(call.where()) << "of a stride of " << *stride << " the first row and column are 0 to " << *stride - 1
                              << ", not " << *row << " and " << *column;
  if (*stride == 1)
    return call.given[0].item;
  if (model.task == "translate")
    return fail(call.where())
           << "a caption's decoder reads the rows of whole images, so the task 'translate' has no smaller images yet";
  const Side &images = *strided(*side, *stride, call.where());
  auto type = RankedTensorType::get(typeOf(x).getShape(), builder.getF32Type(), columnOf(images.tokens).getEncoding());
  return make(SubsampleOp::create(builder, place(call.where()), type, x, side->image.width, *stride, *row, *column));
}
