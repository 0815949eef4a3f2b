#include "compiler/Graph/Derive/EntryBuilder.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::heddle;

/// The prefix that a model's function gets when an entry takes its name.
static constexpr StringLiteral kBesideEntry = "model.";

StringRef heddle::getPortName(DictionaryAttr attributes) {
  auto name = attributes ? attributes.getAs<StringAttr>("heddle.name") : StringAttr();
  return name ? name.getValue() : StringRef();
}

ModelFunctions::ModelFunctions(ModuleOp module) {
  auto tasks = module.getOps<TaskOp>();
  auto trainings = module.getOps<TrainingOp>();
  task = tasks.empty() ? TaskOp() : *tasks.begin();
  training = trainings.empty() ? TrainingOp() : *trainings.begin();
  auto find = [&](StringRef name) {
    for (const std::string &symbol : {name.str(), (kBesideEntry + name).str()})
      if (auto function = module.lookupSymbol<func::FuncOp>(symbol); function && function->hasAttr(kModelFunction))
        return function;
    return func::FuncOp();
  };
  if (!task)
    return;
  memory = find("memory"), logits = find("logits"), loss = find("loss"), rate = find("rate"), hidden = find("hidden"),
  pooled = find("pooled");
  next = find("next");
}

LogicalResult ModelFunctions::verify(ArrayRef<StringRef> entries) const {
  for (StringRef name : entries)
    if (Operation *known = SymbolTable::lookupSymbolIn(task->getParentOp(), name);
        known && !known->hasAttr(kModelFunction))
      return known->emitError() << "the module has '" << name << "' already, which a pass is about to make of the "
                                << "model's functions; run each pass that derives entries once, and give functions by "
                                << "hand other names";
  for (func::FuncOp function : {memory, hidden, pooled, logits, next, loss}) {
    if (!function)
      continue;
    if (!function.getBody().hasOneBlock())
      return function.emitError() << "the model's function '" << function.getSymName()
                                  << "' should be a single block of ops";
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (!isa<RankedTensorType>(type) || getPortName(function.getArgAttrDict(i)).empty())
        return function.emitError() << "argument " << i << " of the model's function '" << function.getSymName()
                                    << "' should be a tensor with a heddle.name, got " << type;
  }
  return success();
}

RankedTensorType heddle::columnOf(MLIRContext *context, StringRef size, Type element) {
  return RankedTensorType::get({ShapedType::kDynamic}, element,
                               DimsAttr::get(context, {StringAttr::get(context, size)}));
}

int32_t heddle::getNextStream(ModuleOp module) {
  int32_t next = 0;
  auto countIn = [&](auto op) { next = std::max<int32_t>(next, static_cast<int32_t>(op.getStream()) + 1); };
  module.walk([&](DropoutOp op) { countIn(op); });
  module.walk([&](GumbelOp op) { countIn(op); });
  return next;
}

LogicalResult heddle::takeLargest(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    SmallVector<GumbelOp> noises;
    if (function->hasAttr(kModelFunction))
      function.walk([&](GumbelOp noise) { noises.push_back(noise); });
    if (noises.empty())
      continue;
    for (GumbelOp noise : noises) {
      OpBuilder builder(noise);
      noise.replaceAllUsesWith(
          FillOp::create(builder, noise.getLoc(), noise.getType(), builder.getF32FloatAttr(0)).getResult());
      noise.erase();
    }
    // Scans no longer take row numbers and a seed for the noise.
    RewritePatternSet patterns(module.getContext());
    ScanOp::getCanonicalizationPatterns(patterns, module.getContext());
    if (failed(applyPatternsGreedily(function, std::move(patterns))))
      return failure();
  }
  return success();
}

StringRef heddle::getPath(Location where) {
  StringRef path;
  where->walk([&](Location part) {
    auto name = dyn_cast<NameLoc>(part);
    if (name)
      path = name.getName().getValue();
    return name ? WalkResult::interrupt() : WalkResult::advance();
  });
  return path;
}

VariableOp heddle::addVariable(ModuleOp module, Location where, StringRef name, VariableKind kind,
                               RankedTensorType type, double start, Operation *before) {
  // The first function stands behind all variables. Looking for it once per variable would take quadratic time.
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  if (before) {
    builder.setInsertionPoint(before);
  } else if (auto functions = module.getOps<func::FuncOp>(); !functions.empty()) {
    builder.setInsertionPoint(*functions.begin());
  }
  auto begin = StartAttr::get(module.getContext(), StartKind::Constant, builder.getF64FloatAttr(start));
  return VariableOp::create(builder, where, name, kind, type, begin);
}

void heddle::addVariable(ModuleOp module, Location where, VariableRole role, RankedTensorType type, double start,
                         Operation *before, StringRef owner) {
  MLIRContext *context = module.getContext();
  VariableOp added = addVariable(module, where, getVariableName(role, owner), getKind(role), type, start, before);
  added.setRoleAttr(VariableRoleAttr::get(context, role));
  if (!owner.empty())
    added.setOwnerAttr(FlatSymbolRefAttr::get(context, owner));
}

