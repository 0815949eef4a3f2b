//   y = matmul x, read @w : T x K, K x N
//
// becomes, with groups of G along K (by default, 8-bit weights have a single group),
//
//   w = dequantize(read @w) scales(read @w.scales) : the packed K / 4 x N words of @w, K / G x N scales -> K x N
//   y = matmul x, w
//
// Other GGUF types have more parts: the upper bits of the numbers in @w.high, the values that numbers select in @w.table,
// and offsets in @w.offsets. If scales and offsets are integers themselves, their factors are in @w.scales.scales and
// @w.offsets.scales.
//
// Targets may want the columns of packed numbers and of their groups in panels (`panel`):
//
//   w = dequantize(read @w) scales(read @w.scales) : N / P * K / 4 x P words of @w, N / P * K / G x P scales -> K x N
//
// A weight of 16 bits is widened where it is read, and kernels do so as they load it:
//
//   w = arith.extf (read @w : K x N xbf16) : K x N xf32
//
// Its columns may be in panels, too, and those of a weight in f32 that is not trained:
//
//   w = arith.extf (join_panels (read @w : N / P * K x P xbf16) : K x N xbf16) : K x N xf32
//   w = join_panels (read @w : N / P * K x P xf32) : K x N xf32
#include "compiler/Graph/Derive/QuantizeWeights.h"
#include "compiler/Graph/Derive/Passes.h"

#include "compiler/Graph/Derive/EntryBuilder.h"
#include "dialects/Heddle/VariableRoles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/core/GgufTypes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace mlir::heddle {
#define GEN_PASS_DEF_QUANTIZEWEIGHTSPASS
#include "compiler/Graph/Derive/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

static constexpr int64_t kDefaultGroup = 32; // for 4-bit weights
static constexpr int64_t kFewestRows = 8;    // smaller matrices are not worth packing

llvm::Expected<WeightFormat> mlir::heddle::parseWeightFormat(StringRef text) {
  if (text == "f32" || text == "file")
    return WeightFormat{text == "f32" ? WeightFormat::Rule::Float : WeightFormat::Rule::AsStored};
  if (text == "f16" || text == "bf16")
    return WeightFormat{text == "f16" ? WeightFormat::Rule::F16 : WeightFormat::Rule::BF16};
  auto [name, number] = text.split(':');
  WeightFormat format{WeightFormat::Rule::Packed};
  int64_t &bits = format.packed.bits, &group = format.packed.group;
  bits = name == "int8" ? 8 : name == "int4" ? 4 : 0;
  if (bits == 0)
    return llvm::createStringError(
        "there is no format '" + name +
        "' of weights; there are f16, bf16, int8, int4, file (as a GGUF file has them) and f32");
  group = bits == 4 ? kDefaultGroup : 0;
  if (text.contains(':') && (number.getAsInteger(10, group) || group < 8 || group % 8 != 0))
    return llvm::createStringError("a group of weights has a multiple of 8 of them, as in " + name + ":32, got '" +
                                   number + "'");
  return format;
}

namespace {

class QuantizeWeightsPass : public mlir::heddle::impl::QuantizeWeightsPassBase<QuantizeWeightsPass> {
public:
  using Base::Base;
  QuantizeWeightsPass() = default;
  QuantizeWeightsPass(WeightFormat format, bool trains) : format(format) {
    this->trains = trains, this->panel = format.panel, this->integerPanel = format.integerPanel;
  }

  LogicalResult initialize(MLIRContext *context) override {
    if (text.empty())
      return success();
    llvm::Expected<WeightFormat> parsed = parseWeightFormat(text);
    if (!parsed)
      return emitError(UnknownLoc::get(context)) << "heddle-quantize-weights: " << llvm::toString(parsed.takeError());
    format = *parsed;
    return success();
  }

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    hasFrozen = llvm::any_of(getOperation().getOps<VariableOp>(),
                             [](VariableOp variable) { return variable.getKind() == VariableKind::Frozen; });
    llvm::MapVector<VariableOp, SmallVector<ReadOp>> reads;
    DenseSet<StringRef> others; // written, or the owner or storage of other variables: they stay as they are
    getOperation().walk([&](Operation *op) {
      if (auto read = dyn_cast<ReadOp>(op); read && read->getParentOfType<ModuleOp>() == getOperation())
        reads[symbols.lookup<VariableOp>(read.getVariable())].push_back(read);
      else if (auto write = dyn_cast<WriteOp>(op))
        others.insert(write.getVariable());
      else if (auto variable = dyn_cast<VariableOp>(op))
        others.insert_range(ArrayRef{variable.getOwner().value_or(""), variable.getStorage().value_or("")});
    });
    for (auto &[variable, ofVariable] : reads) {
      if (variable.getKind() != (hasFrozen ? VariableKind::Frozen : VariableKind::Weight) || variable.getStorage() ||
          others.contains(variable.getSymName()))
        continue;
      matrices = findMatrices(ofVariable);
      std::optional<int64_t> contracted = findContracted(variable, ofVariable);
      if (!contracted)
        continue;
      if (FloatType half = halfOf(variable))
        keepFloats(variable, half, *contracted, ofVariable);
      else if (std::optional<PackedFormat> packed = formatOf(variable, *contracted))
        quantize(variable, *packed, *contracted, ofVariable, symbols);
      else if (!trains)
        keepFloats(variable, Float32Type::get(&getContext()), *contracted, ofVariable);
    }
  }

private:
  /// Returns the number of matrices that stand one below the other in the weight, for a grouped matmul.
  static int64_t findMatrices(ArrayRef<ReadOp> reads) {
    for (ReadOp read : reads)
      for (Operation *user : read->getUsers())
        if (auto product = dyn_cast<GroupedMatmulOp>(user))
          return product.getGroups();
    return 1;
  }

