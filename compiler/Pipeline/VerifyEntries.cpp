// Checks for modules that are written by hand. They may contain things that no later phase expects: tensors that no
// kernel takes, and ports, sizes and seeds that the runtime would reject or never see.
#include "compiler/Pipeline/Passes.h"
#include "compiler/Pipeline/Pipeline.h"
#include "dialects/Heddle/Heddle.h"
#include "dialects/Heddle/Limits.h"
#include "dialects/Heddle/VariableRoles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_VERIFYENTRIESPASS
#include "compiler/Pipeline/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// The variable into which `init` writes the caller's seed.
const std::string kSeed = getVariableName(VariableRole::Seed);

/// The limit of the artifact's reader.
constexpr size_t kLongestName = 1024;

bool isName(StringRef name) {
  return !name.empty() && name.size() <= kLongestName &&
         llvm::all_of(name, [](char c) { return static_cast<unsigned char>(c) >= ' '; });
}

class Verifier {
public:
  explicit Verifier(ModuleOp module) : module(module) {
    for (auto size : module.getOps<SizeOp>())
      sizes[size.getSymName()] = size;
  }

  LogicalResult run() {
    for (Operation &op : module.getOps())
      if (auto symbol = dyn_cast<SymbolOpInterface>(op); symbol && !isName(symbol.getName()))
        fail(op.getLoc()) << "a name has 1 to " << kLongestName << " bytes and no control characters, and this has "
                          << symbol.getName().size();
    if (auto seed = module.lookupSymbol<VariableOp>(kSeed); seed && !isSeed(seed.getTensorType()))
      fail(seed.getLoc()) << "variable 'seed' has type " << seed.getType()
                          << ", but `init` fills it with the caller's seed, a tensor<2xi32>; rename the variable";
    verifyRoles();
    for (auto variable : module.getOps<VariableOp>())
      verifyTensor(variable.getLoc(), "variable '" + variable.getSymName() + "'", variable.getType(), /*isPort=*/false);
    for (auto function : module.getOps<func::FuncOp>())
      verify(function);
    return success(!failed);
  }

private:
  InFlightDiagnostic fail(Location where) {
    failed = true;
    return emitError(where);
  }

  static bool isSeed(RankedTensorType type) {
    return type.getElementType().isInteger(32) && type.getShape() == ArrayRef<int64_t>{2};
  }

  void verify(func::FuncOp function);
  void verifyPorts(func::FuncOp function, TypeRange types, StringRef kind, function_ref<DictionaryAttr(unsigned)> attrs,
                   function_ref<Location(unsigned)> where);
  void bindSizes(func::FuncOp function);
  void verifyOp(Operation *op, StringRef entry);
  void verifyNumbersOfRows(Operation *op, const Twine &what);
  void verifyBound(Location where, const Twine &what, StringRef size);
  void verifyRoles();
  void verifySeed(Operation *op, Value seed);
  bool verifyTensor(Location where, const Twine &what, Type type, bool isPort);

  ModuleOp module;
  llvm::StringMap<SizeOp> sizes;
  llvm::StringSet<> bound; // sizes that get a value from the inputs of the current entry
  bool failed = false;
};

void Verifier::verify(func::FuncOp function) {
  StringRef entry = function.getSymName();
  bindSizes(function);
  verifyPorts(
      function, function.getArgumentTypes(), "input", [&](unsigned i) { return function.getArgAttrDict(i); },
      [&](unsigned i) { return function.isExternal() ? function.getLoc() : function.getArgument(i).getLoc(); });
  verifyPorts(
      function, function.getResultTypes(), "output", [&](unsigned i) { return function.getResultAttrDict(i); },
      [&](unsigned) { return function.getLoc(); });
  function.walk([&](Operation *op) {
    if (isa<func::FuncOp, KernelOp>(op->getParentOp())) // other regions compute with scalars
      verifyOp(op, entry);
  });
}

