// Matmuls. A workgroup owns a tile of the result, in registers, and loops along the K dimension.
#include "compiler/Kernel/Tiling/Matmul/MatrixKernels.h"
#include "compiler/Analysis/Kernels/Fragments.h"
#include "compiler/Kernel/Tiling/Frames/DeltaTerms.h"
#include "compiler/Kernel/Tiling/Frames/Dequantize.h"
#include "compiler/Kernel/Tiling/Matmul/FewRows.h"
#include "compiler/Kernel/Tiling/Matmul/IntegerProduct.h"
#include "compiler/Kernel/Tiling/Matmul/ProductFrame.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The columns of a matrix, as the dimension that a matmul contracts.
Matrix columnsOf(const Matrix &matrix) { return {matrix.columns, 1, {}}; }

bool hasMovedRows(MatmulOp product) { return isa_and_nonnull<UnfoldOp>(product.getLhs().getDefiningOp()); }

RightSide rightSideOf(const KernelEmitter &emitter, Value rhs) {
  RankedTensorType type = typeOf(rhs);
  auto unpacked = rhs.getDefiningOp<DequantizeOp>();
  if (!unpacked) {
    Value stored = beforeWidening(rhs);
    auto joined = stored.getDefiningOp<JoinPanelsOp>();
    return {.bytes = typeOf(stored).getElementTypeBitWidth() / 8,
            .panel = joined ? typeOf(joined.getPanels()).getDimSize(1) : 0};
  }
  int64_t panel = unpacked.getPanel();
  return {.group = unpacked.getGroup().first,
          .panel = panel < type.getDimSize(1) ? panel : 0,
          .isOfIntegers = IntegerProduct::isPossible(emitter.getProfile(), unpacked, /*isTransposed=*/false)};
}

/// Returns true if matrix registers multiply the operands of a matmul.
bool isOfPairs(const KernelEmitter &emitter, Value lhs, Value rhs) {
  return emitter.getProfile().matrixRegisters.depth > 0 && typeOf(lhs).getElementType().isBF16() &&
         typeOf(rhs).getElementType().isBF16();
}

/// Moves the rows or the columns of a place.
void move(KernelEmitter &emitter, Value &first, Value &limit, Value by) {
  first = emitter.add(first, by);
  limit = limit ? emitter.add(limit, by) : Value();
}

/// The shape of a matmul with the operands of `op`. Its K dimension is the rows of a transposed left side, which may be
/// tokens, or else the columns.
template <typename Op> MatmulShape shapeOf(Op op, const Matrix &result, KernelEmitter &emitter) {
  RankedTensorType lhs = typeOf(op.getLhs());
  return {.transposeLhs = op.getTransposeLhs(),
          .transposeRhs = op.getTransposeRhs(),
          .contracted = op.getTransposeLhs() ? *Matrix::of(lhs) : columnsOf(*Matrix::of(lhs)),
          .result = result,
          .tensorBits = emitter.usesTensorCores(op, op.getLhs()) ? lhs.getElementTypeBitWidth() : 0,
          .rhs = rightSideOf(emitter, op.getRhs()),
          .isOfPairs = isOfPairs(emitter, op.getLhs(), op.getRhs())};
}

struct MatmulKernel : KernelOpInterface::ExternalModel<MatmulKernel, MatmulOp> {
  bool takesEpilogue(Operation *) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto matmul = cast<MatmulOp>(op);
    bool fragments = emitter.usesTensorCores(op, matmul.getLhs());
    if (matmul.getTransposeLhs() && matmul.getTransposeRhs() && !fragments)
      return emitter.fail() << "a product with both sides transposed is not tiled; transpose the result instead";
    auto products = llvm::to_vector(op->getBlock()->getOps<MatmulOp>());
    if (!fragments && products.size() == 1 && hasFewRows(matmul, emitter))
      return emitFewRows(matmul, emitter);
    Matrix result = *Matrix::of(typeOf(matmul.getResult()));
    if (products.size() > 1)
      return llvm::all_of(products, isSummand) ? emitSum(products, result, emitter) : emitBeside(products, emitter);
    SumOp sum;
    for (SumOp companion : op->getBlock()->getOps<SumOp>())
      sum = companion;

