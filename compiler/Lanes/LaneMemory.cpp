// Lowers loads, stores and gathers of tiles to one lane.
#include "compiler/Lanes/Lanes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <array>
#include <numeric>

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// An index clamped to a limit, and the condition that the index asked for is below that limit; null: it always is. A
/// run of columns that a limit cuts has a condition per element. `shift` is the offset of the row's columns
/// (MemberPlace).
struct Bounded {
  Value index, inside, shift = {};
};

/// The last index below `limit` that is a multiple of `unit`; 0 for a limit of 0, where no element counts.
Value lastIndex(LaneBuilder &b, Value limit, int64_t unit) {
  Value last = b.createOrFold<arith::MaxSIOp>(b.add(limit, -1), b.index(0));
  if (unit == 1)
    return last;
  return b.createOrFold<arith::SubIOp>(last, b.createOrFold<arith::RemUIOp>(last, b.index(unit)));
}

Bounded bound(LaneBuilder &b, Value index, Value limit, Value last) {
  if (!limit)
    return {index, {}};
  return {b.createOrFold<arith::MinSIOp>(index, last), b.less(index, limit)};
}

/// Returns true if a limit may cut a run: the limit is no multiple of the run's length, or unknown.
bool cutsRuns(Value limit, int64_t vector) {
  std::optional<int64_t> constant = getConstantIntValue(limit);
  return vector > 1 && (!constant || *constant % vector != 0);
}

/// The matrix that is read. A word may hold several packed elements, and an element may count for several columns.
struct Source {
  Value memory;
  int64_t bits = 32; // of an element; if fewer than 32, a word holds several elements
  bool isUnsigned = false;
  bool inPlace = false; // as `in_place` of tile.load
  int64_t repeats = 1;  // columns that an element counts for
  int64_t together = 1; // this many consecutive rows of a lane begin at a multiple of it

  Source(Value memory) : memory(memory) {}
  template <typename Op> static Source of(Op op) {
    Source source(op.getMemory());
    if (op.getPacked() != 0)
      source.bits = op.getPacked();
    source.isUnsigned = op.getIsUnsigned();
    source.repeats = op.getRepeats();
    return source;
  }
  int64_t ofWord() const { return 32 / bits; }
};

/// Returns true if one instruction can move a register of neighbouring columns: every row starts at a multiple of the
/// register's length, and the columns share one repeated element, or each has its own.
bool movesRuns(const Source &source, int64_t vector) {
  int64_t columns = cast<MemRefType>(source.memory.getType()).getDimSize(1) * source.repeats;
  return vector > 1 && columns % vector == 0 && (source.repeats == 1 || source.repeats % vector == 0);
}

/// Returns true if a CPU thread moves whole runs although the matrix's width is no multiple of them. It masks the
/// elements past a limit.
bool masksRuns(const Lanes &lanes, const Source &source, int64_t vector) {
  Type element = cast<MemRefType>(source.memory.getType()).getElementType();
  return lanes.count() == 1 && vector > 1 && source.repeats == 1 && element.getIntOrFloatBitWidth() == 32 &&
         !movesRuns(source, vector);
}

/// The mask of a register's elements that are below the limit; the register begins at `column`.
Value maskOf(LaneBuilder &b, VectorType type, Value column, Value limit) {
  Value count = b.createOrFold<arith::SubIOp>(limit, column);
  auto numbers = VectorType::get(type.getShape(), b.getI32Type());
  SmallVector<int32_t> ownNumbers = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(type.getNumElements())));
  Value own = arith::ConstantOp::create(b, DenseElementsAttr::get(numbers, ArrayRef(ownNumbers)));
  return b.less(own, b.splat(numbers, arith::IndexCastOp::create(b, b.getI32Type(), count)));
}

