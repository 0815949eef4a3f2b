#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "dialects/Heddle/Limits.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::heddle;

/// Maximum elements of a matrix: kernels number them with 32 bits.
static constexpr int64_t kMostElements = int64_t(1) << 31;

int64_t heddle::chunkOf(int64_t extent, int64_t vector, int64_t limit) {
  int64_t best = vector;
  for (int64_t chunk = vector; chunk <= std::min(extent, limit); chunk += vector)
    if (extent % chunk == 0)
      best = chunk;
  return best;
}

bool Place::operator==(const Place &other) const {
  auto same = [](Value a, Value b) {
    if (a == b || !a || !b)
      return a == b;
    std::optional<int64_t> number = getConstantIntValue(a);
    return number && number == getConstantIntValue(b);
  };
  return rows == other.rows && columns == other.columns && members == other.members && apart == other.apart &&
         same(row, other.row) && same(column, other.column) && same(rowLimit, other.rowLimit) &&
         same(columnLimit, other.columnLimit);
}

/// Returns the type of the matrix that a kernel's result is computed on.
static RankedTensorType computedTypeOf(Value value) {
  Operation *op = value.getDefiningOp();
  return isMadeInMemory(op) ? getComputedType(op) : cast<RankedTensorType>(value.getType());
}

/// Returns true for seeds and steps, which are read one number at a time: their width does not restrict a tile's
/// vectors.
static bool isReadByNumber(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank() == 1 && llvm::all_of(value.getUses(), isReadElsewhere);
}

/// Returns true for packed numbers and scales. Not their own width, but the unpacked matrix's restricts a tile's
/// vectors.
static bool isUnpacked(Value value) {
  return !value.use_empty() && llvm::all_of(value.getUsers(), [](Operation *user) {
    return isa<DequantizeOp>(user) || (isa<arith::ExtFOp>(user) && isUnpacked(user->getResult(0)));
  });
}

/// Returns true for a tensor with a number for each part of a row. Its numbers, too, are read one at a time.
static bool isReadByPart(Value value) {
  if (cast<RankedTensorType>(value.getType()).getRank() != 2)
    return false;
  auto hasParts = [](Value other) { return cast<RankedTensorType>(other.getType()).getRank() == 3; };
  Block *block = value.getParentBlock();
  for (auto sum : block->getOps<SumOp>())
    if (sum.getColumns() && hasParts(sum.getInput()) && sum.getType() == value.getType())
      return true;
  for (auto delta : block->getOps<AttentionDeltaOp>())
    if (delta.getResult() == value)
      return true;
  return llvm::any_of(value.getUsers(),
                      [&](Operation *user) { return isa<BroadcastOp>(user) && hasParts(user->getResult(0)); });
}

FailureOr<Matrix> Matrix::of(RankedTensorType type) {
  if (type.getRank() == 1)
    return isColumn(type) ? Matrix{ShapedType::kDynamic, 1, getSizeName(type, 0)} : Matrix{1, type.getDimSize(0), {}};
  bool isMatrix = type.getRank() == 2 || type.getRank() == 3;
  if (!isMatrix || type.getNumDynamicDims() > (type.isDynamicDim(0) ? 1 : 0) ||
      (type.isDynamicDim(0) && getSizeName(type, 0).empty()))
    return failure();
  int64_t parts = type.getRank() == 3 ? type.getDimSize(1) : 1;
  return Matrix{type.getDimSize(0), parts * type.getShape().back(), getSizeName(type, 0), parts};
}

KernelEmitter::KernelEmitter(KernelOp kernel, const TargetProfile &profile, const llvm::StringMap<int64_t> &maxima,
                             TileChoices *choices)
    : kernel(kernel), profile(profile), maxima(maxima), choices(choices), b(kernel.getLoc(), kernel.getContext()),
      workgroup(profile.lanes) {
  for (int axis = 0; axis < 3; ++axis)
    grid.push_back(tile::GridAttr::get(kernel.getContext(), "", 1, 1));
}

