#include "compiler/Graph/Derive/Adapters.h"
#include "compiler/Graph/Derive/Passes.h"

#include "compiler/Graph/Derive/EntryBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/core/JoinedExperts.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <set>

namespace mlir::heddle {
#define GEN_PASS_DEF_ADDADAPTERSPASS
#include "compiler/Graph/Derive/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

static constexpr StringLiteral kWeightSuffix = ".weight";
static constexpr StringLiteral kTiedHead = "lm_head"; // the published module that shares the embedding's matrix

namespace {

class AddAdaptersPass : public mlir::heddle::impl::AddAdaptersPassBase<AddAdaptersPass> {
public:
  using Base::Base;
  AddAdaptersPass() = default;
  explicit AddAdaptersPass(AdapterOptions options) : options(std::move(options)) {}

  LogicalResult initialize(MLIRContext *context) override {
    if (text.empty())
      return success();
    llvm::Expected<AdapterOptions> parsed = parseAdapters(text);
    if (!parsed)
      return emitError(UnknownLoc::get(context)) << "heddle-add-adapters: " << llvm::toString(parsed.takeError());
    options = std::move(*parsed);
    return success();
  }

  void runOnOperation() override;

private:
  /// A linear transformation whose weight an adapter may be chosen for, or those of all experts, whose matrices stand one
  /// below the other in the weight.
  struct Linear {
    Operation *product; // a MatmulOp or a GroupedMatmulOp
    VariableOp weight;
    StringRef path, name;               // "decoder.0.self.query", "query"
    std::vector<std::string> published; // "model.layers.0.self_attn.q_proj", "...experts.*.up_proj"

    Value input() const { return product->getOperand(0); }
    int64_t matrices() const {
      auto grouped = dyn_cast<GroupedMatmulOp>(product);
      return grouped ? grouped.getGroups() : 1;
    }
    /// Multiplies rows by another weight in the same way.
    Value multiply(OpBuilder &builder, RankedTensorType type, Value rows, Value matrix) const;
  };
  std::vector<Linear> findLinears(SymbolTable &symbols);
  std::vector<std::string> publishedNames(VariableOp weight, bool isPart) const;
  std::vector<std::string> publishedModules(VariableOp weight) const;
  bool isNamed(const Linear &linear, StringRef target) const;
  static bool isPublishedAs(const Linear &linear, StringRef target);
  /// Begins an error about the settings. Its location has the name of heddle-compile's flag.
  InFlightDiagnostic blameFlag() {
    return emitError(NameLoc::get(StringAttr::get(&getContext(), "--lora"), getOperation().getLoc()));
  }
  LogicalResult checkTargets(ArrayRef<Linear> linears);
  /// Returns the weights that are trained whole. Fails after an error if a name matches no weight.
  FailureOr<SetVector<VariableOp>> findSaved();
  /// Returns the adapter's two variables. The first call for a weight declares them. Fails after an error if other
  /// variables have their names.
  FailureOr<std::pair<VariableOp, VariableOp>> getAdapter(Linear linear, SymbolTable &symbols);
  LogicalResult adapt(Linear linear, SymbolTable &symbols);
  /// Returns the operand that A multiplies: the input of the linear transformation, after dropout. No scan contains
  /// such matmuls, because a scan's weights are read outside of it.
  Value dropOut(OpBuilder &builder, Linear linear);
  /// Declares the two counters that dropout reads.
  void declareCounters();
  LogicalResult readDescription();
  void describe();

  AdapterOptions options;
  llvm::json::Object description; // of the module
  /// The targets that are names of the published model. They mean what they mean there, as in PEFT, even if Heddle has the
  /// same name for other weights: a mixture's `gate` is often the router.
  std::set<StringRef> publishedTargets;
  int32_t nextStream = 0;
};

} // namespace

/// Returns true for a matmul of this kind that transposes no operand.
template <typename Product> static bool isPlain(Operation *op) {
  auto product = dyn_cast<Product>(op);
  return product && !product.getTransposeLhs() && !product.getTransposeRhs();
}

Value AddAdaptersPass::Linear::multiply(OpBuilder &b, RankedTensorType type, Value rows, Value matrix) const {
  if (auto grouped = dyn_cast<GroupedMatmulOp>(product))
    return GroupedMatmulOp::create(b, product->getLoc(), type, rows, matrix, grouped.getStarts(),
                                   /*transpose_lhs=*/false, /*transpose_rhs=*/false);
  return MatmulOp::create(b, product->getLoc(), type, rows, matrix);
}

std::vector<AddAdaptersPass::Linear> AddAdaptersPass::findLinears(SymbolTable &symbols) {
  std::vector<Linear> linears;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (!function->hasAttr(kModelFunction))
      continue;
    function.walk([&](Operation *product) {
      if (!isPlain<MatmulOp>(product) && !isPlain<GroupedMatmulOp>(product))
        return;
      auto read = product->getOperand(1).getDefiningOp<ReadOp>();
      auto weight = read ? symbols.lookup<VariableOp>(read.getVariable()) : VariableOp();
      if (!weight)
        return;
      StringRef path = weight.getSymName();
      path.consume_back(kWeightSuffix);
      linears.push_back({product, weight, path, path.substr(path.rfind('.') + 1), publishedModules(weight)});
    });
  }
  return linears;
}