/// Reads a register or a single element of type `type` that begins at a row and column of the memory.
Value readElements(LaneBuilder &b, Type type, const Source &source, Value row, Value column, Value mask = {}) {
  auto vector = dyn_cast<VectorType>(type);
  bool isRepeated = source.repeats > 1;
  std::array<Value, 2> at{row, isRepeated ? b.createOrFold<arith::DivUIOp>(column, b.index(source.repeats)) : column};
  if (mask)
    return vector::MaskedLoadOp::create(b, vector, source.memory, at, mask, b.constant(vector, 0));
  if (vector && !isRepeated)
    return vector::LoadOp::create(b, vector, source.memory, at);
  Value element = memref::LoadOp::create(b, source.memory, at);
  return vector ? b.splat(vector, element) : element;
}

/// Returns element `number` of the words where it lies, as `in_place` of tile.load describes.
Value maskInPlace(LaneBuilder &b, const Source &source, Value words, int64_t number) {
  auto constant = [&](uint32_t value) {
    Type type = words.getType();
    auto attribute = b.getI32IntegerAttr(static_cast<int32_t>(value));
    auto vector = dyn_cast<VectorType>(type);
    return arith::ConstantOp::create(b, vector ? TypedAttr(DenseElementsAttr::get(vector, attribute)) : attribute);
  };
  if (!source.isUnsigned) {
    uint32_t signs = 0; // of all numbers but the last
    for (int64_t i = 0; i + 1 < source.ofWord(); ++i)
      signs |= 1u << (source.bits * (i + 1) - 1);
    words = arith::XOrIOp::create(b, words, constant(signs));
  }
  return arith::AndIOp::create(b, words, constant(((1u << source.bits) - 1) << (source.bits * number)));
}

/// Returns element `number` of the words, counted from the bit `first`, or from the lowest bit if `first` is null. A
/// signed number is shifted to the top of its word and back, which extends its sign.
Value unpack(LaneBuilder &b, const Source &source, Value words, Value first, int64_t number) {
  Type type = words.getType();
  auto constant = [&](int64_t value) { return b.constant(type, static_cast<double>(value)); };
  if (first)
    words = arith::ShRUIOp::create(b, words, isa<VectorType>(type) ? b.splat(type, first) : first);
  if (source.isUnsigned) {
    if (number > 0)
      words = arith::ShRUIOp::create(b, words, constant(source.bits * number));
    bool isTop = !first && source.bits * (number + 1) == 32;
    return isTop ? words : arith::AndIOp::create(b, words, constant((1 << source.bits) - 1)).getResult();
  }
  if (int64_t up = 32 - source.bits * (number + 1))
    words = arith::ShLIOp::create(b, words, constant(up));
  return arith::ShRSIOp::create(b, words, constant(32 - source.bits));
}