  /// Returns the rows or columns of a matrix that a matmul contracts.
  int64_t extentOf(RankedTensorType type, int64_t contracted) const {
    return type.getDimSize(contracted) / (contracted == 0 ? matrices : 1);
  }

  /// Returns the dimension along which groups lie: the contracted dimension of matmuls, or the columns of a table.
  /// Returns nothing if another op needs the matrix, or if it is small.
  std::optional<int64_t> findContracted(VariableOp variable, ArrayRef<ReadOp> reads) const {
    RankedTensorType type = variable.getTensorType();
    if (type.getRank() != 2 || !type.getElementType().isF32() || type.getDimSize(0) < kFewestRows)
      return std::nullopt;
    std::optional<int64_t> contracted;
    for (ReadOp read : reads)
      for (OpOperand &use : read->getUses()) {
        auto product = dyn_cast<MatmulOp>(use.getOwner());
        auto grouped = dyn_cast<GroupedMatmulOp>(use.getOwner());
        auto rows = dyn_cast<EmbeddingOp>(use.getOwner());
        bool isUnpacked = product   ? product.getLhs() != use.get() && !product.getTransposeLhs()
                          : grouped ? grouped.getLhs() != use.get() && !grouped.getTransposeLhs()
                                    : rows && rows.getTable() == use.get();
        if (!isUnpacked)
          return std::nullopt;
        if ((product || grouped) && !contracted)
          contracted = (product ? product.getTransposeRhs() : grouped.getTransposeRhs()) ? 1 : 0;
      }
    // A word holds rows of one matrix.
    constexpr int64_t mostInWord = 16;
    return matrices > 1 && extentOf(type, 0) % mostInWord != 0 ? std::nullopt : std::optional(contracted.value_or(1));
  }

  /// Returns the 16-bit type in which the weight is kept, or null if it is kept in another type. Training needs f32.
  FloatType halfOf(VariableOp variable) {
    if (variable.getTensorType().getShape().back() % 2 != 0) // rows begin at a 32-bit word
      return {};
    auto stored = variable->getAttrOfType<StringAttr>(kStoredAttrName);
    if (!stored && panel > 0 && !trains) // processors multiply in f32, whatever type the numbers are stored in
      stored = variable->getAttrOfType<StringAttr>(kStoredInFolderAttrName);
    bool asStored = format.rule == WeightFormat::Rule::AsStored && stored && (hasFrozen || !trains);
    if (format.rule == WeightFormat::Rule::F16 || (asStored && stored.getValue() == "F16"))
      return Float16Type::get(&getContext());
    if (format.rule == WeightFormat::Rule::BF16 || (asStored && stored.getValue() == "BF16"))
      return BFloat16Type::get(&getContext());
    return {};
  }

  /// Keeps a weight as numbers of type `element`, in panels if they are possible. Numbers of 16 bits are widened where they
  /// are read, and kernels do so as they load them.
  void keepFloats(VariableOp variable, FloatType element, int64_t contracted, ArrayRef<ReadOp> reads) {
    RankedTensorType wide = variable.getTensorType(), type = wide.clone(element);
    ofPanel = panel;
    splits = ofPanel > 0 && matrices == 1 && hasPanels(wide, contracted, reads);
    variable.setType(inPanels(type));
    if (splits)
      variable.setColumns(type.getDimSize(1));
    if (!element.isF32()) {
      Builder b(variable);
      variable.setStartAttr(StartAttr::get(b.getContext(), StartKind::Constant, b.getF64FloatAttr(0)));
    }
    for (ReadOp read : reads) {
      OpBuilder b(read->getContext());
      b.setInsertionPointAfter(read);
      SmallVector<OpOperand *> uses = llvm::to_vector(llvm::make_pointer_range(read->getUses()));
      read.getResult().setType(inPanels(type));
      Value matrix = read.getResult();
      if (splits)
        matrix = JoinPanelsOp::create(b, read.getLoc(), type, matrix);
      if (!element.isF32())
        matrix = arith::ExtFOp::create(b, read.getLoc(), wide, matrix);
      for (OpOperand *use : uses)
        use->set(matrix);
    }
  }

