#include "dialects/Tile/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

#include "dialects/Tile/TileDialect.cpp.inc"
#include "dialects/Tile/TileEnums.cpp.inc"
#include "dialects/Tile/TileInterfaces.cpp.inc"

/// Checks that lanes can share all rows and columns of a tile.
static LogicalResult verifyShape(DistributedLayout layout, ArrayRef<int64_t> shape,
                                 function_ref<InFlightDiagnostic()> emitError) {
  if (shape.size() != 2 || ShapedType::isDynamicShape(shape))
    return emitError() << "a tile has two static dimensions";
  for (int64_t dim : {0, 1}) {
    Distribution distribution = layout.distribute(dim);
    int64_t each = distribution.unit * distribution.pieces;
    if (shape[dim] != 1 && shape[dim] % (each * distribution.lanes) != 0)
      return emitError() << shape[dim] << (dim == 0 ? " rows" : " columns") << " cannot be distributed over "
                         << distribution.lanes << " lanes, " << each << " at a time";
  }
  return success();
}

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.cpp.inc"

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/TileOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Tile/TileAttrs.cpp.inc"
      >();
}

/// A register holds a power of two of elements, at most 16: the widest vector of a processor is 512 bits of f32.
static bool isVectorWidth(int64_t elements) { return elements >= 1 && elements <= 16 && llvm::isPowerOf2_64(elements); }

//===-- Layouts -------------------------------------------------------------------------------------------------===//

LogicalResult SimtAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rowLanes, int64_t columnLanes,
                               int64_t rowStride, int64_t columnStride, int64_t vector) {
  if (rowLanes < 1 || columnLanes < 1 || rowStride < 1 || columnStride < 1)
    return emitError() << "expects lanes and strides of at least 1";
  if (!isVectorWidth(vector))
    return emitError() << "expects a vector of 1, 2, 4, 8 or 16 elements, got " << vector;
  return success();
}

Distribution SimtAttr::distribute(int64_t dim) const {
  return dim == 0 ? Distribution{getRowLanes(), getRowStride()}
                  : Distribution{getColumnLanes(), getColumnStride(), getVector()};
}

LogicalResult FragmentAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t subgroups, int64_t rows) {
  if (subgroups < 1 || (rows != kPiece && rows != 2 * kPiece))
    return emitError() << "expects at least 1 subgroup and 8 or 16 rows, got " << subgroups << " and " << rows;
  return success();
}

Distribution FragmentAttr::distribute(int64_t dim) const {
  constexpr int64_t along = 4, unit = 2; // lanes along a piece's row, elements each
  return dim == 0 ? Distribution{kPiece * getSubgroups(), /*stride=*/along, /*unit=*/1, getRows() / kPiece}
                  : Distribution{along, /*stride=*/1, unit};
}

LogicalResult CooperativeAttr::verify(function_ref<InFlightDiagnostic()> emitError, MatrixUse, int64_t side,
                                      int64_t subgroups) {
  if (side < 1 || subgroups < 1)
    return emitError() << "expects a side and subgroups of at least 1";
  return success();
}

LogicalResult CooperativeAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                              function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != 2 || ShapedType::isDynamicShape(shape))
    return emitError() << "a tile has two static dimensions";
  if (shape[0] % (getSide() * getRowShares()) != 0 || shape[1] % getSide() != 0)
    return emitError() << shape[0] << " x " << shape[1] << " elements cannot be cut into pieces of " << getSide()
                       << " x " << getSide() << " for " << getRowShares() << " subgroups";
  return success();
}

AffineMap SwizzledAttr::getAffineMap() const { return AffineMap::getMultiDimIdentityMap(2, getContext()); }

bool SwizzledAttr::isIdentity() const { return false; }

LogicalResult SwizzledAttr::verifyLayout(ArrayRef<int64_t> shape, function_ref<InFlightDiagnostic()> emitError) const {
  constexpr int64_t group = 8;
  int64_t columns = shape.back();
  if (shape.size() != 2 || columns < group || !llvm::isPowerOf2_64(columns))
    return emitError() << "swizzles rows of 8, 16, 32, ... elements, got " << columns;
  int64_t rows = getPanelRows();
  if (rows < 0 || rows % group != 0 || (rows != 0 && shape[0] % rows != 0))
    return emitError() << "cuts " << shape[0] << " rows into panels of " << rows;
  return success();
}