FailureOr<tile::FuncOp> KernelEmitter::emit() {
  SmallVector<Type> arguments;
  SmallVector<int64_t> widths;
  auto addMatrix = [&](Value value) -> LogicalResult {
    auto type = cast<RankedTensorType>(value.getType());
    FailureOr<Matrix> matrix = Matrix::of(type);
    if (type.getElementType().isInteger(1))
      return fail() << "truth values are not stored, and the kernel takes or makes a " << type;
    if (mlir::failed(matrix) || !isTensorOfKernels(type))
      return fail() << "a kernel works on matrices with a static number of columns, not on " << type;
    if (maximumRows(*matrix) * matrix->columns > kMostElements)
      return fail() << "a matrix of up to " << maximumRows(*matrix) << " x " << matrix->columns
                    << " elements, and a kernel counts to 2^31; lower the maximum of its rows";
    arguments.push_back(MemRefType::get({matrix->rows, matrix->columns}, type.getElementType()));
    if (matrix->columns > 1 && !isReadByNumber(value) && !isReadByPart(value) && !isUnpacked(value))
      (matrix->parts > 1 ? cuts : widths).push_back(matrix->partColumns());
    return success();
  };
  Block &body = kernel.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getNumOperands() == 0)
    return fail() << "a kernel makes at least one result, and this one makes nothing";
  for (Value value : body.getArguments())
    if (mlir::failed(addMatrix(value)))
      return failure();
  for (Value value : yield.getOperands())
    if (mlir::failed(addMatrix(value)))
      return failure();
  // A register of several columns must not cross the places where columns are cut and joined.
  for (Operation &op : body) {
    if (auto project = dyn_cast<ProjectOp>(op)) // its bias is cut into the results' columns
      cuts.push_back(cast<RankedTensorType>(project.getResultTypes().front()).getDimSize(1));
    if (auto grad = dyn_cast<ProjectGradWeightsOp>(op)) // its biases' gradients are joined
      cuts.push_back(cast<RankedTensorType>(grad.getGradients().front().getType()).getDimSize(1));
    if (auto unpacked = dyn_cast<DequantizeOp>(op); unpacked && !isUnpacked(unpacked))
      cuts.push_back(unpacked.getResult().getType().getDimSize(1));
    if (auto fold = dyn_cast<FoldOp>(op)) // it reads parts of its input's columns
      cuts.push_back(cast<RankedTensorType>(fold.getResult().getType()).getDimSize(1));
    if (auto columns = dyn_cast<ColumnsOp>(op))
      cuts.append({static_cast<int64_t>(columns.getFrom()), cast<RankedTensorType>(columns.getType()).getDimSize(1)});
    if (auto join = dyn_cast<JoinOp>(op))
      for (Value part : join.getParts())
        cuts.push_back(cast<RankedTensorType>(part.getType()).getDimSize(1));
  }

  func = tile::FuncOp::create(b, kernel.getName(), b.getFunctionType(arguments, {}), profile.lanes, mapping, 1,
                              /*row_lanes=*/IntegerAttr(), /*subgroup=*/IntegerAttr(), /*producers=*/IntegerAttr(),
                              /*arg_attrs=*/ArrayAttr(), /*res_attrs=*/ArrayAttr());
  Block *entry = b.createBlock(&func.getBody(), {}, arguments, SmallVector<Location>(arguments.size(), b.getLoc()));
  for (auto [value, argument] : llvm::zip(body.getArguments(), entry->getArguments()))
    memory[value] = argument;
  b.setInsertionPointToStart(entry);
  widths.append(cuts);
  setVector(widths);

  KernelOpInterface anchor;
  for (Operation &op : body)
    if (auto candidate = dyn_cast<KernelOpInterface>(op))
      anchor = candidate;
  LogicalResult emitted = anchor ? anchor.emitKernel(*this) : emitElementwise();
  for (Value result : yield.getOperands())
    if (succeeded(emitted) && !failed && memoryOfResult(result).use_empty())
      fail() << "nothing writes the result of type " << result.getType();
  if (mlir::failed(emitted) || failed) {
    func.erase();
    return failure();
  }
  b.setInsertionPointToEnd(entry);
  tile::ReturnOp::create(b);
  func.setMapping(mapping);
  func.setWorkgroup(workgroup);
  func.setVector(vector);
  if (rowLanes)
    func.setRowLanes(*rowLanes);
  if (static_cast<int64_t>(func.getNumArguments()) > profile.limits.bindings) {
    int64_t count = func.getNumArguments();
    func.erase();
    return fail() << "the kernel needs " << count << " arguments, but " << profile.name << " passes at most "
                  << profile.limits.bindings;
  }
  if (profile.limits.loopTrips && trips > profile.limits.loopTrips) {
    func.erase();
    return fail() << "the kernel may run " << trips << " loop iterations in one invocation, but " << profile.name
                  << " ends loops silently after " << profile.limits.loopTrips
                  << "; lower the maximum that bounds the loop";
  }
  return func;
}