  /// Returns nothing if the weight stays as it is.
  std::optional<PackedFormat> formatOf(VariableOp variable, int64_t contracted) const {
    if (format.rule == WeightFormat::Rule::Float)
      return std::nullopt;
    if (format.rule == WeightFormat::Rule::Packed)
      return format.packed;
    auto stored = variable->getAttrOfType<StringAttr>(kStoredAttrName);
    if (!stored && (hasFrozen || !trains))
      stored = variable->getAttrOfType<StringAttr>(kStoredInFolderAttrName);
    const ::heddle::GgufType *type = stored ? ::heddle::findGgufType(std::string_view(stored.getValue())) : nullptr;
    bool isWhole = type && type->format && extentOf(variable.getTensorType(), contracted) % type->values == 0;
    return isWhole ? std::optional(*type->format) : std::nullopt;
  }

  /// Declares a part of `owner` with the given shape and type.
  VariableOp addPart(VariableOp owner, StringRef name, VariableRole role, RankedTensorType type, double start) {
    OpBuilder b(owner->getContext());
    b.setInsertionPointAfter(last);
    auto part = VariableOp::create(b, owner.getLoc(), (owner.getSymName() + "." + name).str(), owner.getKind(), type,
                                   StartAttr::get(b.getContext(), StartKind::Constant, b.getF64FloatAttr(start)));
    part.setRoleAttr(VariableRoleAttr::get(b.getContext(), role));
    part.setOwnerAttr(FlatSymbolRefAttr::get(owner));
    symbols->insert(part);
    last = part;
    return part;
  }

  static RankedTensorType wordsOf(RankedTensorType numbers, int64_t bits) {
    SmallVector<int64_t> shape(numbers.getShape());
    shape[0] = llvm::divideCeil(shape[0], 32 / bits);
    return RankedTensorType::get(shape, IntegerType::get(numbers.getContext(), 32));
  }

  /// Returns the columns of a panel. A panel has the rows of all experts, of which a token uses few. So panels of experts
  /// are as wide as possible up to `most` columns: then each expert has a long run of memory in a panel.
  int64_t panelOf(RankedTensorType numbers, const PackedFormat &packed) const {
    constexpr int64_t most = 768, step = 32;
    bool multipliesIntegers = packed.bits >= 4 && packed.highBits == 0 && !packed.table && packed.group % step == 0;
    if (integerPanel > 0 && matrices == 1 && multipliesIntegers)
      return integerPanel;
    int64_t panels = panel > 0 && matrices > 1 ? numbers.getDimSize(1) / panel : 0;
    for (int64_t count = 2; count < panels; ++count)
      if (panels % count == 0 && panels / count * panel <= most)
        return panels / count * panel;
    return panel;
  }

  /// Returns true if the weight is stored in panels: only matmuls read it, and its rows are whole steps of these matmuls.
  /// Weights beside trained adapters have no panels, because gradients read their rows.
  bool hasPanels(RankedTensorType numbers, int64_t contracted, ArrayRef<ReadOp> reads) const {
    constexpr int64_t rows = 32;
    return contracted == 0 && !(hasFrozen && trains) && extentOf(numbers, 0) % rows == 0 &&
           numbers.getDimSize(1) % ofPanel == 0 && llvm::all_of(reads, [](ReadOp read) {
             return llvm::all_of(read->getUsers(),
                                 [](Operation *user) { return isa<MatmulOp, GroupedMatmulOp>(user); });
           });
  }

  /// Returns the type of a matrix's part in memory. A single row is the same with panels and without.
  RankedTensorType inPanels(RankedTensorType part) const {
    int64_t rows = part.getDimSize(0), columns = part.getDimSize(1);
    return splits && rows > 1 ? part.clone({rows * (columns / ofPanel), ofPanel}) : part;
  }

  RankedTensorType groupsOf(RankedTensorType numbers, int64_t contracted, int64_t group) const {
    SmallVector<int64_t> shape(numbers.getShape());
    // If groups of this size do not divide the dimension, take the greatest common divisor as their size.
    int64_t extent = extentOf(numbers, contracted);
    shape[contracted] = shape[contracted] / (group == 0 ? extent : std::gcd(group, extent));
    return numbers.clone(shape);
  }