void Verifier::verifyPorts(func::FuncOp function, TypeRange types, StringRef kind,
                           function_ref<DictionaryAttr(unsigned)> attrs, function_ref<Location(unsigned)> where) {
  llvm::StringMap<unsigned> known;
  for (auto [i, type] : llvm::enumerate(types)) {
    std::string what = ("entry '" + function.getSymName() + "': " + kind + " " + Twine(i)).str();
    DictionaryAttr dictionary = attrs(i);
    auto name = dictionary ? dictionary.getAs<StringAttr>("heddle.name") : StringAttr();
    if (!name || !isName(name))
      fail(where(i)) << what << " needs a heddle.name of 1 to " << kLongestName << " bytes without control characters";
    else if (auto [first, isNew] = known.try_emplace(name, i); !isNew)
      fail(where(i)) << what << " has the name '" << name.getValue() << "' of " << kind << " " << first->second
                     << "; a call tells them apart by name";
    if (!verifyTensor(where(i), what, type, /*isPort=*/true))
      continue;
    for (NamedAttribute attribute : dictionary ? dictionary.getValue() : ArrayRef<NamedAttribute>())
      if (StringRef key = attribute.getName();
          key.starts_with("heddle.") && key != "heddle.name" && key != "heddle.limit" && key != "heddle.role")
        fail(where(i)) << what << " has the attribute '" << key << "', which means nothing; there are heddle.name, "
                       << "heddle.limit and heddle.role";
    Attribute role = dictionary ? dictionary.get("heddle.role") : Attribute();
    if (auto text = dyn_cast_or_null<StringAttr>(role);
        role && (kind != "input" || !text || !isName(text) || !text.getValue().contains('.')))
      fail(where(i)) << what << " has the heddle.role " << role
                     << R"(; a role is SEQUENCES.ROLE, such as "source.positions", and only inputs have one)";
    Attribute limit = dictionary ? dictionary.get("heddle.limit") : Attribute();
    auto number = dyn_cast_or_null<IntegerAttr>(limit);
    if (limit && (kind != "input" || !getElementTypeOrSelf(type).isInteger(32) || !number || number.getValue().slt(1) ||
                  !number.getValue().isSignedIntN(63)))
      fail(where(i)) << what << " has a heddle.limit of " << limit
                     << ", which is a whole number above 0 and goes with inputs of i32";
  }
}

/// Collects the sizes that get a value. A size is the extent of an input's dimension or the largest number in an input.
/// A chunk's size follows from the size of the whole.
void Verifier::bindSizes(func::FuncOp function) {
  bound.clear();
  llvm::StringSet<> integers;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    for (int64_t dim = 0; tensor && dim < tensor.getRank(); ++dim)
      bound.insert(getSizeName(tensor, dim));
    if (auto name = function.getArgAttrOfType<StringAttr>(i, "heddle.name");
        name && getElementTypeOrSelf(type).isInteger(32))
      integers.insert(name);
  }
  for (auto &[name, size] : sizes)
    if (size.getFixed() || (size.getLongest() && integers.contains(*size.getLongest())))
      bound.insert(name);
  for (auto &[name, size] : sizes)
    if (size.getOfAttr() && bound.contains(size.getOfAttr().getValue()))
      bound.insert(name);
}

void Verifier::verifyBound(Location where, const Twine &what, StringRef name) {
  auto size = sizes.find(name);
  if (size == sizes.end()) {
    fail(where) << what << ": size '" << name << "' is not declared; add heddle.size @" << name << " max N";
    return;
  }
  if (!bound.contains(name))
    fail(where) << what << ": no input gives size '" << name << "' a value; "
                << (size->second.getLongest() ? "the i32 input '" + size->second.getLongest()->str() +
                                                    "', whose largest number it is, is absent"
                                              : std::string("give the entry an input with a dimension of that name"));
}

/// Returns false, after an error, if no kernel takes the tensor. With `isPort`, also if callers cannot exchange it.
bool Verifier::verifyTensor(Location where, const Twine &what, Type type, bool isPort) {
  auto refuse = [&](const Twine &why) {
    fail(where) << what << " is a " << type << ", and " << why;
    return false;
  };
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return refuse("entries compute on ranked tensors; a single number is a tensor<1xf32> or tensor<1xi32>");
  if (!isTensorOfKernels(tensor))
    return refuse("kernels take " + Twine(kTensorsOfKernels));
  Type element = tensor.getElementType();
  if (isPort && !element.isF32() && !element.isInteger(32))
    return refuse("callers exchange tensors of f32 and i32");
  if (tensor.getEncoding() && !isa<DimsAttr>(tensor.getEncoding()))
    return refuse("the only encoding of an entry's tensors is #heddle.dims");
  // Larger tensors fit into no memory, and their sizes would overflow in later phases.
  constexpr int64_t mostElements = int64_t(1) << 40;
  int64_t elements = 1;
  for (int64_t dim = 0; dim < tensor.getRank(); ++dim) {
    int64_t extent = tensor.getDimSize(dim);
    if (tensor.isDynamicDim(dim)) {
      StringRef name = getSizeName(tensor, dim);
      if (name.empty())
        return refuse("dimension " + Twine(dim) + " varies but names no heddle.size; add #heddle.dims<\"NAME\">");
      bool wasRight = !failed;
      verifyBound(where, what, name);
      if (wasRight && failed)
        return false;
      auto size = sizes.find(name);
      extent = size == sizes.end() ? 1 : static_cast<int64_t>(size->second.getMaximum());
      if (extent == 0)
        return refuse("size '" + name + "' of dimension " + Twine(dim) + " is always 0");
    }
    if (extent > mostElements / elements)
      return refuse("has more than 2^40 elements at its largest; lower its extents or the maxima of its sizes");
    elements *= extent;
  }
  return true;
}