ArrayAttr KernelEmitter::getGrid() { return b.getArrayAttr(grid); }

ArrayAttr KernelEmitter::getSizes() {
  SmallVector<StringRef> names;
  for (auto &[name, value] : sizes)
    names.push_back(name);
  return b.getStrArrayAttr(names);
}

InFlightDiagnostic KernelEmitter::fail() {
  failed = true;
  return kernel.emitError() << "in kernel '" << kernel.getName() << "': ";
}

//===-- Decisions -----------------------------------------------------------------------------------------------===//

void KernelEmitter::setTensorTiles(int64_t count) {
  setSubgroups(count);
  setMapping(tile::LaneMapping::Tensor);
  parts = {.elements = 32, .areSums = profile.tensor.cooperative};
}

int64_t KernelEmitter::joinSubgroups(int64_t groups) {
  int64_t count = profile.rows.subgroups;
  while (count > 1 && groups / count < profile.processors)
    count /= 2;
  setSubgroups(count);
  return count;
}

void KernelEmitter::setBlocks() {
  workgroup = profile.blocks.lanes;
  setMapping(tile::LaneMapping::Blocks);
  parts = {.elements = 16, .alongRow = profile.blocks.rowLanes};
}

void KernelEmitter::setSubgroups(int64_t count) { workgroup = count * profile.lanes; }

void KernelEmitter::setQuads(int64_t lanes) {
  setMapping(tile::LaneMapping::Quads);
  rowLanes = lanes;
}

bool KernelEmitter::usesTensorCores(Operation *product, Value operand) const {
  return profile.tensor.subgroups > 0 && hasTensorOperands(product, operand);
}

bool KernelEmitter::isElementwiseAround(Operation *anchor) {
  return llvm::all_of(kernel.getBody().front().without_terminator(), [&](Operation &op) {
    return &op == anchor || OpTrait::hasElementwiseMappableTraits(&op) || isa<IotaOp, FillOp>(op);
  });
}

bool KernelEmitter::readsHalves() {
  return llvm::any_of(kernel.getBody().front().getArguments(), [](Value value) {
    return isTensorOperand(value.getType()) && !llvm::all_of(value.getUsers(), llvm::IsaPred<AdamOp>);
  });
}

void KernelEmitter::setVector(ArrayRef<int64_t> widths) {
  vector = profile.vector;
  for (int64_t width : widths)
    vector = std::gcd(vector, width);
}

void KernelEmitter::setWholeVector() {
  if (profile.masksTails)
    setVector(cuts);
}

bool KernelEmitter::setMaskedVector() {
  bool isNarrow = llvm::any_of(func.getArgumentTypes(), [](Type type) {
    auto matrix = dyn_cast<MemRefType>(type);
    return matrix && matrix.getDimSize(1) > 1 && matrix.getElementTypeBitWidth() < 32;
  });
  if (!profile.masksTails || isNarrow)
    return false;
  setVector(cuts);
  return true;
}

void KernelEmitter::narrowVector(int64_t width, int64_t fewest) {
  while (vector > fewest && width <= getLanes() * vector / 2)
    vector /= 2;
}