/// Reads the registers of a tile; `rows` are the lane's rows of the matrix.
SmallVector<Value> readRows(LaneBuilder &b, const Lanes &lanes, RankedTensorType tile, const Source &source,
                            ArrayRef<Bounded> rows, const LanePlace &place, Value columnLimit, bool anyPadding) {
  tile::LaneShape shape = tile::getLaneShape(tile);
  Type type = getRegisterType(tile);
  bool masks = masksRuns(lanes, source, shape.vector), runs = masks || movesRuns(source, shape.vector);
  int64_t unit = runs ? shape.vector : 1, pieces = shape.vector / unit;

  // A piece is what one load reads: a whole register, or one element of it.
  Value last = columnLimit ? lastIndex(b, columnLimit, unit) : Value();
  SmallVector<Bounded> columns;
  for (int64_t run = 0; run < shape.runs; ++run)
    for (int64_t piece = 0; piece < pieces; ++piece) {
      if (masks && columnLimit) {
        Value column = place.column(b, run);
        columns.push_back({column, maskOf(b, cast<VectorType>(type), column, columnLimit)});
        continue;
      }
      Bounded column = bound(b, place.column(b, run, piece), columnLimit, last);
      if (columnLimit && runs && cutsRuns(columnLimit, unit)) {
        Type indices = VectorType::get({unit}, b.getIndexType());
        SmallVector<Value> elements;
        for (int64_t element = 0; element < unit; ++element)
          elements.push_back(place.column(b, run, element));
        column.inside = b.less(b.assemble(indices, elements), b.splat(indices, columnLimit));
      }
      columns.push_back(column);
    }

  Type pieceType = runs ? type : tile.getElementType();
  Value zero = anyPadding ? Value() : b.constant(pieceType, 0);
  SmallVector<Value> registers, parts, words(columns.size());
  Value memoryRow, first; // for packed elements: the row of words, and the first bit to read there; null: bit 0
  for (auto [i, row] : llvm::enumerate(rows))
    for (auto [j, column] : llvm::enumerate(columns)) {
      auto number = static_cast<int64_t>(i) % source.together;
      Value part, mask = masks ? column.inside : Value();
      if (source.bits == 32) {
        Value at = MemberPlace{row.index, row.shift}.column(b, column.index);
        part = readElements(b, pieceType, source, row.index, at, mask);
      } else {
        if (number == 0 && j == 0) {
          Value ofWord = b.index(source.ofWord());
          memoryRow = b.createOrFold<arith::DivUIOp>(row.index, ofWord);
          if (source.together < source.ofWord()) {
            Value bit =
                b.createOrFold<arith::MulIOp>(b.createOrFold<arith::RemUIOp>(row.index, ofWord), b.index(source.bits));
            first = arith::IndexCastOp::create(b, b.getI32Type(), bit);
          }
        }
        if (number == 0)
          words[j] = readElements(b, pieceType, source, memoryRow, column.index, mask);
        part = source.inPlace && number + 1 < source.ofWord() ? maskInPlace(b, source, words[j], number)
                                                              : unpack(b, source, words[j], first, number);
      }
      Value inside = anyPadding ? Value() : mask ? row.inside : b.both(row.inside, column.inside);
      parts.push_back(inside ? arith::SelectOp::create(b, inside, part, zero).getResult() : part);
      if (static_cast<int64_t>(parts.size()) == pieces) {
        registers.push_back(runs ? parts.front() : b.assemble(type, parts));
        parts.clear();
      }
    }
  return registers;
}

SmallVector<Value> readPlain(LaneBuilder &b, const Lanes &lanes, tile::LoadOp op, RankedTensorType tile, Value firstRow,
                             Value firstColumn) {
  LanePlace place(b, lanes, tile, firstRow, firstColumn);
  Value limit = op.getRowLimit(), last = limit ? lastIndex(b, limit, 1) : Value();
  SmallVector<Bounded> rows;
  for (int64_t i = 0; i < tile::getLaneShape(tile).rows; ++i) {
    rows.push_back(bound(b, place.row(b, i), limit, last));
    MemberPlace member = MemberPlace::of(b, op, rows.back().index);
    rows.back().index = member.row, rows.back().shift = member.shift;
    if (op.getClamped())
      rows.back().index = b.createOrFold<arith::MaxSIOp>(rows.back().index, b.index(0));
  }
  Source source = Source::of(op);
  if (tile::getDistribution(tile, 0).lanes == 1)
    source.together = std::gcd(source.ofWord(), tile.getDimSize(0));
  source.inPlace = op.getInPlace();
  return readRows(b, lanes, tile, source, rows, place, op.getColumnLimit(), op.getAnyPadding());
}

/// Returns true if a CPU thread can read squares of the matrix: vectors from as many rows as a vector has elements.
bool movesSquares(const Lanes &lanes, Value memory, const tile::LaneShape &shape) {
  return lanes.count() == 1 && shape.vector >= 4 && shape.rows % shape.vector == 0 &&
         (movesRuns(memory, shape.vector) || masksRuns(lanes, memory, shape.vector));
}

