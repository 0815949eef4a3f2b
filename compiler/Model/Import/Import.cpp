#include "compiler/Model/Import/Import.h"

#include "compiler/Model/Import/Schedule.h"
#include "compiler/Model/Language/Published.h"
#include "compiler/Model/Language/WeightRoles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "runtime/schema/Tasks.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace mlir::heddle;
using ::heddle::Labelling;

/// Names the tensor of each weight in published files, as the family's text says.
static LogicalResult nameTensors(ModuleOp module, Description &d) {
  for (auto variable : module.getOps<VariableOp>()) {
    if (variable.getKind() != VariableKind::Weight)
      continue;
    FailureOr<llvm::json::Object> tensor = d.family->findTensor(
        variable.getSymName(), variable.getTensorType().getShape().size(), d.text->getParameters());
    if (failed(tensor))
      return failure();
    if (!tensor->empty())
      d.tensors[variable.getSymName()] = std::move(*tensor);
  }
  return success();
}

/// Adds the shape of each weight to its entry in `tensors`, which names the tensors of published files. Fails if a
/// weight has no entry.
static LogicalResult addShapes(ModuleOp module, llvm::json::Object &tensors) {
  for (auto variable : module.getOps<VariableOp>()) {
    if (variable.getKind() != VariableKind::Weight)
      continue;
    llvm::json::Object *tensor = tensors.getObject(variable.getSymName());
    if (!tensor)
      return emitError(variable.getLoc()) << "the weight '" << variable.getSymName() << "' comes with a key that the "
                                          << "published model does not have; leave that key as it is";
    (*tensor)["shape"] = llvm::json::Array(variable.getTensorType().getShape());
  }
  return success();
}

/// Returns the model's own text, or the library's text for the architecture that the description names.
static FailureOr<language::ModelText> getText(MLIRContext *context, const Description &d) {
  if (d.text)
    return *d.text;
  FailureOr<language::ModelText> text =
      language::ModelText::read(context, d.architecture + ".weft", language::findLibraryText(d.architecture));
  if (failed(text) || failed(text->setParameters(d.getStructure())))
    return failure();
  return text;
}

static Attribute toAttribute(Builder &b, const language::Setting &setting) {
  return std::visit(
      [&](const auto &value) -> Attribute {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>)
          return b.getBoolAttr(value);
        else if constexpr (std::is_same_v<T, int64_t>)
          return b.getI64IntegerAttr(value);
        else if constexpr (std::is_same_v<T, double>)
          return b.getF64FloatAttr(value);
        else if constexpr (std::is_same_v<T, std::string>)
          return b.getStringAttr(value);
        else
          return b.getDenseF64ArrayAttr(value);
      },
      setting.value);
}

/// Adds the optimizer's text, if it is not the fused Adam, with the values of the names that it reads.
static void addOptimizer(ModuleOp module, const Description &d, const language::ModelText &model) {
  const language::ModelText *text = d.optimizerText.get();
  if (!text && d.optimizer.empty() && model.findUpdate())
    text = &model;
  if (!text)
    return;
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  SmallVector<NamedAttribute> parameters;
  auto add = [&](StringRef name, Attribute value) {
    if (!text->getParameters().contains(name))
      parameters.push_back(b.getNamedAttr(name, value));
  };
  for (const auto &parameter : text->getParameters())
    parameters.push_back(b.getNamedAttr(parameter.getKey(), toAttribute(b, parameter.getValue())));
  for (auto [name, value] : {std::pair("vocab_size", d.vocabSize),
                             {"max_tokens", d.maxTokens},
                             {"max_sequences", d.maxSequences},
                             {"max_length", d.maxLength}})
    add(name, b.getI64IntegerAttr(value));
  for (auto [name, value] :
       {std::pair("adam_beta1", d.adamBeta1), {"adam_beta2", d.adamBeta2}, {"adam_epsilon", d.adamEpsilon}})
    add(name, b.getF64FloatAttr(value));
  OptimizerOp::create(b, d.whereIs("optimizer"), text->getPath(), text->getSource(), b.getDictionaryAttr(parameters));
}

/// Marks the matrices that the description spares weight decay. Fails if a name fits none.
static LogicalResult spareWeights(ModuleOp module, const Description &d) {
  llvm::StringMap<StringRef> roles = language::findWeightRoles(module);
  for (StringRef part : llvm::split(StringRef(d.noDecay), ',')) {
    StringRef name = part.trim();
    if (name.empty())
      continue;
    llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(name);
    if (!pattern)
      return emitError(d.whereIs("no_decay"))
             << "'no_decay' has the name '" << name << "': " << llvm::toString(pattern.takeError());
    bool isRole = name == "embedding" || name == "head", any = isRole;
    for (auto variable : module.getOps<VariableOp>())
      if (variable.isWeight() &&
          (isRole ? roles.lookup(variable.getSymName()) == name : pattern->match(variable.getSymName()))) {
        variable->setAttr(kNoDecayAttrName, UnitAttr::get(module.getContext()));
        any = true;
      }
    if (!any)
      return emitError(d.whereIs("no_decay")) << "'no_decay' names '" << name << "', and no weight is called so; name "
                                              << "embedding, head, or weights, such as decoder.*.query.weight";
  }
  return success();
}