Value KernelEmitter::setGrid(int axis, int64_t extent, StringRef size, int64_t tile, int64_t repeat) {
  int64_t maximum = size.empty() ? extent : maximumOf(size);
  int64_t groups = llvm::divideCeil(maximum, tile) * repeat;
  constexpr int lastAxis = 2;
  gpu::Dimension dimensions[] = {gpu::Dimension::x, gpu::Dimension::y, gpu::Dimension::z};
  auto countAlong = [&](int64_t count) { return tile::GridAttr::get(b.getContext(), "", 1, count); };
  bool hasLast = grid[lastAxis] == countAlong(1);
  if (axis == lastAxis && !hasLast)
    fail() << "its workgroups need more than three axes on " << profile.name;
  if (int64_t parts = llvm::divideCeil(groups, profile.limits.workgroups);
      parts > 1 && size.empty() && axis != lastAxis) {
    while (parts <= profile.limits.workgroups && groups % parts != 0)
      ++parts;
    if (parts <= profile.limits.workgroups && hasLast) {
      grid[axis] = countAlong(groups / parts), grid[lastAxis] = countAlong(parts);
      Value part = gpu::BlockIdOp::create(b, dimensions[lastAxis]), own = gpu::BlockIdOp::create(b, dimensions[axis]);
      return add(mul(part, groups / parts), own);
    }
  }
  if (groups > profile.limits.workgroups)
    fail() << "up to " << groups << " workgroups along axis " << axis << ", but " << profile.name << " starts at most "
           << profile.limits.workgroups << (size.empty() ? "" : "; lower the maximum of size ") << size;
  grid[axis] = size.empty() ? countAlong(groups) : tile::GridAttr::get(b.getContext(), size, tile, repeat);
  return gpu::BlockIdOp::create(b, dimensions[axis]);
}

//===-- Values of the kernel -----------------------------------------------------------------------------------===//

Value KernelEmitter::evaluate(Value value, const Place &place, Padding padding) {
  Region *here = b.getInsertionBlock()->getParent();
  for (auto &[known, at, block, tile] : tiles)
    if (known == value && at == place && block->getParent()->isAncestor(here))
      return tile;
  if (isInMemory(value)) {
    Value tile = load(memoryOf(value), place, padding);
    tiles.emplace_back(value, place, b.getInsertionBlock(), tile);
    return tile;
  }
  Operation *op = value.getDefiningOp();
  SmallVector<Value> results = compute(op, place);
  if (results.empty()) { // an error has been emitted; continue with anything of the right type
    Type element = getElementTypeOrSelf(value.getType());
    return tile::SplatOp::create(b, tileType(place.rows, place.columns, element),
                                 arith::ConstantOp::create(b, b.getZeroAttr(element)));
  }
  for (auto [result, tile] : llvm::zip(op->getResults(), results))
    tiles.emplace_back(result, place, b.getInsertionBlock(), tile);
  return results[cast<OpResult>(value).getResultNumber()];
}