/// Reads squares of the matrix and transposes them in registers. `zero` is null if elements past the limits may have
/// any value.
SmallVector<Value> readSquares(LaneBuilder &b, tile::LoadOp op, RankedTensorType tile, ArrayRef<Bounded> memoryRows,
                               const LanePlace &place, Value zero) {
  tile::LaneShape shape = tile::getLaneShape(tile);
  auto type = cast<VectorType>(getRegisterType(tile));
  SmallVector<Value> registers(shape.count());
  for (int64_t run = 0; run < shape.runs; ++run)
    for (int64_t first = 0; first < shape.rows; first += shape.vector) {
      SmallVector<Value> rows;
      Value column = place.row(b, first), mask;
      if (Value limit = op.getColumnLimit())
        mask = maskOf(b, type, column, limit);
      for (const Bounded &row : memoryRows.slice(run * shape.vector, shape.vector)) {
        Value part = readElements(b, type, op.getMemory(), row.index, column, mask);
        Value inside = zero ? row.inside : Value();
        rows.push_back(inside ? arith::SelectOp::create(b, inside, part, b.splat(type, zero)).getResult() : part);
      }
      for (auto [i, column] : llvm::enumerate(transposeSquare(b, rows)))
        registers[(first + static_cast<int64_t>(i)) * shape.runs + run] = column;
    }
  return registers;
}

/// Rows of the tile are columns of the matrix: neighbours in a register lie a row apart in memory.
SmallVector<Value> readTransposed(LaneBuilder &b, const Lanes &lanes, tile::LoadOp op, RankedTensorType tile,
                                  Value firstRow, Value firstColumn) {
  tile::LaneShape shape = tile::getLaneShape(tile);
  LanePlace place(b, lanes, tile, firstColumn, firstRow);
  Value rowLimit = op.getRowLimit(), columnLimit = op.getColumnLimit();
  Value lastRow = rowLimit ? lastIndex(b, rowLimit, 1) : Value();
  Value lastColumn = columnLimit ? lastIndex(b, columnLimit, 1) : Value();
  SmallVector<Bounded> memoryRows;
  for (int64_t run = 0; run < shape.runs; ++run)
    for (int64_t element = 0; element < shape.vector; ++element)
      memoryRows.push_back(bound(b, place.column(b, run, element), rowLimit, lastRow));

  Value zero = op.getAnyPadding() ? Value() : b.constant(tile.getElementType(), 0);
  bool masks = !columnLimit || tile.getElementTypeBitWidth() == 32;
  if (masks && movesSquares(lanes, op.getMemory(), shape))
    return readSquares(b, op, tile, memoryRows, place, zero);
  SmallVector<Value> registers, parts;
  for (int64_t i = 0; i < shape.rows; ++i) {
    Bounded column = bound(b, place.row(b, i), columnLimit, lastColumn);
    for (const Bounded &row : memoryRows) {
      Value part = memref::LoadOp::create(b, op.getMemory(), ValueRange{row.index, column.index});
      Value inside = zero ? b.both(row.inside, column.inside) : Value();
      parts.push_back(inside ? arith::SelectOp::create(b, inside, part, zero).getResult() : part);
      if (static_cast<int64_t>(parts.size()) == shape.vector) {
        registers.push_back(b.assemble(getRegisterType(tile), parts));
        parts.clear();
      }
    }
  }
  return registers;
}

/// Reads register `number` of a tile that every lane holds whole.
Value readRegister(LaneBuilder &b, const Lanes &lanes, tile::LoadOp op, Value number) {
  RankedTensorType tile = op.getType();
  tile::LaneShape shape = tile::getLaneShape(tile);
  Value runs = b.index(shape.runs);
  Value i = b.createOrFold<arith::DivUIOp>(number, runs), run = b.createOrFold<arith::RemUIOp>(number, runs);
  Value j = b.createOrFold<arith::MulIOp>(run, b.index(shape.vector));
  if (op.getTransposed())
    std::swap(i, j);
  Value row = b.createOrFold<arith::AddIOp>(op.getRow(), i), column = b.createOrFold<arith::AddIOp>(op.getColumn(), j);
  // The register is read as a tile of its own.
  auto part = RankedTensorType::get({1, shape.vector}, tile.getElementType(), tile.getEncoding());
  if (op.getTransposed())
    return readTransposed(b, lanes, op, part, row, column).front();
  return readPlain(b, lanes, op, part, row, column).front();
}