SwizzledAttr tile::getSwizzle(Type memory) { return dyn_cast<SwizzledAttr>(cast<MemRefType>(memory).getLayout()); }

bool tile::haveLayouts(TypeRange types) {
  return llvm::all_of(types, [](Type type) {
    return !isa<RankedTensorType>(type) || getLayout(type) || getLayout<CooperativeAttr>(type);
  });
}

Distribution tile::getDistribution(RankedTensorType tile, int64_t dim) {
  return tile.getDimSize(dim) == 1 ? Distribution() : getLayout(tile).distribute(dim);
}

LaneShape tile::getLaneShape(RankedTensorType tile) {
  if (auto layout = getLayout<CooperativeAttr>(tile))
    return {tile.getDimSize(0) / (layout.getSide() * layout.getRowShares()), tile.getDimSize(1) / layout.getSide(), 1};
  Distribution rows = getDistribution(tile, 0), columns = getDistribution(tile, 1);
  return {tile.getDimSize(0) / rows.lanes, tile.getDimSize(1) / columns.width(), columns.unit};
}

bool tile::isShared(Type memory) { return gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(cast<MemRefType>(memory)); }

MemRefType tile::getSharedType(RankedTensorType tile, int64_t tiles, bool isPadded) {
  constexpr int64_t bitsOfPadding = 128;
  int64_t rows = tile.getDimSize(0), columns = tile.getDimSize(1);
  int64_t stride = columns + (isPadded ? bitsOfPadding / tile.getElementTypeBitWidth() : 0);
  return MemRefType::get({tiles * rows, columns}, tile.getElementType(),
                         StridedLayoutAttr::get(tile.getContext(), 0, {stride, 1}),
                         gpu::AddressSpaceAttr::get(tile.getContext(), gpu::AddressSpace::Workgroup));
}

int64_t tile::getRowStride(MemRefType memory) { return memory.getStridesAndOffset().first[0]; }

int64_t tile::getSharedBytes(MemRefType memory) {
  return memory.getDimSize(0) * getRowStride(memory) * memory.getElementTypeBitWidth() / 8;
}

//===-- Kernels and launches ------------------------------------------------------------------------------------===//

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> arguments, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                                  getFunctionTypeAttrName(result.name), buildType,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void FuncOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

LogicalResult FuncOp::verify() {
  if (isExternal())
    return emitOpError("expects a body: no kernel comes from elsewhere");
  if (static_cast<int64_t>(getWorkgroup()) < 1)
    return emitOpError() << "expects a workgroup of at least 1 lane";
  if (auto vector = static_cast<int64_t>(getVector()); !isVectorWidth(vector))
    return emitOpError() << "expects a vector of 1, 2, 4, 8 or 16 elements, got " << vector;
  if (getRowLanes().has_value() != (getMapping() == LaneMapping::Quads))
    return emitOpError("has 'row_lanes' if its mapping is quads, and only then");
  for (auto [name, lanes] : {std::pair("row_lanes", getRowLanes()), std::pair("subgroup", getSubgroup())})
    if (lanes && (*lanes == 0 || getWorkgroup() % *lanes != 0))
      return emitOpError() << "expects '" << name << "' to divide the workgroup of " << getWorkgroup() << ", got "
                           << *lanes;
  if (getFunctionType().getNumResults() != 0)
    return emitOpError("returns nothing: a kernel writes its results to memory");
  for (Type type : getFunctionType().getInputs())
    if (!isa<MemRefType, IndexType>(type))
      return emitOpError() << "expects matrices in memory and sizes as arguments, got " << type;
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto verifyKernel = [&](FlatSymbolRefAttr name, ArrayAttr grid, ArrayAttr sizes) -> LogicalResult {
    auto kernel = symbols.lookupNearestSymbolFrom(*this, name);
    if (!kernel)
      return emitOpError() << "names no kernel: " << name;
    if (auto func = dyn_cast<FuncOp>(kernel)) {
      size_t expected = getInputs().size() + getResults().size() + sizes.size();
      if (func.getNumArguments() != expected)
        return emitOpError() << "passes " << expected << " arguments, but the kernel takes " << func.getNumArguments();
    }
    if (grid.size() != 3 || !llvm::all_of(grid, llvm::IsaPred<GridAttr>))
      return emitOpError() << "expects a grid of three axes, got " << grid.size();
    return success();
  };
  if (failed(verifyKernel(getKernelAttr(), getGrid(), getSizes())))
    return failure();
  for (Attribute variant : getVariants().value_or(ArrayAttr::get(getContext(), {}))) {
    auto other = cast<VariantAttr>(variant);
    if (failed(verifyKernel(other.getKernel(), other.getGrid(), other.getSizes())))
      return failure();
  }
  if (getReuse().size() != getResults().size())
    return emitOpError("expects a 'reuse' entry for each result");
  for (int64_t input : getReuse())
    if (input < -1 || input >= static_cast<int64_t>(getInputs().size()))
      return emitOpError() << "'reuse' names no input: " << input;
  return success();
}

