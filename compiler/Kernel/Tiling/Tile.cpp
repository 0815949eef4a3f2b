#include "compiler/Kernel/Tiling/Passes.h"
#include "compiler/Kernel/Tiling/Tiling.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Kernel/Tiling/Attention/AttentionKernels.h"
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"
#include "compiler/Kernel/Tiling/Frames/Windows.h"
#include "compiler/Kernel/Tiling/Matmul/MatrixKernels.h"
#include "compiler/Kernel/Tiling/RowVariants.h"
#include "compiler/Kernel/Tiling/Rows/RowKernels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/StringSet.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace mlir::heddle {
#define GEN_PASS_DEF_TILEPASS
#include "compiler/Kernel/Tiling/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Returns true if the op is meant to write infinities: a fill, or a mask.
bool isInfinite(Operation &op) {
  auto number = op.getAttrOfType<FloatAttr>("value");
  return number && number.getValue().isInfinity();
}

class TilePass : public mlir::heddle::impl::TilePassBase<TilePass> {
public:
  using Base::Base;
  TilePass() = default;
  TilePass(const TargetProfile &profile, TileChoices *choices) : profile(&profile), choices(choices) {
    target = profile.name.str();
  }
  TilePass(const TilePass &other)
      : Base(other), profile(other.profile), choices(other.choices) {} // the other members belong to one run

  LogicalResult initialize(MLIRContext *) override { return resolveTarget(profile, target); }

  void runOnOperation() override {
    names.clear();
    functions.clear();
    tiled.clear();
    maxima = getSizeMaxima(getOperation());
    ofDecoding = findEntriesOfDecoding(getOperation());
    for (Operation &op : getOperation())
      if (auto symbol = dyn_cast<SymbolOpInterface>(op))
        names.insert(symbol.getName());
    SmallVector<KernelOp> kernels;
    getOperation().walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels)
      if (failed(verifySizes(kernel)) || failed(tile(kernel)))
        return signalPassFailure();
    tiled.clear();
  }