    MatmulShape shape = shapeOf(matmul, result, emitter);
    shape.moved = hasMovedRows(matmul);
    ProductFrame frame(emitter, shape);
    SmallVector<Value> totals =
        frame.finish(frame.accumulate(matmul.getLhs(), matmul.getRhs(), frame.zeros(bool(sum))));
    if (sum)
      frame.storeSums(sum.getResult(), totals[1]);
    emitter.define(matmul.getResult(), frame.place(), totals[0]);
    for (PartialSumsOp sums : emitter.partialSums())
      if (failed(frame.sumRows(sums, result)))
        return failure();
    for (AttentionDeltaOp delta : op->getBlock()->getOps<AttentionDeltaOp>())
      if (failed(emitDelta(delta, matmul.getResult(), frame.place(), totals[0], emitter)))
        return failure();
    return emitter.finish(result, frame.place());
  }

  /// Sums up the columns of each head in the tile (heddle-join-deltas), given the tile of the matmul's result.
  static LogicalResult emitDelta(AttentionDeltaOp delta, Value product, const Place &place, Value tile,
                                 KernelEmitter &emitter) {
    auto &b = emitter.builder();
    int64_t width = typeOf(delta.getGradient()).getDimSize(1) / typeOf(delta.getResult()).getDimSize(1);
    if (!emitter.usesTensorCores(product.getDefiningOp(), cast<MatmulOp>(product.getDefiningOp()).getLhs()) ||
        place.columns % width != 0 || place.columnLimit)
      return emitter.fail() << "the matmul's tiles do not have whole heads of " << width << " columns";
    for (int64_t from = 0; from < place.columns; from += width) {
      Place head = place;
      head.column = from > 0 ? emitter.add(place.column, emitter.index(from)) : place.column, head.columns = width;
      if (width < place.columns)
        emitter.define(product, head, tile::ColumnsOp::create(b, emitter.tileType(place.rows, width), tile, from));
      Value terms = deltaTerms(emitter, delta, head);
      Value number = b.createOrFold<arith::DivUIOp>(head.column, emitter.index(width));
      emitter.store(delta.getResult(), emitter.reduce(tile::Combine::Sum, terms, 1),
                    {place.row, number, place.rows, 1, place.rowLimit, {}});
    }
    return success();
  }

  static bool isSummand(MatmulOp product) {
    return product->hasOneUse() && isa<arith::AddFOp>(*product->user_begin()) &&
           isSumOfProducts(*product->user_begin());
  }

  /// Each workgroup computes a tile of one of the kernel's results, each of which is computed from a matmul of its own by
  /// the same ops. The results lie side by side, and a workgroup chooses the memory of its matmul's operands.
  static LogicalResult emitBeside(ArrayRef<MatmulOp> products, KernelEmitter &emitter) {
    MatmulOp first = products.front();
    auto &b = emitter.builder();
    ValueRange results = first->getBlock()->getTerminator()->getOperands();
    SmallVector<DenseMap<Value, Value>> operands(products.size()); // of each result, by those of the first
    bool isAlike = results.size() == products.size() && emitter.usesTensorCores(first, first.getLhs());
    for (auto [result, own] : llvm::zip(results, operands))
      isAlike = isAlike && correspond(results.front(), result, own);
    if (!isAlike)
      return emitter.fail() << "matmuls that are not added up are not alike, or are not for tensor cores";

    Matrix result = *Matrix::of(first.getType()), all = result;
    all.columns *= static_cast<int64_t>(products.size());
    ProductFrame frame(emitter, shapeOf(first, all, emitter));
    FailureOr<Value> number = frame.enterProduct(result.columns);
    if (failed(number))
      return emitter.fail() << "a tile may have columns of two matmuls, which have " << result.columns
                            << " columns each";
    auto choose = [&](function_ref<Value(size_t)> memoryOf) {
      Value chosen = memoryOf(0);
      for (size_t i = 1; i < products.size(); ++i)
        if (Value memory = memoryOf(i); memory != memoryOf(0)) {
          Value isOwn =
              b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, *number, emitter.index(static_cast<int64_t>(i)));
          chosen = arith::SelectOp::create(b, isOwn, memory, chosen);
        }
      return chosen;
    };
    SmallVector<std::pair<Value, Value>> memory;
    for (Value operand : first->getBlock()->getArguments())
      if (operands.front().contains(operand))
        memory.emplace_back(operand, choose([&](size_t i) { return emitter.memoryOf(operands[i].lookup(operand)); }));
    memory.emplace_back(results.front(), choose([&](size_t i) { return emitter.memoryOfResult(results[i]); }));
    for (auto [value, chosen] : memory)
      emitter.setMemory(value, chosen);
    Value total = frame.finish(frame.accumulate(first.getLhs(), first.getRhs(), frame.zeros(false)))[0];
    emitter.define(first.getResult(), frame.place(), total);
    return emitter.finish(result, frame.place());
  }

  /// Returns true if the same ops compute both values. Adds the operands of the kernel that `b` is computed from to
  /// `operands`, by those of `a`.
  static bool correspond(Value a, Value b, DenseMap<Value, Value> &operands) {
    if (a.getType() != b.getType())
      return false;
    Operation *one = a.getDefiningOp(), *other = b.getDefiningOp();
    if (!one || !other)
      return !one && !other && operands.try_emplace(a, b).first->second == b;
    return one->getName() == other->getName() && one->getAttrDictionary() == other->getAttrDictionary() &&
           one->getNumRegions() == 0 && one->getNumOperands() == other->getNumOperands() &&
           cast<OpResult>(a).getResultNumber() == cast<OpResult>(b).getResultNumber() &&
           llvm::all_of(llvm::zip(one->getOperands(), other->getOperands()),
                        [&](auto pair) { return correspond(std::get<0>(pair), std::get<1>(pair), operands); });
  }

  /// One loop after another adds to the same sums. The deepest matmul decides the tile.
  static LogicalResult emitSum(SmallVector<MatmulOp> products, const Matrix &result, KernelEmitter &emitter) {
    auto contracted = [](MatmulOp product) { return columnsOf(*Matrix::of(typeOf(MatmulOp(product).getLhs()))); };
    auto isShallower = [&](MatmulOp a, MatmulOp b) { return contracted(a).rows < contracted(b).rows; };
    // Scales multiply all sums so far, so matmuls with scales come first. Behind others they would need sums of their
    // own, which cost registers.
    llvm::stable_sort(products, [&](MatmulOp a, MatmulOp b) {
      return rightSideOf(emitter, a.getRhs()).group && !rightSideOf(emitter, b.getRhs()).group;
    });
    MatmulShape shape = shapeOf(products.front(), result, emitter);
    shape.contracted = contracted(*llvm::max_element(products, isShallower));
    shape.loops = static_cast<int64_t>(products.size());
    shape.moved = llvm::any_of(products, hasMovedRows);
    for (MatmulOp product : products) {
      RightSide own = rightSideOf(emitter, product.getRhs());
      shape.isOfPairs &= isOfPairs(emitter, product.getLhs(), product.getRhs());
      shape.rhs.panel = std::max(shape.rhs.panel, own.panel);
      if (own.group)
        shape.rhs.group = std::gcd(shape.rhs.group.value_or(0), *own.group);
      if (!emitter.usesTensorCores(product, product.getLhs()))
        shape.tensorBits = 0;
    }
    ProductFrame frame(emitter, shape);
    SmallVector<Value> totals = frame.zeros(false);
    for (MatmulOp product : products) {
      frame.contract(contracted(product));
      totals = frame.accumulate(product.getLhs(), product.getRhs(), totals);
    }
    totals = frame.finish(totals);
    Value sum = MatmulOp(products.back()).getResult();
    while (true) {
      auto add = sum.hasOneUse() ? dyn_cast<arith::AddFOp>(*sum.user_begin()) : arith::AddFOp();
      if (!add || !isSumOfProducts(add))
        break;
      sum = add;
    }
    emitter.define(sum, frame.place(), totals[0]);
    return emitter.finish(result, frame.place());
  }

  /// The sum of the right side's rows. It is a bias's gradient if the matmul is the gradient of the weight.
  bool takesCompanion(Operation *op, Operation *other) const {
    auto matmul = cast<MatmulOp>(op);
    auto sum = dyn_cast<SumOp>(other);
    return sum && !sum.getColumns() && sum.getInput() == matmul.getRhs() && matmul.getTransposeLhs() &&
           !matmul.getTransposeRhs() && typeOf(matmul.getResult()).getDimSize(0) > 1 &&
           !hasTensorOperands(op, matmul.getRhs());
  }
};