//===-- Tiles ---------------------------------------------------------------------------------------------------===//

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static LogicalResult verifyElement(Operation *op, Value memory, Value tile) {
  Type expected = cast<MemRefType>(memory.getType()).getElementType();
  if (typeOf(tile).getElementType() == expected)
    return success();
  return op->emitOpError() << "moves " << expected << " elements, but the tile is " << tile.getType();
}

/// Checks the attributes of matrices whose columns are packed or repeated.
template <typename Op> static LogicalResult verifyColumns(Op op) {
  int64_t bits = op.getPacked(), repeats = op.getRepeats();
  if (!llvm::is_contained({0, 1, 2, 4, 8}, bits) || (bits == 0 && op.getIsUnsigned()))
    return op.emitOpError() << "unpacks numbers of 1, 2, 4 or 8 bits, got " << bits;
  if (bits != 0 && !typeOf(op.getResult()).getElementType().isInteger(32))
    return op.emitOpError() << "unpacks words to i32, but the tile is " << op.getType();
  if (repeats < 1)
    return op.emitOpError() << "repeats each element at least once, got " << repeats;
  if (op.getTransposed() && (bits != 0 || repeats > 1))
    return op.emitOpError("transposes neither packed nor repeated elements");
  return success();
}

/// Checks `members`, with which a row of the matrix is several rows of the tile.
template <typename Op> static LogicalResult verifyMembers(Op op, bool hasOtherRows) {
  auto members = static_cast<int64_t>(op.getMembers());
  if (members < 1 || (members > 1 && static_cast<int64_t>(op.getApart()) < 1))
    return op.emitOpError() << "expects members at least a column apart, got " << members << " that are "
                            << op.getApart() << " apart";
  if (members > 1 && hasOtherRows)
    return op.emitOpError("has members where rows are the matrix's rows in their order, none of them cut or repeated");
  return success();
}

LogicalResult LoadOp::verify() {
  if (failed(verifyElement(*this, getMemory(), getResult())) || failed(verifyColumns(*this)) ||
      failed(verifyMembers(*this, getTransposed() || getPacked() != 0 || getRepeats() != 1 || getClamped())))
    return failure();
  if (SwizzledAttr layout = getSwizzle(getMemory().getType()); layout && layout.getPanelRows())
    return emitOpError() << "reads panels, as only warpgroup_dot can: " << getMemory().getType();
  if (getClamped() && (getTransposed() || getPacked() != 0))
    return emitOpError("begins before the first row neither transposed nor of packed elements");
  auto bits = static_cast<int64_t>(getPacked());
  if (getInPlace() && (bits == 0 || typeOf(getResult()).getDimSize(0) % (32 / bits) != 0))
    return emitOpError() << "with in_place needs a multiple of " << (bits ? 32 / bits : 32)
                         << " rows of packed integers, got " << getType();
  return success();
}

/// Fails unless `rows` has one number for each row of the tile.
static LogicalResult verifyRows(Operation *op, Value rows, Value tile) {
  if (typeOf(rows).getShape() == ArrayRef<int64_t>{typeOf(tile).getDimSize(0), 1})
    return success();
  return op->emitOpError() << "expects a row index for each row, got " << rows.getType() << " for " << tile.getType();
}

LogicalResult StoreOp::verify() {
  if (failed(verifyElement(*this, getMemory(), getValue())) || failed(verifyMembers(*this, getTo() != nullptr)))
    return failure();
  if (getSwizzle(getMemory().getType()) && !typeOf(getValue()).getElementType().isF32())
    return emitOpError() << "writes 16-bit elements to swizzled memory, as only copy can: " << getMemory().getType();
  return getTo() ? verifyRows(*this, getTo(), getValue()) : success();
}