SmallVector<Value> KernelEmitter::compute(Operation *op, const Place &place) {
  if (auto special = dyn_cast<TileOpInterface>(op))
    return special.emitTile(*this, place);
  if (!OpTrait::hasElementwiseMappableTraits(op)) {
    fail() << "'" << op->getName() << "' cannot be computed tile by tile";
    return {};
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(evaluate(operand, place));
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(tileType(place.rows, place.columns, getElementTypeOrSelf(type)));
  OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
  return llvm::to_vector_of<Value>(b.create(state)->getResults());
}

void KernelEmitter::define(Value result, const Place &place, Value tile) {
  tiles.emplace_back(result, place, b.getInsertionBlock(), tile);
}

void KernelEmitter::store(Value value, Value tile, const Place &place) {
  if (Value matrix = memoryOfResult(value))
    tile::StoreOp::create(b, tile, matrix, place.row, place.column, place.rowLimit, place.columnLimit, /*to=*/Value(),
                          place.members, place.apart);
}

bool KernelEmitter::hasResultOn(RankedTensorType type) {
  return llvm::any_of(kernel.getBody().front().getTerminator()->getOperands(),
                      [&](Value value) { return computedTypeOf(value).getShape() == type.getShape(); });
}

LogicalResult KernelEmitter::finish(const Matrix &matrix, const Place &place) {
  // A lane that holds many sums has too few registers for as many elements of each operand of the epilogue.
  constexpr size_t longEpilogue = 8, manyResults = 2; // ops (their values live at once); results of an update
  constexpr int64_t fewElements = 16;
  Block &body = kernel.getBody().front();
  constexpr size_t opsOfNorm = 4; // whose numbers of rows and columns live besides
  size_t ops = body.getOperations().size() + (opsOfNorm - 1) * llvm::range_size(body.getOps<LayerNormApplyOp>());
  size_t results = body.getTerminator()->getNumOperands() - rowSums.size();
  if (!memoryOfChosen.empty()) { // the others have ops of their own
    ops = ops * memoryOfChosen.size() / results;
    results = memoryOfChosen.size();
  }
  bool isLong = ops > longEpilogue || results > manyResults ||
                !body.getOps<DropoutOp>().empty(); // whose random numbers need registers, too
  int64_t elements = isLong ? std::min(parts.elements, fewElements) : parts.elements;
  int64_t count = elements ? place.rows * place.columns / (workgroup * elements) : 1;
  int64_t columns = std::max(count > 1 ? place.columns / count : place.columns, parts.alongRow * vector);
  if (partColumns)
    columns = std::gcd(place.columns, *partColumns);
  for (int64_t from = 0; from < place.columns; from += columns) {
    Place part = place;
    part.column = add(place.column, index(from));
    part.columns = columns;
    if (columns < place.columns)
      definePart(place, part, from);
    if (mlir::failed(finishPart(matrix, part)))
      return failure();
  }
  return success();
}

LogicalResult KernelEmitter::finish(RankedTensorType type, const Place &place) {
  finished = type;
  LogicalResult done = finish(*Matrix::of(type), place);
  finished = {};
  return done;
}

void KernelEmitter::definePart(const Place &whole, const Place &part, int64_t from) {
  SmallVector<std::tuple<Value, Place, Block *, Value>> cut;
  for (auto [value, at, block, tile] : tiles)
    if (at == whole && block == b.getInsertionBlock() && !(parts.areSums && isInMemory(value))) {
      RankedTensorType type =
          tileType(part.rows, part.columns, cast<RankedTensorType>(tile.getType()).getElementType());
      cut.emplace_back(value, part, block, tile::ColumnsOp::create(b, type, tile, from));
    }
  llvm::append_range(tiles, cut);
}

LogicalResult KernelEmitter::finishPart(const Matrix &matrix, const Place &place) {
  SmallVector<Destination> destinations;
  for (Value value : kernel.getBody().front().getTerminator()->getOperands())
    if ((memoryOfChosen.empty() || memoryOfChosen.contains(value)) && *Matrix::of(computedTypeOf(value)) == matrix &&
        (!finished || computedTypeOf(value).getShape() == finished.getShape()))
      findDestinations({value, memoryOfResult(value), {}}, destinations);
  // All tiles are computed before the first is stored, because a result may take over an operand's memory.
  SmallVector<std::tuple<Value, Place, Value>> tiles;
  for (const Destination &to : destinations) {
    Place part = place;
    if (int64_t columns = Matrix::of(cast<RankedTensorType>(to.value.getType()))->columns; columns < matrix.columns)
      part.columnLimit = index(columns); // a narrower part of joined columns
    Value tile = evaluate(to.value, part), rows;
    if (to.indices)
      rows = evaluate(to.indices, {part.row, index(0), part.rows, 1, part.rowLimit, {}});
    if (to.firstRow) {
      part.row = add(part.row, to.firstRow);
      part.rowLimit = part.rowLimit ? add(part.rowLimit, to.firstRow) : Value();
    }
    part.column = add(part.column, index(to.firstColumn));
    part.columnLimit = part.columnLimit ? add(part.columnLimit, index(to.firstColumn)) : Value();
    tiles.emplace_back(tile, part, rows);
  }
  SmallVector<std::pair<Value, const RowSums *>> sums;
  for (const RowSums &each : rowSums)
    if (Value input = PartialSumsOp(each.op).getInput(); *Matrix::of(cast<RankedTensorType>(input.getType())) == matrix)
      sums.emplace_back(insideRows(evaluate(input, place), place), &each);
  for (auto [to, stored] : llvm::zip_equal(destinations, tiles)) {
    auto &[tile, at, rows] = stored;
    tile::StoreOp::create(b, tile, to.memory, at.row, at.column, at.rowLimit, at.columnLimit, rows, at.members,
                          at.apart);
  }
  for (auto [tile, to] : sums) {
    Value sum = tile::ReduceOp::create(b, tileType(getSubgroups(), place.columns), tile::Combine::Sum, tile, /*dim=*/0);
    Value column = to->from ? b.createOrFold<arith::SubIOp>(place.column, to->from) : place.column;
    tile::StoreOp::create(b, sum, to->memory, to->row, column);
  }
  return success(!failed);
}

void KernelEmitter::findDestinations(const Destination &whole, SmallVectorImpl<Destination> &parts) {
  Operation *op = whole.value.getDefiningOp();
  if (auto insert = dyn_cast_or_null<InsertRowsOp>(op)) {
    findDestinations({insert.getRows(), whole.memory, loadIndex(insert.getStart(), index(0)), whole.firstColumn},
                     parts);
  } else if (auto scatter = dyn_cast_or_null<ScatterRowsOp>(op)) {
    parts.push_back({scatter.getRows(), whole.memory, {}, 0, scatter.getIndices()});
  } else if (auto join = dyn_cast_or_null<JoinOp>(op)) {
    Destination part = whole;
    for (Value value : join.getParts()) {
      part.value = value;
      findDestinations(part, parts);
      part.firstColumn += cast<RankedTensorType>(value.getType()).getDimSize(1);
    }
  } else {
    parts.push_back(whole);
  }
}

//===-- Elementwise kernels -------------------------------------------------------------------------------------===//

LogicalResult KernelEmitter::emitElementwise() {
  Matrix matrix = *Matrix::of(computedTypeOf(kernel.getBody().front().getTerminator()->getOperand(0)));
  int64_t rows, columns;
  if (matrix.columns == 1) {
    setMapping(tile::LaneMapping::Rows);
    rows = matrix.rows == 1 ? 1 : getLanes() * joinSubgroups(llvm::divideCeil(maximumRows(matrix), getLanes()));
    columns = 1;
  } else {
    setMapping(tile::LaneMapping::Columns);
    if (matrix.parts == 1 && setMaskedVector())
      narrowVector(matrix.columns);
    int64_t run = getLanes() * getVector();
    // A long kernel keeps many values of each element alive, so a lane's registers suffice for fewer elements.
    constexpr int64_t mostOps = 24;
    int64_t ops = std::max(mostOps, static_cast<int64_t>(kernel.getBody().front().getOperations().size()));
    rows = std::max<int64_t>(1, profile.elementwise.rows * mostOps / ops);
    rows = matrix.isDynamic() ? rows : std::min(rows, matrix.rows);
    columns = run * std::min<int64_t>(profile.elementwise.runs, llvm::divideCeil(matrix.partColumns(), run));
    int64_t subgroups = joinSubgroups(llvm::divideCeil(maximumRows(matrix), rows) *
                                      llvm::divideCeil(matrix.partColumns(), columns) * matrix.parts);
    (matrix.rows == 1 ? columns : rows) *= subgroups;
    rows = std::max(rows, fewestRows(matrix, matrix.rows == 1 ? 1 : subgroups));
  }
  Value column = mul(setGrid(0, matrix.partColumns(), {}, columns), columns);
  Value row = mul(setGrid(1, matrix.rows, matrix.size, rows), rows);
  rowGrid = matrix.rows == 1 ? RowGrid{0, columns} : RowGrid{1, rows};
  Place place{row, column, rows, columns, {}, {}};
  if (matrix.isDynamic() || matrix.rows % rows != 0)
    place.rowLimit = rowsOf(matrix);
  if (matrix.partColumns() % columns != 0)
    place.columnLimit = index(matrix.partColumns());
  if (matrix.parts > 1) {
    place.part = setGrid(2, matrix.parts, {}, 1);
    Value first = mul(place.part, matrix.partColumns());
    place.column = add(place.column, first);
    place.columnLimit = place.columnLimit ? add(place.columnLimit, first) : Value();
  }
  if (profile.registers == 0 || rows == 1)
    return finish(matrix, place);
  // A thread loops over its rows. The code handles a single row, and rows that do not exist are skipped.
  LogicalResult finished = success();
  Value end = b.createOrFold<arith::MinSIOp>(add(row, index(rows)), rowsOf(matrix));
  loop(row, end, 1, rows, [&](Value each) {
    place.row = each, place.rows = 1, place.rowLimit = {};
    finished = finish(matrix, place);
  });
  return finished;
}