/// A tile that has rows of several groups is computed for one group after the other.
struct GroupedMatmulKernel : KernelOpInterface::ExternalModel<GroupedMatmulKernel, GroupedMatmulOp> {
  bool takesEpilogue(Operation *) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto matmul = cast<GroupedMatmulOp>(op);
    bool transposeLhs = matmul.getTransposeLhs();
    Matrix result = *Matrix::of(matmul.getType());
    int64_t groups = matmul.getGroups(),
            rowsOfGroup = (transposeLhs ? result.rows : typeOf(matmul.getRhs()).getDimSize(0)) / groups;
    if (transposeLhs)
      result.rows = rowsOfGroup;
    MatmulShape shape = shapeOf(matmul, result, emitter);
    shape.groups = {matmul.getStarts(), groups};
    ProductFrame frame(emitter, shape);
    Value shift = emitter.mul(frame.group(), rowsOfGroup);
    Value total = frame.finish(
        frame.accumulate(matmul.getLhs(), matmul.getRhs(), frame.zeros(false), transposeLhs ? Value() : shift))[0];
    Place place = frame.place();
    if (transposeLhs)
      move(emitter, place.row, place.rowLimit, shift);
    emitter.define(matmul.getResult(), place, total);
    return emitter.finish(*Matrix::of(matmul.getType()), place);
  }
};