LogicalResult StoreDigitsOp::verify() {
  int64_t packed = getPacked(), bits = getBits(), columns = typeOf(getNumbers()).getDimSize(1);
  if (packed != 2 && packed != 4 && packed != 8)
    return emitOpError() << "expects packed integers of 2, 4 or 8 bits, got " << packed;
  if (bits != 8 && bits != 16)
    return emitOpError() << "splits integers into digits of 8 or 16 bits, got " << bits;
  if (!getMemory().getType().getElementType().isInteger(32) || columns % (32 / packed) != 0 ||
      getMemory().getType().getDimSize(1) * 32 / bits != columns)
    return emitOpError() << "writes whole words of " << 32 / packed << " columns, " << 32 / bits
                         << " columns to an i32, got " << getNumbers().getType() << " and " << getMemory().getType();
  return success();
}

LogicalResult TurnIntegersOp::verify() {
  auto packed = static_cast<int64_t>(getPacked()), bits = static_cast<int64_t>(getBits());
  if (packed != 4 && packed != 8)
    return emitOpError() << "expects packed integers of 4 or 8 bits, got " << packed;
  if (bits != 8 && bits != 16)
    return emitOpError() << "turns them into integers of 8 or 16 bits, got " << bits;
  ArrayRef<int64_t> words = typeOf(getWords()).getShape(), result = getType().getShape();
  if (words[1] * bits != 32 * result[0] || words[0] * (32 / packed) != result[1])
    return emitOpError() << "turns rows of " << 32 / packed << " integers a word into columns of " << 32 / bits
                         << ", got " << getWords().getType() << " and " << getType();
  return success();
}

LogicalResult PairsOp::verify() {
  if (getDim() != 0 && getDim() != 1)
    return emitOpError() << "expects dim 0 or 1, got " << getDim();
  auto dim = static_cast<size_t>(getDim());
  SmallVector<int64_t> shape(typeOf(getTile()).getShape());
  bool isEven = shape[dim] % 2 == 0;
  shape[dim] /= 2;
  if (!isEven || getType().getShape() != ArrayRef(shape))
    return emitOpError() << "puts two elements of dim " << dim << " into a word, got " << getTile().getType() << " and "
                         << getType();
  return success();
}

static LogicalResult verifyMatrixRegisters(Operation *op, ArrayRef<uint64_t> numbers) {
  constexpr uint64_t count = 8;
  for (uint64_t number : numbers)
    if (number >= count)
      return op->emitOpError() << "names matrix register " << number << " of " << count;
  return success();
}

static LogicalResult verifyMatrixMove(Operation *op, uint64_t number, MemRefType memory) {
  constexpr int64_t rows = 16, columns = 16;
  bool hasRows = memory.isDynamicDim(0) || memory.getDimSize(0) >= rows;
  if (!hasRows || memory.getDimSize(1) < columns || memory.getElementTypeBitWidth() != 32)
    return op->emitOpError() << "moves " << rows << " x " << columns << " elements of f32 or i32, got " << memory;
  return verifyMatrixRegisters(op, number);
}

LogicalResult MatrixLoadOp::verify() { return verifyMatrixMove(*this, getNumber(), getMemory().getType()); }
LogicalResult MatrixStoreOp::verify() { return verifyMatrixMove(*this, getNumber(), getMemory().getType()); }
LogicalResult MatrixDotOp::verify() { return verifyMatrixRegisters(*this, {getSums(), getLhs(), getRhs()}); }

LogicalResult LookupOp::verify() {
  if (failed(verifyElement(*this, getMemory(), getResult())))
    return failure();
  MemRefType row = getMemory().getType();
  if (row.hasStaticShape() && row.getDimSize(0) == 1 && llvm::isPowerOf2_64(row.getDimSize(1)) &&
      typeOf(getNumbers()).getShape() == typeOf(getResult()).getShape())
    return success();
  return emitOpError() << "looks up numbers in a row of 2, 4, 8, ... elements, got " << getNumbers().getType()
                       << " and " << row << " for " << getType();
}