/// Returns the names of the tensor of the published model that this weight is or, with `isPart`, that contains it. Empty
/// if there is none.
std::vector<std::string> AddAdaptersPass::publishedNames(VariableOp weight, bool isPart) const {
  const llvm::json::Object *tensors = description.getObject("tensors");
  const llvm::json::Object *tensor = tensors ? tensors->getObject(weight.getSymName()) : nullptr;
  const llvm::json::Array *from = tensor ? tensor->getArray("from") : nullptr;
  constexpr StringLiteral keysOfParts[] = {"part", "interleaved", "pick", "rows", "stack"};
  std::vector<std::string> names;
  if (from && (isPart || llvm::none_of(keysOfParts, [&](StringRef key) { return tensor->get(key); })))
    for (const llvm::json::Value &name : *from)
      names.push_back(name.getAsString().value_or("").str());
  return names;
}

/// Returns the modules of the published model whose weight this is, or a part of it, and the tensors that join the
/// weights of experts.
std::vector<std::string> AddAdaptersPass::publishedModules(VariableOp weight) const {
  std::vector<std::string> modules = publishedNames(weight, /*isPart=*/true);
  for (size_t i = 0, count = modules.size(); i < count; ++i) {
    if (std::optional<::heddle::JoinedExperts> joined = ::heddle::joinExperts(modules[i]))
      modules.push_back(joined->name);
    if (StringRef(modules[i]).ends_with(kWeightSuffix))
      modules[i].resize(modules[i].size() - kWeightSuffix.size());
  }
  return modules;
}

FailureOr<SetVector<VariableOp>> AddAdaptersPass::findSaved() {
  ModuleOp module = getOperation();
  bool isPublished = description.getObject("tensors");
  SetVector<VariableOp> saved;
  bool sharesHead = false;
  for (const std::string &wanted : options.modulesToSave) {
    auto isOf = [&](StringRef name) { // the weight itself, or a weight of the module
      StringRef owner = name.substr(0, name.rfind('.'));
      return name == wanted || owner == wanted || owner.ends_with("." + wanted);
    };
    // PEFT compares the end of a module's name: "norm" also means every layernorm.
    auto isPublishedOf = [&](StringRef name) { return name.substr(0, name.rfind('.')).ends_with(wanted); };
    bool isFound = false;
    for (auto variable : module.getOps<VariableOp>()) {
      std::vector<std::string> names = publishedNames(variable, /*isPart=*/false);
      StringRef published = names.empty() ? StringRef() : names.front();
      if (variable.getKind() != VariableKind::Weight || (!isOf(variable.getSymName()) && !isPublishedOf(published)))
        continue;
      if (isPublished && published.empty())
        return module.emitError() << "'" << variable.getSymName() << "' of modules_to_save is a part of a tensor that "
                                  << "the published model has, which PEFT has no file for; name other modules";
      saved.insert(variable);
      isFound = true;
    }
    // The head may be named together with the embedding, whose matrix it shares.
    if (!isFound && wanted == kTiedHead && isPublished)
      sharesHead = isFound = true;
    if (!isFound)
      return blameFlag() << "no weight of the model belongs to '" << wanted
                         << "', which modules_to_save names; name modules as the published model has them, such "
                            "as embed_tokens, or weights of the model";
  }
  if (sharesHead && llvm::none_of(saved, [](VariableOp weight) { return weight.getSymName() == "embedding"; }))
    return module.emitError() << "'" << kTiedHead
                              << "' of modules_to_save shares the embedding's matrix, and an artifact "
                              << "has one matrix for both; name the embedding's module in modules_to_save, too";
  return saved;
}