void Verifier::verifyOp(Operation *op, StringRef entry) {
  StringRef name = op->getName().getStringRef();
  std::string what = ("entry '" + entry + "': ").str();
  for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
    if (!verifyTensor(op->getLoc(), what + "result " + Twine(i) + " of '" + name + "'", type, /*isPort=*/false))
      return;
  if (isa<HeddleDialect>(op->getDialect()))
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      if (StringRef key = attribute.getName(); !key.contains('.'))
        fail(op->getLoc()) << what << "'" << name << "' has no attribute '" << key << "'";
  for (StringRef attribute : {"query_size", "key_size", "row_size"})
    if (auto size = op->getAttrOfType<StringAttr>(attribute); size && !size.empty())
      verifyBound(op->getLoc(), what + attribute, size);
  verifyNumbersOfRows(op, what);
  llvm::TypeSwitch<Operation *>(op)
      .Case<RandomOp, DropoutOp, GumbelOp, AttentionOp, AttentionGradQueryOp, AttentionGradKeyValueOp>(
          [&](auto random) { verifySeed(op, random.getSeed()); });
}

/// The operand or result of an op that has a number for each row of a matrix. Kernels recognise it as a column by its
/// dynamic extent.
static Value numbersOfRows(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([](EmbeddingOp embedding) { return embedding.getIndices(); })
      .Case<SinusoidOp, RotaryOp>([](auto turned) { return turned.getPositions(); })
      .Case<CrossEntropyOp, CrossEntropyGradOp>([](auto entropy) { return entropy.getTargets(); })
      .Case<ScatterAddOp, ScatterRowsOp>([](auto scatter) { return scatter.getIndices(); })
      .Case([](ArgmaxOp argmax) { return argmax.getResult(); })
      .Case([](SumOp sum) { return sum.getColumns() ? sum.getResult() : Value(); })
      .Default(Value());
}

void Verifier::verifyNumbersOfRows(Operation *op, const Twine &what) {
  Value numbers = numbersOfRows(op);
  auto type = numbers ? cast<RankedTensorType>(numbers.getType()) : RankedTensorType();
  if (type && type.getRank() == 1 && !isColumn(type) && type.getDimSize(0) > 1)
    fail(op->getLoc()) << what << "'" << op->getName() << "' has a number for each of " << type.getDimSize(0)
                       << " rows in a " << type
                       << ", which kernels take for a single row; let the number of rows vary, as in tensor<?x"
                       << (type.getElementType().isInteger(32) ? "i32" : "f32") << ", #heddle.dims<\"NAME\">>";
}

/// Reports roles with more than one variable, since lookups by role expect only one.
void Verifier::verifyRoles() {
  VariableRoles roles(module);
  for (auto variable : module.getOps<VariableOp>())
    if (std::optional<VariableRole> role = variable.getRole())
      if (VariableOp first = roles.find(*role, variable.getOwner().value_or("")); first != variable)
        fail(variable.getLoc()) << "variable '" << variable.getSymName() << "' has the role "
                                << stringifyVariableRole(*role) << ", which '" << first.getSymName()
                                << "' has already; remove either of them";
}

/// Reports a seed that depends on a variable other than `seed`. Otherwise a caller could not choose the random numbers.
void Verifier::verifySeed(Operation *op, Value seed) {
  llvm::SetVector<Value> values;
  if (seed)
    values.insert(seed);
  StringRef other;
  for (size_t i = 0; i < values.size(); ++i) {
    Operation *producer = values[i].getDefiningOp();
    auto read = dyn_cast_or_null<ReadOp>(producer);
    if (!producer || (read && read.getVariable() == kSeed))
      return;
    if (read)
      other = read.getVariable();
    values.insert(producer->operand_begin(), producer->operand_end());
  }
  if (!other.empty())
    fail(op->getLoc()) << "'" << op->getName() << "' takes its seed from variable '" << other
                       << "', which no caller sets: `init` fills the variable 'seed' with the caller's seed; rename '"
                       << other << "' to 'seed'";
}

class VerifyEntriesPass : public mlir::heddle::impl::VerifyEntriesPassBase<VerifyEntriesPass> {
public:
  void runOnOperation() override {
    if (mlir::failed(Verifier(getOperation()).run()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