LogicalResult GatherOp::verify() {
  if (failed(verifyElement(*this, getMemory(), getResult())) || failed(verifyColumns(*this)))
    return failure();
  if (!getTransposed())
    return verifyRows(*this, getRows(), getResult());
  if (typeOf(getRows()).getShape() == ArrayRef<int64_t>{1, getType().getDimSize(1)})
    return success();
  return emitOpError() << "expects a row index for each column, got " << getRows().getType() << " for " << getType();
}

LogicalResult SharedOp::verify() {
  MemRefType type = getResult().getType();
  if (!type.hasStaticShape() || !isShared(type))
    return emitOpError() << "expects a matrix of known size in a workgroup's memory, got " << type;
  SwizzledAttr layout = getSwizzle(type);
  if (!layout)
    return success();
  // Tensor cores read f32 from panels only.
  bool isRounded = type.getElementType().isF32() && layout.getPanelRows() != 0;
  if (type.getElementTypeBitWidth() != 16 && !isRounded)
    return emitOpError() << "swizzles 16-bit elements, and f32 in panels, got " << type;
  int64_t panelColumns = 16 * SwizzledAttr::kPanelColumns / type.getElementTypeBitWidth();
  if (layout.getPanelRows() != 0 && type.getDimSize(1) % panelColumns != 0)
    return emitOpError() << "has panels of " << panelColumns << " columns, got " << type;
  return success();
}

LogicalResult CopyOp::verify() {
  MemRefType from = getMemory().getType(), to = getShared().getType();
  if (from.getElementType() != to.getElementType())
    return emitOpError() << "copies " << from.getElementType() << " elements to " << to;
  if (static_cast<int64_t>(getRows()) > to.getDimSize(0))
    return emitOpError() << "copies " << getRows() << " rows to " << to;
  SwizzledAttr layout = getSwizzle(to);
  if (int64_t panelRows = layout ? layout.getPanelRows() : 0; panelRows && panelRows != static_cast<int64_t>(getRows()))
    return emitOpError() << "copies " << getRows() << " rows to panels of " << panelRows << " rows";
  return verifyMembers(*this, /*hasOtherRows=*/false);
}

/// An mbarrier is 64 bits: a row of two i32.
static LogicalResult verifyBarriers(Operation *op, MemRefType type) {
  if (type.getElementType().isInteger(32) && type.getDimSize(1) == 2 && type.getLayout().isIdentity())
    return success();
  return op->emitOpError() << "expects mbarriers, two i32 each, got " << type;
}

LogicalResult MbarrierInitOp::verify() { return verifyBarriers(*this, getBarriers().getType()); }
LogicalResult MbarrierArriveOp::verify() { return verifyBarriers(*this, getBarriers().getType()); }
LogicalResult MbarrierWaitOp::verify() { return verifyBarriers(*this, getBarriers().getType()); }

LogicalResult ConvertLayoutOp::verify() {
  RankedTensorType from = typeOf(getInput()), to = typeOf(getResult());
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError() << "changes nothing but the layout, got " << from << " and " << to;
  if (!from.getEncoding() || !to.getEncoding())
    return emitOpError() << "expects a layout on both sides, got " << from << " and " << to;
  return success();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto before = getInput().getDefiningOp<ConvertLayoutOp>();
  if (!before)
    return {};
  getInputMutable().assign(before.getInput());
  return getResult();
}

LogicalResult DotOp::verify() {
  ArrayRef<int64_t> lhs = typeOf(getLhs()).getShape(), rhs = typeOf(getRhs()).getShape();
  ArrayRef<int64_t> result = typeOf(getResult()).getShape();
  int lhsRow = getTransposeLhs() ? 1 : 0, rhsColumn = getTransposeRhs() ? 0 : 1;
  if (typeOf(getLhs()).getElementType() != typeOf(getRhs()).getElementType())
    return emitOpError() << "multiplies elements of a single type, got " << getLhs().getType() << " and "
                         << getRhs().getType();
  auto bits = static_cast<int64_t>(getIntegers());
  bool isOfIntegers = getElementTypeOrSelf(getLhs()).isInteger(32);
  if (isOfIntegers ? bits != 8 && bits != 16 : bits != 0)
    return emitOpError() << "multiplies integers of 8 or 16 bits in i32, got " << bits << " bits in "
                         << getLhs().getType();
  if (isOfIntegers != getElementTypeOrSelf(getResult()).isInteger(32))
    return emitOpError() << "adds products of " << getLhs().getType() << " to " << (isOfIntegers ? "i32" : "f32")
                         << ", got " << getResult().getType();
  if (lhs[lhsRow] == result[0] && rhs[rhsColumn] == result[1] && lhs[1 - lhsRow] == rhs[1 - rhsColumn])
    return success();
  return emitOpError() << "cannot multiply " << getLhs().getType() << " and " << getRhs().getType() << " into "
                       << getResult().getType();
}