/// Adds the ops from which compiler/Graph/Derive makes entries.
static void addTask(ModuleOp module, const language::ModelText &text, const Description &d) {
  StringRef task = text.getTask();
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  auto place = [&](StringRef key, StringRef part) -> Location {
    return NameLoc::get(b.getStringAttr(part), d.whereIs(key));
  };
  TaskOp::create(b, place("beam", task), task, d.beam, d.paddingId ? b.getI64IntegerAttr(*d.paddingId) : IntegerAttr(),
                 d.logitsEntry, d.explainEntry, d.cacheRows != 0 ? b.getI64IntegerAttr(d.cacheRows) : IntegerAttr());
  if (!module.lookupSymbol("loss"))
    return;
  auto number = [&](double value) { return b.getF32FloatAttr(static_cast<float>(value)); };
  bool scales = d.lossScale > 0, prefers = d.objective != "likelihood";
  TrainingOp::create(b, place("warmup", "optimizer"), number(d.adamBeta1), number(d.adamBeta2), number(d.adamEpsilon),
                     number(d.clipNorm), d.weightDecay > 0 ? number(d.weightDecay) : FloatAttr(),
                     d.emaDecay > 0 ? number(d.emaDecay) : FloatAttr(),
                     scales ? b.getI64IntegerAttr(d.lossScaleInterval) : IntegerAttr(),
                     scales ? number(d.lossScale) : FloatAttr(), d.accumulate ? b.getUnitAttr() : UnitAttr(),
                     d.tokenWeights ? b.getUnitAttr() : UnitAttr(),
                     prefers ? b.getStringAttr(d.objective) : StringAttr(), prefers ? number(d.dpoBeta) : FloatAttr(),
                     prefers ? number(d.dpoSmoothing) : FloatAttr());
  addOptimizer(module, d, text);
}

OwningOpRef<ModuleOp> mlir::heddle::importModel(MLIRContext *context, FailureOr<Description> description,
                                                function_ref<LogicalResult(const Description &)> check) {
  if (failed(description))
    return {};
  FailureOr<language::ModelText> text = getText(context, *description);
  if (failed(text))
    return {};
  OwningOpRef<ModuleOp> module = ModuleOp::create(Location(description->start));
  language::Limits limits{description->vocabSize, description->maxTokens, description->maxSequences,
                          description->maxLength};
  if (failed(text->elaborate(*module, limits)))
    return {};
  description->image = text->getImageShape();
  Labelling labels = ::heddle::schema::findTask(std::string_view(text->getTask()))->labelling;
  if (labels == Labelling::Texts || labels == Labelling::Words || labels == Labelling::Pairs) {
    auto logits = cast<func::FuncOp>(module->lookupSymbol("logits"));
    // A grade, in place of the logits of classes, is a single number.
    if (auto type = cast<RankedTensorType>(logits.getResultTypes()[0]); type.getRank() == 2)
      description->classes = type.getDimSize(1);
    if (labels != Labelling::Pairs)
      for (auto [name, count] :
           {std::pair("neighbours", &description->neighbours), {"sentences", &description->sentences}})
        if (int64_t most = text->getCount(name))
          *count = most;
  }
  if (labels == Labelling::Partners &&
      cast<RankedTensorType>(cast<func::FuncOp>(module->lookupSymbol("logits")).getResultTypes()[0]).getRank() == 1)
    description->grades = 1;
  if (text->getTask() == "encode" && module->lookupSymbol("loss"))
    description->hiddenWords = 1;
  addTask(*module, *text, *description);
  if (failed(spareWeights(*module, *description)))
    return {};
  if (module->lookupSymbol("loss") && failed(addSchedule(*module, *description)))
    return {};
  if (description->family && failed(nameTensors(*module, *description)))
    return {};
  if (!description->tensors.empty() && failed(addShapes(*module, description->tensors)))
    return {};
  if (check && failed(check(*description)))
    return {};
  std::string json = llvm::formatv("{0}", llvm::json::Value(description->toJSON()));
  (*module)->setAttr("heddle.description", StringAttr::get(context, json));
  if (failed(verify(*module)))
    return {};
  return module;
}

OwningOpRef<ModuleOp> mlir::heddle::importDescription(MLIRContext *context, StringRef path,
                                                      const DescriptionChanges &changes) {
  return importModel(context, readDescription(context, path, changes));
}

OwningOpRef<ModuleOp> mlir::heddle::importText(MLIRContext *context, StringRef path,
                                               const DescriptionChanges &changes) {
  return importModel(context, readTextDescription(context, path, changes));
}