/// Every lane needs the whole tile. Lane l reads registers l, l + lanes, ... and shuffles hand them to the others. A
/// kernel's control flow is the same in all lanes, so all of them take part.
SmallVector<Value> readShared(LaneBuilder &b, const Lanes &lanes, tile::LoadOp op) {
  RankedTensorType tile = op.getType();
  int64_t count = tile::getLaneShape(tile).count();
  SmallVector<Value> registers;
  while (static_cast<int64_t>(registers.size()) < count) {
    int64_t first = registers.size(), share = std::min(lanes.count(), count - first);
    Value mine = b.createOrFold<arith::MinUIOp>(lanes.number(), b.index(share - 1));
    Value value = readRegister(b, lanes, op, b.add(mine, first));
    for (int64_t lane = 0; lane < share; ++lane)
      registers.push_back(gpu::ShuffleOp::create(b, value, static_cast<int32_t>(lane),
                                                 static_cast<int32_t>(lanes.count()), gpu::ShuffleMode::IDX)
                              .getShuffleResult());
  }
  return registers;
}

Lowered lowerLoad(LaneBuilder &b, const Lanes &lanes, tile::LoadOp op, RegistersOf<tile::LoadOp>) {
  RankedTensorType tile = op.getType();
  bool whole = tile::getDistribution(tile, 0).lanes == 1 && tile::getDistribution(tile, 1).lanes == 1;
  bool exchange = lanes.count() > 1 && lanes.count() <= lanes.subgroup(); // lanes of several subgroups cannot
  if (whole && exchange && tile::getLaneShape(tile).count() > 1)
    return readShared(b, lanes, op);
  if (op.getTransposed())
    return readTransposed(b, lanes, op, tile, op.getRow(), op.getColumn());
  return readPlain(b, lanes, op, tile, op.getRow(), op.getColumn());
}

/// The tile's columns are rows of the matrix; `rows` are registers with the numbers of those rows.
SmallVector<Value> readTransposed(LaneBuilder &b, const Lanes &lanes, tile::GatherOp op, ValueRange rows) {
  RankedTensorType tile = op.getType();
  tile::LaneShape shape = tile::getLaneShape(tile);
  LanePlace place(b, lanes, tile, op.getColumn(), b.index(0));
  Value limit = op.getColumnLimit(), last = limit ? lastIndex(b, limit, 1) : Value();
  Value zero = b.constant(tile.getElementType(), 0);
  SmallVector<Value> registers;
  for (int64_t i = 0; i < shape.rows; ++i) {
    Bounded column = bound(b, place.row(b, i), limit, last);
    for (Value run : rows) {
      SmallVector<Value> parts;
      for (int64_t element = 0; element < shape.vector; ++element) {
        Value row = arith::IndexCastOp::create(b, b.getIndexType(), b.extract(run, element));
        Value part = memref::LoadOp::create(b, op.getMemory(), ValueRange{row, column.index});
        parts.push_back(column.inside ? arith::SelectOp::create(b, column.inside, part, zero).getResult() : part);
      }
      registers.push_back(b.assemble(getRegisterType(tile), parts));
    }
  }
  return registers;
}

Lowered lowerGather(LaneBuilder &b, const Lanes &lanes, tile::GatherOp op, RegistersOf<tile::GatherOp> adaptor) {
  if (op.getTransposed())
    return readTransposed(b, lanes, op, adaptor.getRows());
  LanePlace place(b, lanes, op.getType(), b.index(0), op.getColumn());
  SmallVector<Bounded> rows;
  for (Value row : adaptor.getRows())
    rows.push_back({arith::IndexCastOp::create(b, b.getIndexType(), row), {}});
  return readRows(b, lanes, op.getType(), Source::of(op), rows, place, op.getColumnLimit(), /*anyPadding=*/false);
}