bool AddAdaptersPass::isNamed(const Linear &linear, StringRef target) const {
  return publishedTargets.contains(target) ? isPublishedAs(linear, target) : linear.name == target;
}

bool AddAdaptersPass::isPublishedAs(const Linear &linear, StringRef target) {
  // A published name fits as a whole, or its last parts do. Where it has "*", the target has the number of an expert.
  SmallVector<StringRef> wanted, parts;
  target.split(wanted, '.');
  auto isPart = [](StringRef wanted, StringRef part) {
    return wanted == part || (part == "*" && llvm::all_of(wanted, llvm::isDigit));
  };
  return llvm::any_of(linear.published, [&](StringRef name) {
    parts.clear();
    name.split(parts, '.');
    return wanted.size() <= parts.size() && std::equal(wanted.rbegin(), wanted.rend(), parts.rbegin(), isPart);
  });
}

LogicalResult AddAdaptersPass::checkTargets(ArrayRef<Linear> linears) {
  std::set<StringRef> names;
  for (const Linear &linear : linears)
    names.insert(linear.name);
  for (const std::string &target : options.targets)
    if (llvm::none_of(linears, [&](const Linear &linear) { return isNamed(linear, target); }))
      return blameFlag() << "no linear transformation of the model is called '" << target
                         << "', which an adapter is to be for; the model has "
                         << (names.empty() ? std::string("none") : llvm::join(names, ", "));
  return success();
}

FailureOr<std::pair<VariableOp, VariableOp>> AddAdaptersPass::getAdapter(Linear linear, SymbolTable &symbols) {
  std::string first = (linear.path + ".lora_a").str(), second = (linear.path + ".lora_b").str();
  RankedTensorType type = linear.weight.getTensorType();
  int64_t inputs = type.getDimSize(0), outputs = type.getDimSize(1), matrices = linear.matrices();
  if (Operation *known = symbols.lookup(first), *other = symbols.lookup(second); known || other) {
    auto a = dyn_cast_or_null<VariableOp>(known), b = dyn_cast_or_null<VariableOp>(other);
    if (a && b && a.getType() == type.clone({inputs, options.rank}) &&
        b.getType() == type.clone({matrices * options.rank, outputs}))
      return std::pair(a, b);
    return linear.weight.emitOpError() << "cannot have an adapter of rank " << options.rank << ", as the module has '"
                                       << (known ? first : second) << "' already";
  }
  OpBuilder b(linear.weight->getContext());
  b.setInsertionPointAfter(linear.weight);
  auto declare = [&](StringRef name, ArrayRef<int64_t> shape, StartKind kind, double scale) {
    auto start = StartAttr::get(b.getContext(), kind, b.getF64FloatAttr(scale));
    auto variable = VariableOp::create(b, linear.weight.getLoc(), name, VariableKind::Weight, type.clone(shape), start);
    symbols.insert(variable);
    return variable;
  };
  int64_t ofMatrix = inputs / matrices;
  double bound = 1 / std::sqrt(static_cast<double>(ofMatrix));
  auto a = declare(first, {inputs, options.rank}, StartKind::Uniform, bound);
  return std::pair(a, declare(second, {matrices * options.rank, outputs}, StartKind::Constant, 0));
}

void AddAdaptersPass::declareCounters() {
  ModuleOp module = getOperation();
  auto variables = module.getOps<VariableOp>();
  Operation *first = variables.empty() ? nullptr : *variables.begin();
  for (auto [role, extent] : {std::pair<VariableRole, int64_t>(VariableRole::Steps, 1), {VariableRole::Seed, 2}}) {
    if (module.lookupSymbol(getVariableName(role)))
      continue;
    auto type = RankedTensorType::get({extent}, IntegerType::get(&getContext(), 32));
    addVariable(module, module.getLoc(), role, type, 0, first);
    if (role == VariableRole::Seed)
      module.lookupSymbol<VariableOp>(getVariableName(role)).removeStartAttr(); // the caller sets it
  }
}

Value AddAdaptersPass::dropOut(OpBuilder &b, Linear linear) {
  Value input = linear.input();
  if (options.dropout == 0)
    return input;
  Location loc = linear.product->getLoc();
  auto read = [&](VariableRole role, int64_t extent) -> Value {
    return ReadOp::create(b, loc, RankedTensorType::get({extent}, b.getI32Type()), getVariableName(role));
  };
  return DropoutOp::create(b, loc, input.getType(), input, read(VariableRole::Seed, 2), read(VariableRole::Steps, 1),
                           b.getF32FloatAttr(static_cast<float>(options.dropout)), b.getI32IntegerAttr(nextStream++));
}