private:
  LogicalResult verifySizes(KernelOp kernel) {
    auto verify = [&](Type type) -> LogicalResult {
      auto tensor = dyn_cast<RankedTensorType>(type);
      auto dims = tensor ? dyn_cast_or_null<DimsAttr>(tensor.getEncoding()) : DimsAttr();
      for (StringAttr name : dims ? dims.getNames() : ArrayRef<StringAttr>())
        if (!maxima.contains(name.getValue()))
          return kernel.emitError() << "size '" << name.getValue() << "' is not declared; add heddle.size @"
                                    << name.getValue() << " max N";
      return success();
    };
    for (Operation &op : kernel.getBody().front()) {
      for (Type type : op.getResultTypes())
        if (failed(verify(type)))
          return failure();
      if (Value changed = changedInPlace(op); changed && !isa<BlockArgument>(changed))
        return op.emitError() << "'" << op.getName() << "' changes a tensor in place, which should be an input of the "
                              << "kernel";
      for (StringRef attribute : {"query_size", "key_size", "row_size"})
        if (auto name = op.getAttrOfType<StringAttr>(attribute); name && !name.empty() && !maxima.contains(name))
          return op.emitError() << attribute << " '" << name.getValue() << "' is not declared";
    }
    for (Type type : kernel.getInputs().getTypes())
      if (failed(verify(type)))
        return failure();
    return success();
  }

  /// Returns the operand whose memory holds the op's result, or null if the op does not work in place.
  static Value changedInPlace(Operation &op) {
    if (auto insert = dyn_cast<InsertRowsOp>(op))
      return insert.getDestination();
    if (auto scatter = dyn_cast<ScatterRowsOp>(op))
      return scatter.getDestination();
    auto anchor = dyn_cast<KernelOpInterface>(op);
    return anchor && anchor.worksInPlace() ? op.getOperand(0) : Value();
  }

  struct Program {
    tile::FuncOp func;
    ArrayAttr grid, sizes;
    std::optional<KernelEmitter::RowGrid> rowGrid;
  };

  /// A tiled kernel. Layers repeat the same ops, which are tiled only once.
  struct Tiled {
    std::string name;
    std::unique_ptr<Region> body; // null until the kernel is erased
    Program program;
    /// For a kernel of decoding: its programs for few rows, and the grid of its program for many rows. Null if the
    /// kernel has no programs for few rows.
    bool hasVariants = false;
    ArrayAttr variants, gridOfMany;
  };

  static size_t hashOf(KernelOp kernel) {
    llvm::hash_code hash = llvm::hash_value(kernel.getName());
    for (Operation &op : kernel.getBody().front())
      hash = llvm::hash_combine(hash, OperationEquivalence::computeHash(&op, OperationEquivalence::ignoreHashValue,
                                                                        OperationEquivalence::ignoreHashValue,
                                                                        OperationEquivalence::IgnoreLocations));
    return hash;
  }

  /// Returns the tiled kernel with the same ops. Emits it if it is the first one.
  FailureOr<Tiled *> emit(KernelOp kernel) {
    auto &alike = tiled[hashOf(kernel)];
    for (Tiled &known : alike)
      if (known.name == kernel.getName() &&
          OperationEquivalence::isRegionEquivalentTo(known.body.get(), &kernel.getBody(),
                                                     OperationEquivalence::IgnoreLocations))
        return &known;
    FailureOr<Program> program = emitProgram(kernel, maxima, "");
    if (failed(program))
      return failure();
    return &alike.emplace_back(Tiled{kernel.getName().str(), nullptr, *program});
  }

  FailureOr<Program> emitProgram(KernelOp kernel, const SizeMaxima &maximaOfCall, StringRef suffix) {
    KernelEmitter emitter(kernel, *profile, maximaOfCall, choices);
    FailureOr<tile::FuncOp> emitted = emitter.emit();
    if (failed(emitted))
      return failure();
    for (const auto &number : emitter.getNumbers())
      if (maxima.try_emplace(number.first(), number.second).second) {
        OpBuilder atStart = OpBuilder::atBlockBegin(getOperation().getBody());
        SizeOp::create(atStart, kernel.getLoc(), number.first(), number.second, StringAttr(), /*fixed=*/true);
      }
    return Program{share(*emitted, nameOf(kernel) + suffix.str()), emitter.getGrid(), emitter.getSizes(),
                   emitter.getRowGrid()};
  }

  /// Gives a kernel of decoding programs for calls with few rows.
  LogicalResult addVariants(KernelOp kernel, Tiled &tiled) {
    tiled.hasVariants = true;
    SizeOp rows = findRowsOfProducts(kernel);
    if (!rows)
      return success();
    auto most = static_cast<int64_t>(rows.getMaximum());
    std::vector<std::pair<int64_t, Program>> programs; // with the maximum rows of each
    for (int64_t few : profile->fewRows) {
      if (few >= most)
        break;
      SizeMaxima maximaOfFew = maxima;
      maximaOfFew[rows.getSymName()] = few;
      FailureOr<Program> program = emitProgram(kernel, maximaOfFew, "_upto" + std::to_string(few));
      if (failed(program))
        return failure();
      programs.emplace_back(few, *program);
    }
    programs.emplace_back(most, tiled.program);
    for (size_t i = programs.size() - 1; i-- > 0;)
      if (programs[i].second.func == programs[i + 1].second.func &&
          programs[i].second.grid == programs[i + 1].second.grid)
        programs.erase(programs.begin() + static_cast<ptrdiff_t>(i));
    SmallVector<Attribute> variants;
    int64_t from = 0;
    for (auto &[upTo, program] : programs) {
      if (programs.size() == 1)
        return success();
      ArrayAttr grid = restrictGrid(program.grid, rows, getSizeWithin(rows, from, upTo));
      if (!grid)
        return success();
      from = upTo;
      if (upTo == most)
        tiled.gridOfMany = grid;
      else
        variants.push_back(
            tile::VariantAttr::get(&getContext(), FlatSymbolRefAttr::get(program.func), grid, program.sizes));
    }
    tiled.variants = ArrayAttr::get(&getContext(), variants);
    return success();
  }

  /// Checks that a step's states are sharded variables, that the kernel's operands are read from them, and that its
  /// results are written to them.
  LogicalResult verifyStates(KernelOp kernel, AdamOp adam) {
    auto isUpdated = [&](std::pair<Value, Value> state) {
      auto argument = dyn_cast<BlockArgument>(state.first);
      auto read = argument ? kernel.getInputs()[argument.getArgNumber()].getDefiningOp<ReadOp>() : ReadOp();
      auto variable = read ? getOperation().lookupSymbol<VariableOp>(read.getVariable()) : VariableOp();
      auto yielded = kernel.getBody().front().getTerminator()->getOperands();
      auto place = llvm::find(yielded, state.second);
      return variable && variable.getSharded() && place != yielded.end() &&
             llvm::any_of(kernel.getResult(place - yielded.begin()).getUsers(), [&](Operation *user) {
               auto write = dyn_cast<WriteOp>(user);
               return write && write.getVariable() == read.getVariable();
             });
    };
    if (llvm::all_of(adam.getStates(), isUpdated))
      return success();
    return adam.emitOpError(
        "is sharded, and so should read its moments and average from sharded variables and write them there");
  }

  /// Marks the launch of an update with a sharded state, of which each rank computes some rows. All inputs and results
  /// must have the same shape or be single numbers.
  LogicalResult shard(KernelOp kernel, tile::LaunchOp launch, const Tiled &tiled) {
    auto updates = kernel.getBody().getOps<AdamOp>();
    if (!kernel.getSharded() && llvm::none_of(updates, [](AdamOp adam) { return adam.getSharded(); }))
      return success();
    auto type = cast<RankedTensorType>(kernel.getResult(0).getType());
    bool fits =
        tiled.program.rowGrid &&
        llvm::all_of(llvm::concat<const Type>(launch.getInputs().getTypes(), launch.getResultTypes()), [&](Type other) {
          auto tensor = cast<RankedTensorType>(other);
          return tensor.clone(type.getElementType()) == type || tensor.getNumElements() == 1;
        });
    if (!fits)
      return kernel.emitError()
             << "ranks cannot do a part each of this kernel, which updates a sharded state: it has other tensors than "
             << type << " and single numbers, or is no elementwise kernel";
    for (AdamOp adam : updates)
      if (failed(verifyStates(kernel, adam)))
        return failure();
    launch->setDiscardableAttr(
        tile::kShardAttrName,
        DenseI64ArrayAttr::get(&getContext(), {tiled.program.rowGrid->axis, tiled.program.rowGrid->tile}));
    return success();
  }

  LogicalResult tile(KernelOp kernel) {
    FailureOr<Tiled *> known = emit(kernel);
    if (failed(known))
      return failure();
    Tiled &tiled = **known;
    bool isOfFewRows = !profile->fewRows.empty() && ofDecoding.contains(kernel->getParentOfType<func::FuncOp>());
    if (isOfFewRows && !tiled.hasVariants && failed(addVariants(kernel, tiled)))
      return failure();
    ArrayAttr variants = isOfFewRows ? tiled.variants : ArrayAttr();
    bool inPlace = false;
    SmallVector<int64_t> reuse = findReuse(kernel, inPlace);
    OpBuilder builder(kernel);
    auto launch = tile::LaunchOp::create(
        builder, kernel.getLoc(), kernel.getResultTypes(), tiled.program.func.getSymName(), kernel.getInputs(),
        variants ? tiled.gridOfMany : tiled.program.grid, tiled.program.sizes, builder.getDenseI64ArrayAttr(reuse),
        variants, inPlace, llvm::any_of(kernel.getBody().getOps(), isInfinite));
    if (Attribute cost = kernel->getDiscardableAttr(kCostAttrName))
      launch->setDiscardableAttr(kCostAttrName, cost);
    if (failed(shard(kernel, launch, tiled)))
      return failure();
    kernel.replaceAllUsesWith(launch.getResults());
    if (!tiled.body) {
      tiled.body = std::make_unique<Region>();
      tiled.body->takeBody(kernel.getBody());
    }
    kernel.erase();
    return success();
  }

  /// Returns an earlier function with the same program if there is one. Otherwise returns `func`, renamed to `base` or
  /// to `base` with a number appended.
  tile::FuncOp share(tile::FuncOp func, const std::string &base) {
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance;
    eliminateCommonSubExpressions(rewriter, dominance, func);
    func.setSymName("kernel");
    std::string program;
    llvm::raw_string_ostream stream(program);
    func.print(stream, OpPrintingFlags().enableDebugInfo(false)); // regardless of --mlir-print-debuginfo
    tile::FuncOp &known = functions[program];
    if (known) {
      func.erase();
      return known;
    }
    std::string name = base;
    for (int i = 2; !names.insert(name).second; ++i)
      name = base + "_" + std::to_string(i);
    func.setSymName(name);
    getOperation().push_back(func);
    return known = func;
  }

  /// The kernel's name with the extents of its first matrix result, or else of its first result: "matmul_relu_Tx2048".
  static std::string nameOf(KernelOp kernel) {
    std::string name = kernel.getName().str();
    if (kernel.getNumResults() == 0)
      return name;
    auto types = llvm::map_to_vector(kernel.getResultTypes(), [](Type type) { return cast<RankedTensorType>(type); });
    auto matrix = llvm::find_if(types, [](RankedTensorType type) { return type.getRank() == 2; });
    RankedTensorType type = matrix == types.end() ? types.front() : *matrix;
    for (auto [i, extent] : llvm::enumerate(type.getShape()))
      name += (i == 0 ? "_" : "x") + (ShapedType::isDynamic(extent) ? "T" : std::to_string(extent));
    return name;
  }

  /// Returns, for each result, the operand whose memory it may take over, or -1. It prefers the variable that the
  /// result will be written to, and otherwise takes a temporary.
  SmallVector<int64_t> findReuse(KernelOp kernel, bool &inPlace) {
    Block &body = kernel.getBody().front();
    SmallVector<int64_t> reuse(kernel.getNumResults(), -1);
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
      auto insert = value.getDefiningOp<InsertRowsOp>();
      auto scatter = value.getDefiningOp<ScatterRowsOp>();
      if (!insert && !scatter)
        continue;
      inPlace = true;
      reuse[i] = cast<BlockArgument>(insert ? insert.getDestination() : scatter.getDestination()).getArgNumber();
    }
    if (inPlace)
      return reuse;
    for (auto anchor : body.getOps<KernelOpInterface>())
      if (anchor.worksInPlace()) {
        inPlace = true;
        reuse[0] = cast<BlockArgument>(anchor->getOperand(0)).getArgNumber();
        return reuse;
      }
    // Numbers per row are stored before the second walk over the rows, which may still read the operands.
    auto isNumberBesideRows = [&](Value result) {
      auto rankOf = [](Type type) { return cast<RankedTensorType>(type).getRank(); };
      return rankOf(result.getType()) == 1 &&
             llvm::any_of(kernel.getResultTypes(), [&](Type other) { return rankOf(other) > 1; });
    };
    SmallVector<bool> taken(body.getNumArguments(), false);
    for (bool variables : {true, false})
      for (auto [i, result] : llvm::enumerate(kernel.getResults())) {
        SmallVector<Operation *> writes = writesOf(result);
        for (auto [j, input] : llvm::enumerate(kernel.getInputs())) {
          auto read = input.getDefiningOp<ReadOp>();
          bool wanted = variables
                            ? read && llvm::any_of(writes,
                                                   [&](Operation *write) {
                                                     return cast<WriteOp>(write).getVariable() == read.getVariable();
                                                   })
                            : !read && writes.empty() && !isNumberBesideRows(result);
          if (reuse[i] < 0 && !taken[j] && wanted && input.getType() == result.getType() &&
              isReadInPlace(body.getArgument(j))) {
            reuse[i] = j;
            taken[j] = true;
          }
        }
      }
    return reuse;
  }

  /// Returns the writes of the value, or of the gathered value that replaces it when ranks gather their parts.
  static SmallVector<Operation *> writesOf(Value value) {
    SmallVector<Operation *> writes;
    for (OpOperand &use : value.getUses()) {
      if (isa<WriteOp>(use.getOwner()))
        writes.push_back(use.getOwner());
      if (auto gather = dyn_cast<AllGatherOp>(use.getOwner()))
        llvm::append_range(writes, writesOf(gather.getResult(use.getOperandNumber())));
    }
    return writes;
  }

  const TargetProfile *profile = nullptr;
  TileChoices *choices = nullptr;
  SizeMaxima maxima;
  DenseSet<Operation *> ofDecoding; // entries that read decoding caches
  llvm::StringSet<> names;
  llvm::StringMap<tile::FuncOp> functions; // by program
  std::unordered_map<size_t, std::vector<Tiled>> tiled;
};

} // namespace

std::unique_ptr<Pass> heddle::createTilePass(const TargetProfile &profile, TileChoices *choices) {
  return std::make_unique<TilePass>(profile, choices);
}

void heddle::registerTilingInterfaces(DialectRegistry &registry) {
  registerWindowTiles(registry);
  registerAttentionKernels(registry);
  registerMergePartsKernel(registry);
  registerScoreKernels(registry);
  registerMatrixKernels(registry);
  registerDrawKernels(registry);
  registerElementwiseTiles(registry);
  registerPoolingKernels(registry);
  registerRecurrenceKernels(registry);
  registerSoftmaxKernels(registry);
  registerSumKernels(registry);
  registerRoutingKernels(registry);
  registerScatterKernels(registry);
  registerSelectionKernels(registry);
}
