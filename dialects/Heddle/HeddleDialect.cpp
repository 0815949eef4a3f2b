#include "dialects/Heddle/Heddle.h"
#include "dialects/Heddle/Limits.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::heddle;

#include "dialects/Heddle/HeddleDialect.cpp.inc"
#include "dialects/Heddle/HeddleEnums.cpp.inc"
#include "dialects/Heddle/HeddleInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Heddle/HeddleAttrs.cpp.inc"

/// The moments' type is written only if it differs from the weight's.
static ParseResult parseAdamTypes(OpAsmParser &parser, Type &weight, Type &moment) {
  if (parser.parseType(weight))
    return failure();
  moment = weight;
  return succeeded(parser.parseOptionalComma()) ? parser.parseType(moment) : success();
}

static void printAdamTypes(OpAsmPrinter &printer, Operation *, Type weight, Type moment) {
  printer << weight;
  if (moment != weight)
    printer << ", " << moment;
}

/// Rejects decimal numbers that are too large: MLIR's parser turns them into infinities.
static ParseResult parseFillValue(OpAsmParser &parser, TypedAttr &value) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseAttribute(value))
    return failure();
  auto number = dyn_cast<FloatAttr>(value);
  StringRef written = StringRef(loc.getPointer()).take_front(3);
  written.consume_front("-");
  if (number && number.getValue().isInfinity() && !written.starts_with("0x"))
    return parser.emitError(loc) << "the number is beyond those of " << number.getType();
  return success();
}

static void printFillValue(OpAsmPrinter &printer, Operation *, TypedAttr value) { printer << value; }

/// A type that is written only once.
static ParseResult parseSameType(OpAsmParser &, Type written, Type &other) {
  other = written;
  return success();
}

static void printSameType(OpAsmPrinter &, Operation *, Type, Type) {}

/// A factor of 1 and a start of 0 are not written, unless both are left out.
static ParseResult parsePartOfSize(OpAsmParser &parser, IntegerAttr &times, IntegerAttr &from) {
  Type type = parser.getBuilder().getI64Type();
  bool hasTimes = succeeded(parser.parseOptionalKeyword("times"));
  if (hasTimes && parser.parseAttribute(times, type))
    return failure();
  if (hasTimes ? succeeded(parser.parseOptionalKeyword("from")) : succeeded(parser.parseKeyword("from")))
    return parser.parseAttribute(from, type);
  return success(hasTimes);
}

static void printPartOfSize(OpAsmPrinter &printer, SizeOp size, IntegerAttr times, IntegerAttr from) {
  bool hasTimes = times && times.getInt() != 1;
  if (hasTimes)
    printer << "times " << times.getInt();
  if (int64_t start = from ? from.getInt() : 0; start != 0 || !hasTimes || size.getWithin())
    printer << (hasTimes ? " " : "") << "from " << start;
}

#define GET_OP_CLASSES
#include "dialects/Heddle/HeddleOps.cpp.inc"

/// Keeps the constants of a region inside it: a kernel is cut out with an op's regions, but not with values around the
/// op.
namespace {
struct FoldIntoRegions : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *) const override { return true; }
};
} // namespace

void HeddleDialect::initialize() {
  addInterfaces<FoldIntoRegions>();
  addOperations<
#define GET_OP_LIST
#include "dialects/Heddle/HeddleOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Heddle/HeddleAttrs.cpp.inc"
      >();
}

LogicalResult DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                       function_ref<InFlightDiagnostic()> emitError) const {
  int64_t dynamic = llvm::count(shape, ShapedType::kDynamic);
  if (dynamic != static_cast<int64_t>(getNames().size()))
    return emitError() << "#heddle.dims names " << getNames().size() << " sizes, but the tensor has " << dynamic
                       << " dynamic dimensions";
  return success();
}

StringRef heddle::getSizeName(RankedTensorType type, int64_t dim) {
  if (!type.isDynamicDim(dim))
    return {};
  auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding());
  if (!dims)
    return {};
  return dims.getNames()[llvm::count(type.getShape().take_front(dim), ShapedType::kDynamic)].getValue();
}

std::pair<StringRef, int64_t> heddle::getFactorOfSize(StringRef name) {
  auto [size, factor] = name.rsplit('*');
  int64_t number = 0;
  return factor.empty() || factor.getAsInteger(10, number) ? std::pair(name, int64_t(1)) : std::pair(size, number);
}

std::string heddle::getMultipleOfSize(StringRef size, int64_t factor) {
  return factor == 1 ? size.str() : (size + "*" + Twine(factor)).str();
}

bool heddle::sameElements(RankedTensorType a, RankedTensorType b) {
  auto count = [](RankedTensorType type) {
    auto [size, factor] = getFactorOfSize(getSizeName(type, 0));
    int64_t first = type.isDynamicDim(0) ? factor : type.getDimSize(0);
    return std::pair(size, first * ShapedType::getNumElements(type.getShape().drop_front()));
  };
  auto isOfRows = [](RankedTensorType type) { return !ShapedType::isDynamicShape(type.getShape().drop_front()); };
  return isOfRows(a) && isOfRows(b) && count(a) == count(b);
}

void heddle::declareMultiple(ModuleOp module, StringRef name) {
  auto [of, factor] = getFactorOfSize(name);
  auto whole = module.lookupSymbol<SizeOp>(of);
  if (factor == 1 || !whole || module.lookupSymbol(name))
    return;
  OpBuilder after(module.getContext());
  after.setInsertionPointAfter(whole);
  SizeOp::create(after, whole.getLoc(), name, static_cast<int64_t>(whole.getMaximum()) * factor, StringAttr(),
                 /*fixed=*/false, FlatSymbolRefAttr::get(whole), /*from=*/0, /*within=*/false, factor);
}

RankedTensorType heddle::getTypeOfDims(ArrayRef<DimOf> dims, Type element) {
  SmallVector<int64_t> shape;
  SmallVector<StringAttr> names;
  for (DimOf dim : dims) {
    shape.push_back(dim.type.getDimSize(dim.dim));
    if (StringRef name = getSizeName(dim.type, dim.dim); !name.empty())
      names.push_back(StringAttr::get(element.getContext(), name));
  }
  Attribute encoding = names.empty() ? Attribute() : DimsAttr::get(element.getContext(), names);
  return RankedTensorType::get(shape, element, encoding);
}

RankedTensorType heddle::getDimType(RankedTensorType type, int64_t dim, Type element) {
  return getTypeOfDims({{type, dim}}, element);
}

bool heddle::isColumn(RankedTensorType type) { return type.getRank() == 1 && type.isDynamicDim(0); }

bool heddle::isTensorOfKernels(RankedTensorType type) {
  Type element = type.getElementType();
  bool takesElements = element.isF32() || element.isBF16() || element.isF16() || element.isSignlessInteger(32) ||
                       element.isSignlessInteger(1);
  return takesElements && type.getRank() >= 1 && type.getRank() <= 3 && !llvm::is_contained(type.getShape(), 0);
}

bool heddle::isElementwise(Operation *op) {
  return op->hasTrait<Elementwise>() || OpTrait::hasElementwiseMappableTraits(op);
}