LogicalResult WarpgroupDotOp::verify() {
  ArrayRef<int64_t> result = typeOf(getResult()).getShape();
  // A turned operand has a row for each element of the contracted dimension.
  auto check = [&](TypedValue<MemRefType> memory, StringRef side, bool isTurned, int64_t extent) -> LogicalResult {
    MemRefType type = memory.getType();
    auto depth = static_cast<int64_t>(getDepth());
    int64_t down = isTurned ? depth : extent, across = isTurned ? extent : depth;
    if (type.getDimSize(1) != across || type.getDimSize(0) % down != 0)
      return emitOpError() << "expects " << side << " operands of " << down << "x" << across << ", got " << type;
    if (SwizzledAttr layout = getSwizzle(type); layout && layout.getPanelRows() == down)
      return success();
    return emitOpError() << "expects its " << side << " operand in panels of " << down << " rows, got " << type;
  };
  if (getElementTypeOrSelf(getLhs()) != getRhs().getType().getElementType())
    return emitOpError() << "multiplies elements of a single type, got " << getLhs().getType() << " and "
                         << getRhs().getType();
  auto memory = dyn_cast<TypedValue<MemRefType>>(getLhs());
  if (static_cast<bool>(memory) != static_cast<bool>(getLhsRow()) || (!memory && getTransposeLhs()))
    return emitOpError() << "expects a row of its left operand, and may transpose it, in shared memory alone";
  if (memory && failed(check(memory, "left", getTransposeLhs(), result[0])))
    return failure();
  const int64_t rows[] = {result[0], static_cast<int64_t>(getDepth())};
  if (!memory && cast<RankedTensorType>(getLhs().getType()).getShape() != ArrayRef(rows))
    return emitOpError() << "expects a left operand of " << rows[0] << "x" << rows[1] << ", got " << getLhs().getType();
  return check(getRhs(), "right", !getTransposeRhs(), result[1]);
}

LogicalResult WarpgroupWaitOp::verify() {
  if (static_cast<bool>(getSum()) != static_cast<bool>(getResult()) ||
      (getSum() && getSum().getType() != getResult().getType()))
    return emitOpError() << "has the sum that it is given as its result";
  return success();
}

LogicalResult ReduceOp::verify() {
  int64_t dim = getDim();
  if (dim != 0 && dim != 1)
    return emitOpError() << "expects dimension 0 or 1, got " << dim;
  ArrayRef<int64_t> input = typeOf(getInput()).getShape(), result = typeOf(getResult()).getShape();
  bool leavesRows = dim == 0 && result[0] > 1 && input[0] % result[0] == 0; // one for each subgroup of lanes
  if ((result[dim] == 1 || leavesRows) && result[1 - dim] == input[1 - dim])
    return success();
  return emitOpError() << "cannot reduce " << getInput().getType() << " along dimension " << dim << " to "
                       << getResult().getType();
}

LogicalResult ColumnsOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  auto from = static_cast<int64_t>(getFrom());
  if (input.getElementType() == result.getElementType() && input.getDimSize(0) == result.getDimSize(0) && from >= 0 &&
      from + result.getDimSize(1) <= input.getDimSize(1))
    return success();
  return emitOpError() << "cannot take " << result << " from column " << from << " of " << input;
}

LogicalResult SwapOp::verify() {
  if (typeOf(getInput()).getDimSize(1) % 2 == 0)
    return success();
  return emitOpError() << "expects pairs of columns, got " << getInput().getType();
}

LogicalResult BroadcastOp::verify() {
  for (auto [input, result] : llvm::zip(typeOf(getInput()).getShape(), typeOf(getResult()).getShape()))
    if (result % input != 0)
      return emitOpError() << "cannot repeat " << getInput().getType() << " over " << getResult().getType();
  return success();
}