/// Each part of the result has the tiles of a matmul.
struct PartialProductsKernel : KernelOpInterface::ExternalModel<PartialProductsKernel, PartialProductsOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto products = cast<PartialProductsOp>(op);
    if (!emitter.usesTensorCores(op, products.getLhs()))
      return emitter.fail() << "parts of a product are made on tensor cores, which " << emitter.getProfile().name
                            << " does not have for these operands";
    Matrix result = *Matrix::of(typeOf(products.getResult()));
    MatmulShape shape = shapeOf(products, {result.rows, result.partColumns(), result.size}, emitter);
    shape.parts = result.parts;
    ProductFrame frame(emitter, shape);
    Value total = frame.finish(frame.accumulate(products.getLhs(), products.getRhs(), frame.zeros(false)))[0];
    Place place = frame.place();
    if (frame.part())
      move(emitter, place.column, place.columnLimit, emitter.mul(frame.part(), result.partColumns()));
    emitter.define(products.getResult(), place, total);
    return emitter.finish(result, place);
  }
};

//===-- Several products at once --------------------------------------------------------------------------------===//

/// Emits `body` for each of `count` parts. At run time only the part `number` runs.
LogicalResult forPart(KernelEmitter &emitter, Value number, int64_t count, function_ref<LogicalResult(int64_t)> body) {
  auto &b = emitter.builder();
  for (int64_t part = 0; part < count; ++part) {
    Value isThis = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, emitter.index(part));
    auto branch = scf::IfOp::create(b, isThis, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    if (failed(body(part)))
      return failure();
  }
  return success();
}