void heddle::addStateOfWeights(ModuleOp module, WeightState state) {
  VariableRoles roles(module);
  bool hasText = !module.getOps<OptimizerOp>().empty(); // the states of a text's weights are the text's
  llvm::StringSet<> storage;                            // variables that have views: the views have the state
  for (auto variable : module.getOps<VariableOp>())
    if (FlatSymbolRefAttr whole = variable.getStorageAttr())
      storage.insert(whole.getValue());
  for (auto weight : llvm::make_early_inc_range(module.getOps<VariableOp>())) {
    if (weight.getKind() != VariableKind::Weight || storage.contains(weight.getSymName()))
      continue;
    Operation *behind = weight->getNextNode();
    auto add = [&](VariableRole role) {
      if (!roles.find(role, weight.getSymName()))
        addVariable(module, weight.getLoc(), role, weight.getTensorType(), 0, behind, weight.getSymName());
    };
    if (!hasText && !weight->hasAttr(kUpdateAttrName)) {
      add(VariableRole::FirstMoment);
      add(VariableRole::SecondMoment);
    }
    if (state.averages)
      add(VariableRole::Average);
    if (state.accumulates)
      add(VariableRole::Gradient);
  }
}

EntryBuilder::EntryBuilder(ModuleOp module, StringRef name, Location where, EntryMode mode)
    : builder(OpBuilder::atBlockEnd(module.getBody())), mode(mode) {
  // Rename a model function of the same name. It is erased in the end.
  if (auto function = module.lookupSymbol<func::FuncOp>(name); function && function->hasAttr(kModelFunction))
    function.setName((kBesideEntry + name).str());
  entry = func::FuncOp::create(builder, where, name, builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(entry.addEntryBlock());
}

Value EntryBuilder::port(StringRef name, RankedTensorType type, std::optional<int64_t> limit, StringRef role) {
  Value &value = ports[name];
  if (value)
    return value;
  SmallVector<NamedAttribute> attrs{builder.getNamedAttr("heddle.name", builder.getStringAttr(name))};
  if (limit)
    attrs.push_back(builder.getNamedAttr("heddle.limit", builder.getI64IntegerAttr(*limit)));
  if (!role.empty())
    attrs.push_back(builder.getNamedAttr("heddle.role", builder.getStringAttr(role)));
  inputAttrs.push_back(builder.getDictionaryAttr(attrs));
  return value = entry.getBody().addArgument(type, entry.getLoc());
}

Value EntryBuilder::port(func::FuncOp function, unsigned index) {
  DictionaryAttr attributes = function.getArgAttrDict(index);
  auto limit = attributes.getAs<IntegerAttr>("heddle.limit");
  auto role = attributes.getAs<StringAttr>("heddle.role");
  return port(getPortName(attributes), cast<RankedTensorType>(function.getArgument(index).getType()),
              limit ? std::optional<int64_t>(limit.getInt()) : std::nullopt, role ? role.getValue() : StringRef());
}

Value EntryBuilder::read(StringRef variable, RankedTensorType type, Location where) {
  Value &value = reads[variable];
  if (!value)
    value = ReadOp::create(builder, where, type, variable);
  return value;
}

void EntryBuilder::inlineOp(Operation &op) {
  if (auto readOp = dyn_cast<ReadOp>(op)) {
    bool isForDropout = llvm::all_of(op.getUsers(), llvm::IsaPred<DropoutOp>);
    if (isForDropout && !mode.trains)
      return;
    bool isCount = !mode.counter.empty() && readOp.getVariable() == getVariableName(VariableRole::Steps);
    StringRef variable = isCount ? mode.counter : readOp.getVariable();
    mapping.map(readOp.getResult(), read(variable, cast<RankedTensorType>(readOp.getType()), op.getLoc()));
    return;
  }
  if (auto dropout = dyn_cast<DropoutOp>(op); dropout && !mode.trains) {
    mapping.map(dropout.getResult(), mapping.lookup(dropout.getInput()));
    return;
  }
  if (isa<WriteOp>(op) && !mode.trains) // state that training keeps from step to step
    return;
  Operation *clone = builder.clone(op, mapping);
  if (auto dropout = dyn_cast<DropoutOp>(clone))
    dropout.setStream(static_cast<uint32_t>(mode.firstStream) + dropout.getStream());
  clone->walk([&](GumbelOp noise) { noise.setStream(static_cast<uint32_t>(mode.firstStream) + noise.getStream()); });
}

void EntryBuilder::inlineFunction(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    Value known = result(getPortName(function.getArgAttrDict(index)));
    mapping.map(argument, known ? known : port(function, index));
  }
  for (Operation &op : function.getBody().front().without_terminator())
    inlineOp(op);
  auto end = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(end.getOperands()))
    results[getPortName(function.getResultAttrDict(i))] = mapping.lookup(value);
}

void EntryBuilder::output(StringRef name, Value value) {
  outputAttrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr("heddle.name", builder.getStringAttr(name))));
  outputs.push_back(value);
}

func::FuncOp EntryBuilder::finish() {
  func::ReturnOp::create(builder, entry.getLoc(), outputs);
  entry.setType(builder.getFunctionType(entry.getBody().getArgumentTypes(), ValueRange(outputs).getTypes()));
  entry.setArgAttrsAttr(builder.getArrayAttr(inputAttrs));
  entry.setResAttrsAttr(builder.getArrayAttr(outputAttrs));
  return entry;
}