LogicalResult AddAdaptersPass::adapt(Linear linear, SymbolTable &symbols) {
  FailureOr<std::pair<VariableOp, VariableOp>> adapter = getAdapter(linear, symbols);
  if (failed(adapter))
    return failure();
  auto [first, second] = *adapter;
  Value product = linear.product->getResult(0);
  OpBuilder b(linear.product);
  b.setInsertionPointAfter(linear.product->getOperand(1).getDefiningOp());
  Location loc = product.getLoc();
  auto read = [&](VariableOp variable) -> Value {
    return ReadOp::create(b, loc, variable.getTensorType(), FlatSymbolRefAttr::get(variable));
  };
  Value a = read(first), down = read(second);
  b.setInsertionPointAfter(linear.product);
  auto type = cast<RankedTensorType>(product.getType());
  SmallVector<int64_t> narrow{type.getDimSize(0), options.rank};
  Value inner = linear.multiply(b, type.clone(narrow), dropOut(b, linear), a);
  Value scale =
      FillOp::create(b, loc, inner.getType(), b.getF32FloatAttr(static_cast<float>(options.alpha / options.rank)));
  Value scaled = arith::MulFOp::create(b, loc, inner, scale);
  Value change = linear.multiply(b, type, scaled, down);
  auto sum = arith::AddFOp::create(b, loc, product, change);
  product.replaceAllUsesExcept(sum, sum);
  return success();
}

LogicalResult AddAdaptersPass::readDescription() {
  ModuleOp module = getOperation();
  description.clear();
  if (auto attribute = module->getAttrOfType<StringAttr>("heddle.description")) {
    llvm::Expected<llvm::json::Value> written = llvm::json::parse(attribute.getValue());
    bool isObject = written && written->getAsObject();
    if (!written)
      llvm::consumeError(written.takeError());
    if (!isObject)
      return module.emitError("the attribute heddle.description should be a JSON object, as the importer writes it");
    description = std::move(*written->getAsObject());
  }
  return success();
}

/// Adds the options to the description, for the adapter files that the runtime writes and reads.
void AddAdaptersPass::describe() {
  llvm::json::Array targets;
  for (const std::string &target : options.targets)
    targets.push_back(target);
  llvm::json::Object adapter{{"rank", options.rank}, {"alpha", options.alpha}, {"targets", std::move(targets)}};
  if (!options.modulesToSave.empty())
    adapter["modules_to_save"] = llvm::json::Array(options.modulesToSave);
  if (options.dropout > 0)
    adapter["dropout"] = options.dropout;
  description["adapter"] = std::move(adapter);
  std::string json = llvm::formatv("{0}", llvm::json::Value(std::move(description)));
  getOperation()->setAttr("heddle.description", StringAttr::get(&getContext(), json));
}

void AddAdaptersPass::runOnOperation() {
  ModuleOp module = getOperation();
  if (options.dropout > 0)
    declareCounters();
  nextStream = getNextStream(module);
  if (failed(readDescription()))
    return signalPassFailure();
  if (description.get("adapter")) {
    module.emitError("the model has adapters already; run heddle-add-adapters once");
    return signalPassFailure();
  }
  SymbolTable symbols(module);
  options.addDefaults();
  std::vector<Linear> linears = findLinears(symbols);
  publishedTargets.clear();
  for (StringRef target : options.targets)
    if (llvm::any_of(linears, [&](const Linear &linear) { return isPublishedAs(linear, target); }))
      publishedTargets.insert(target);
  FailureOr<SetVector<VariableOp>> saved = findSaved();
  if (failed(checkTargets(linears)) || failed(saved))
    return signalPassFailure();
  for (auto variable : module.getOps<VariableOp>())
    if (variable.getKind() == VariableKind::Weight && !saved->contains(variable))
      variable.setKind(VariableKind::Frozen);
  for (const Linear &linear : linears) {
    if (llvm::none_of(options.targets, [&](const std::string &target) { return isNamed(linear, target); }))
      continue;
    if (saved->contains(linear.weight)) {
      VariableOp(linear.weight).emitOpError()
          << "is to have an adapter, and to be trained whole: targets and modules_to_save name it";
      return signalPassFailure();
    }
    if (failed(adapt(linear, symbols)))
      return signalPassFailure();
  }
  describe();
}

std::unique_ptr<Pass> mlir::heddle::createAddAdaptersPass(AdapterOptions options) {
  return std::make_unique<AddAdaptersPass>(std::move(options));
}