struct ProjectKernel : KernelOpInterface::ExternalModel<ProjectKernel, ProjectOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto project = cast<ProjectOp>(op);
    auto &b = emitter.builder();
    Matrix input = *Matrix::of(typeOf(project.getInput())), result = *Matrix::of(typeOf(project.getResult(0)));
    ProductFrame frame(emitter, {.contracted = columnsOf(input), .result = result});
    // All parts run one program and differ in where the weights begin. Only the results are in different places.
    int64_t count = project.getNumResults();
    Value part = emitter.setGrid(2, count, {}, 1);
    SmallVector<Value> totals = frame.finish(frame.accumulate(project.getInput(), project.getWeights(),
                                                              frame.zeros(false), emitter.mul(part, input.columns)));
    Place place = frame.place();
    Place biases{emitter.index(0), place.column, 1, place.columns, {}, place.columnLimit};
    move(emitter, biases.column, biases.columnLimit, emitter.mul(part, result.columns));
    Value bias = emitter.broadcast(emitter.evaluate(project.getBiases(), biases), place.rows, place.columns);
    Value tile = arith::AddFOp::create(b, totals[0], bias);
    return forPart(emitter, part, count, [&](int64_t part) {
      emitter.store(project.getResult(part), tile, place);
      return success();
    });
  }
};

struct ProjectGradInputKernel : KernelOpInterface::ExternalModel<ProjectGradInputKernel, ProjectGradInputOp> {
  bool takesEpilogue(Operation *) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto grad = cast<ProjectGradInputOp>(op);
    Matrix gradient = *Matrix::of(typeOf(grad.getGradients()[0])), result = *Matrix::of(typeOf(grad.getResult()));
    ProductFrame frame(emitter, {.transposeRhs = true,
                                 .contracted = columnsOf(gradient),
                                 .result = result,
                                 .loops = static_cast<int64_t>(grad.getGradients().size())});
    SmallVector<Value> total = frame.zeros(false);
    for (auto [part, value] : llvm::enumerate(grad.getGradients()))
      total = frame.accumulate(value, grad.getWeights(), total, emitter.index(part * result.columns));
    total = frame.finish(total);
    emitter.define(grad.getResult(), frame.place(), total[0]);
    return emitter.finish(result, frame.place());
  }
};

struct ProjectGradWeightsKernel : KernelOpInterface::ExternalModel<ProjectGradWeightsKernel, ProjectGradWeightsOp> {
  bool takesEpilogue(Operation *) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto grad = cast<ProjectGradWeightsOp>(op);
    Matrix input = *Matrix::of(typeOf(grad.getInput())), gradient = *Matrix::of(typeOf(grad.getGradients()[0]));
    int64_t count = grad.getGradients().size();
    ProductFrame frame(
        emitter,
        {.transposeLhs = true, .contracted = input, .result = {input.columns, gradient.columns, {}}, .loops = count});
    return forPart(emitter, emitter.setGrid(2, count, {}, 1), count, [&](int64_t part) {
      SmallVector<Value> totals =
          frame.finish(frame.accumulate(grad.getInput(), grad.getGradients()[part], frame.zeros(true)));
      frame.storeSums(grad.getBiases(), totals[1], emitter.index(part * gradient.columns));
      Place place = frame.place();
      move(emitter, place.row, place.rowLimit, emitter.index(part * input.columns));
      emitter.define(grad.getWeights(), place, totals[0]);
      return emitter.finish(typeOf(grad.getWeights()), place); // by type: with 1 x 1 weights, biases match too
    });
  }
};

} // namespace

void heddle::registerMatrixKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    MatmulOp::attachInterface<MatmulKernel>(*context);
    GroupedMatmulOp::attachInterface<GroupedMatmulKernel>(*context);
    PartialProductsOp::attachInterface<PartialProductsKernel>(*context);
    ProjectOp::attachInterface<ProjectKernel>(*context);
    ProjectGradInputOp::attachInterface<ProjectGradInputKernel>(*context);
    ProjectGradWeightsOp::attachInterface<ProjectGradWeightsKernel>(*context);
  });
}