/// Runs `body` under `condition`, or always if that is null.
void guard(LaneBuilder &b, Value condition, function_ref<void(LaneBuilder &)> body) {
  if (!condition)
    return body(b);
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  LaneBuilder inner(b.getLoc(), b);
  inner.setInsertionPointToStart(branch.thenBlock());
  body(inner);
}

/// If several lanes hold the same elements, only one writes them: the lane whose number is the sum of its coordinates
/// times their strides. Returns the condition for it, or null if every lane writes.
Value isOwner(LaneBuilder &b, const Lanes &lanes, RankedTensorType tile) {
  tile::Distribution rows = tile::getDistribution(tile, 0), columns = tile::getDistribution(tile, 1);
  if (rows.lanes * columns.lanes == lanes.count())
    return {};
  Value owner = b.index(0);
  for (const tile::Distribution &distribution : {rows, columns})
    if (Value coordinate = lanes.coordinate(distribution))
      owner =
          b.createOrFold<arith::AddIOp>(owner, b.createOrFold<arith::MulIOp>(coordinate, b.index(distribution.stride)));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lanes.number(), owner);
}

/// Emits one branch per run if columns are limited, and one per row if rows are. `to` are the lane's rows of the
/// matrix; if empty, `place` gives them.
void writeRuns(LaneBuilder &b, const Lanes &lanes, tile::StoreOp op, const Registers &registers, const LanePlace &place,
               ValueRange to) {
  Value columnLimit = op.getColumnLimit();
  int64_t vector = registers.shape.vector;
  bool masks = masksRuns(lanes, op.getMemory(), vector);
  bool whole = masks || (movesRuns(op.getMemory(), vector) && !(columnLimit && cutsRuns(columnLimit, vector)));
  int64_t pieces = whole ? 1 : vector;
  auto write = [&](LaneBuilder &b, int64_t i, int64_t piece, Value mask = {}) {
    Value row = to.empty() ? place.row(b, i) : arith::IndexCastOp::create(b, b.getIndexType(), to[i]).getResult();
    MemberPlace member = MemberPlace::of(b, op, row);
    std::array<Value, 2> at{member.row, member.column(b, place.column(b, piece / pieces, piece % pieces))};
    Value value = registers.at(i, piece / pieces);
    if (mask)
      vector::MaskedStoreOp::create(b, op.getMemory(), at, mask, value);
    else if (whole)
      vector::StoreOp::create(b, value, op.getMemory(), at);
    else
      memref::StoreOp::create(b, b.extract(value, piece % pieces), op.getMemory(), at);
  };
  int64_t rows = registers.shape.rows, columns = registers.shape.runs * pieces;
  auto rowInside = [&](LaneBuilder &b, int64_t i) {
    return op.getRowLimit() ? b.less(place.row(b, i), op.getRowLimit()) : Value();
  };
  if (!columnLimit) {
    for (int64_t i = 0; i < rows; ++i)
      guard(b, rowInside(b, i), [&](LaneBuilder &b) {
        for (int64_t piece = 0; piece < columns; ++piece)
          write(b, i, piece);
      });
    return;
  }
  auto writeColumn = [&](LaneBuilder &b, int64_t piece, Value mask = {}) {
    for (int64_t i = 0; i < rows; ++i)
      guard(b, rowInside(b, i), [&](LaneBuilder &b) { write(b, i, piece, mask); });
  };
  for (int64_t piece = 0; piece < columns; ++piece) {
    Value column = place.column(b, piece / pieces, piece % pieces);
    if (masks) { // a masked store takes longer than a plain one, and few runs are cut
      Value isWhole = b.less(b.add(column, vector - 1), columnLimit);
      auto branch = scf::IfOp::create(b, isWhole, /*withElseRegion=*/true);
      LaneBuilder inner(b.getLoc(), b);
      inner.setInsertionPointToStart(branch.thenBlock());
      writeColumn(inner, piece);
      inner.setInsertionPointToStart(branch.elseBlock());
      auto type = cast<VectorType>(registers.at(0, piece).getType());
      guard(inner, inner.less(column, columnLimit),
            [&](LaneBuilder &b) { writeColumn(b, piece, maskOf(b, type, column, columnLimit)); });
      continue;
    }
    guard(b, b.less(column, columnLimit), [&](LaneBuilder &b) { writeColumn(b, piece); });
  }
}