  /// The variables of a weight's scales, or of its offsets.
  struct Groups {
    VariableOp values, factors; // `factors` is null unless `values` are integers
    RankedTensorType type;      // of the unpacked values, in f32
  };

  Groups addGroups(VariableOp variable, StringRef name, VariableRole role, const PackedFormat &packed,
                   RankedTensorType numbers, int64_t contracted, double start) {
    RankedTensorType groups = groupsOf(numbers, contracted, packed.group);
    Type element = numbers.getElementType();
    if (packed.narrow != ::heddle::NarrowType::None)
      element = packed.narrow == ::heddle::NarrowType::F16 ? Type(Float16Type::get(&getContext()))
                                                           : Type(BFloat16Type::get(&getContext()));
    if (packed.scaleBits == 0)
      return {addPart(variable, name, role, inPanels(groups.clone(element)), start), {}, groups};
    RankedTensorType factors = groupsOf(numbers, contracted, packed.factorGroup).clone(element);
    VariableOp values = addPart(variable, name, role, inPanels(wordsOf(groups, packed.scaleBits)), 0);
    return {values, addPart(values, "scales", VariableRole::Scales, inPanels(factors), start), groups};
  }

  static Value readGroups(OpBuilder &b, Location loc, const Groups &groups, const PackedFormat &packed) {
    auto read = [&](VariableOp variable) -> Value {
      Value value = ReadOp::create(b, loc, variable.getTensorType(), FlatSymbolRefAttr::get(variable));
      if (variable.getTensorType().getElementTypeBitWidth() != 16)
        return value;
      return arith::ExtFOp::create(b, loc, variable.getTensorType().clone(b.getF32Type()), value);
    };
    VariableOp values = groups.values, factors = groups.factors;
    if (!factors)
      return read(values);
    Value words = read(values);
    return DequantizeOp::create(b, loc, groups.type, words, /*high=*/Value(), /*table=*/Value(), read(factors),
                                /*offsets=*/Value(), packed.scaleBits, /*high_bits=*/0,
                                /*is_unsigned=*/packed.scaleBits == 4);
  }

  void quantize(VariableOp variable, const PackedFormat &packed, int64_t contracted, ArrayRef<ReadOp> reads,
                SymbolTable &table) {
    symbols = &table, last = variable;
    RankedTensorType type = variable.getTensorType();
    ofPanel = panelOf(type, packed);
    constexpr int64_t ofGroup = 16; // groups are whole steps of matmuls, too
    splits = ofPanel > 0 && packed.group % ofGroup == 0 && hasPanels(type, contracted, reads);
    RankedTensorType words = inPanels(wordsOf(type, packed.bits));
    variable.setType(words);
    OpBuilder b(variable);
    variable.setStartAttr(StartAttr::get(b.getContext(), StartKind::Constant, b.getF64FloatAttr(0)));
    VariableOp high, values;
    if (packed.highBits > 0)
      high = addPart(variable, "high", VariableRole::HighBits, inPanels(wordsOf(type, packed.highBits)), 0);
    if (packed.table)
      values = addPart(variable, "table", VariableRole::Table, RankedTensorType::get({1, 16}, b.getF32Type()), 0);
    Groups scales = addGroups(variable, "scales", VariableRole::Scales, packed, type, contracted, 1), offsets;
    if (packed.hasOffsets)
      offsets = addGroups(variable, "offsets", VariableRole::Offsets, packed, type, contracted, 0);
    for (ReadOp read : reads) {
      Location loc = read.getLoc();
      b.setInsertionPointAfter(read);
      read.getResult().setType(words);
      Value upper, selected, factors, added;
      if (high)
        upper = ReadOp::create(b, loc, high.getTensorType(), FlatSymbolRefAttr::get(high));
      if (values)
        selected = ReadOp::create(b, loc, values.getTensorType(), FlatSymbolRefAttr::get(values));
      factors = readGroups(b, loc, scales, packed);
      if (packed.hasOffsets)
        added = readGroups(b, loc, offsets, packed);
      auto unpacked = DequantizeOp::create(b, loc, type, read, upper, selected, factors, added, packed.bits,
                                           packed.highBits, packed.isUnsigned);
      read.getResult().replaceAllUsesExcept(unpacked, unpacked);
    }
  }

  SymbolTable *symbols = nullptr;
  Operation *last = nullptr; // the variable after which the next one is declared
  WeightFormat format;
  bool hasFrozen = false;
  // The current weight: whether it has panels, their columns, and the number of its matrices, which are stacked.
  bool splits = false;
  int64_t ofPanel = 0, matrices = 1;
};

} // namespace

std::unique_ptr<Pass> mlir::heddle::createQuantizeWeightsPass(WeightFormat format, bool trains) {
  return std::make_unique<QuantizeWeightsPass>(format, trains);
}