SmallVector<Value> asIndices(LaneBuilder &b, Value numbers, int64_t count) {
  return llvm::map_to_vector(llvm::seq(count), [&](int64_t element) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(), b.extract(numbers, element));
  });
}

/// Chooses a register's elements from another register: LLVM makes one permutation (vpermps) of them. A longer row is read
/// in several registers.
Value permuteRow(LaneBuilder &b, tile::LookupOp op, VectorType type, Value numbers) {
  int64_t length = type.getNumElements();
  Value inPart = arith::AndIOp::create(b, numbers, b.constant(numbers.getType(), length - 1)), result;
  for (int64_t first = 0; first < op.getMemory().getType().getDimSize(1); first += length) {
    Value part = vector::LoadOp::create(b, type, op.getMemory(), ValueRange{b.index(0), b.index(first)});
    SmallVector<Value> elements;
    for (Value index : asIndices(b, inPart, length))
      elements.push_back(vector::ExtractOp::create(b, part, index));
    Value found = b.assemble(type, elements);
    Value isBefore = result ? b.less(numbers, b.constant(numbers.getType(), first)) : Value();
    result = result ? arith::SelectOp::create(b, isBefore, result, found).getResult() : found;
  }
  return result;
}

Lowered lowerLookup(LaneBuilder &b, const Lanes &lanes, tile::LookupOp op, RegistersOf<tile::LookupOp> adaptor) {
  constexpr int64_t shortest = 8; // AVX2 permutes the elements of whole vectors
  Type type = getRegisterType(op.getType());
  auto vector = dyn_cast<VectorType>(type);
  bool permutes = lanes.count() == 1 && vector && vector.getNumElements() >= shortest &&
                  op.getMemory().getType().getDimSize(1) >= vector.getNumElements();
  SmallVector<Value> registers;
  for (Value numbers : adaptor.getNumbers()) {
    if (permutes) {
      registers.push_back(permuteRow(b, op, vector, numbers));
      continue;
    }
    SmallVector<Value> elements;
    for (Value index : asIndices(b, numbers, tile::getLaneShape(op.getType()).vector))
      elements.push_back(memref::LoadOp::create(b, op.getMemory(), ValueRange{b.index(0), index}));
    registers.push_back(b.assemble(type, elements));
  }
  return registers;
}

Lowered lowerStore(LaneBuilder &b, const Lanes &lanes, tile::StoreOp op, RegistersOf<tile::StoreOp> adaptor) {
  RankedTensorType tile = typeOf(op.getValue());
  Registers registers(tile, adaptor.getValue());
  LanePlace place(b, lanes, tile, op.getRow(), op.getColumn());
  guard(b, isOwner(b, lanes, tile),
        [&](LaneBuilder &b) { writeRuns(b, lanes, op, registers, place, adaptor.getTo()); });
  return SmallVector<Value>();
}

} // namespace

void heddle::populateLaneMemoryPatterns(const TypeConverter &converter, const Lanes &lanes,
                                        RewritePatternSet &patterns) {
  addLowerings(patterns, converter, lanes, /*benefit=*/1, lowerLoad, lowerGather, lowerLookup, lowerStore);
}
