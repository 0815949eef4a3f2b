// Tasks and parts. A task defines the parts of a model, their inputs, and the functions that they become.
// compiler/Graph/Derive turns these functions into the entries of the artifact.
#include "compiler/Model/Language/Parts.h"

#include "runtime/schema/Tasks.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;
namespace schema = ::heddle::schema;
using ::heddle::Labelling;

namespace {

struct PartInfo {
  StringLiteral name;
  StringLiteral result;         // the name of its value in the module
  std::vector<StringRef> sides; // the names of its inputs
  bool required;
};

/// The input of the part `rate`, the learning rate: the number of the optimizer's step, counted from 1.
constexpr StringLiteral kStep = "step";

constexpr StringLiteral kEncode = "encode";

struct TaskInfo {
  StringLiteral name;          // of schema::kTasks
  std::vector<PartInfo> parts; // in order of elaboration
  Labelling labels = schema::findTask(std::string_view(name))->labelling;
};

/// The parts that only this task has, and `logits`. A trained task also has a loss, of the inputs of its logits, and a
/// learning rate.
const std::vector<TaskInfo> kTasks = [] {
  std::vector<TaskInfo> tasks = {
      // Translate a source text: the target is generated token by token, with attention to `memory`.
      {"translate", {{"memory", "memory", {"source"}, true}, {"logits", "logits", {"target"}, true}}},
      // Predict the next token of a text.
      {"language", {{"logits", "logits", {"target"}, true}}},
      // Compute a vector for each token of a text, and optionally one for the whole text.
      {"encode",
       {{"hidden", "hidden", {"source"}, true},
        {"pooled", "pooled", {"source"}, false},
        {"logits", "logits", {"source"}, false}}},
      // Predict a label for each text.
      {"classify", {{"hidden", "hidden", {"source"}, false}, {"logits", "logits", {"source"}, true}}},
      // Predict a label for each token, or for some tokens.
      {"tag", {{"hidden", "hidden", {"source"}, false}, {"logits", "logits", {"source"}, true}}},
      // Predict a label or a grade for each pair of texts.
      {"pair", {{"logits", "logits", {"left", "right"}, true}}},
      // Predict hidden words, and whether the second of two sentences follows the first (Devlin et al., 2018, 3.1).
      {"pretrain",
       {{"hidden", "hidden", {"source"}, true},
        {"logits", "logits", {"source"}, true},
        {"next", "next", {"source"}, true}}}};
  for (TaskInfo &task : tasks) {
    bool isEncoder = task.name == kEncode;
    task.parts.insert(task.parts.end(),
                      {{"loss", "token_loss", task.parts.back().sides, !isEncoder}, {"rate", "rate", {kStep}, false}});
    if (isEncoder)
      task.labels = Labelling::Words; // an encoder that is trained predicts some of its tokens
  }
  return tasks;
}();

const TaskInfo *findTask(StringRef name) {
  return &*llvm::find_if(kTasks, [&](const TaskInfo &task) { return task.name == name; });
}

} // namespace

Elaborator::Elaborator(const ModelText &text, ModuleOp module, const Limits &limits) : Elaborator(text) {
  this->module = module;
  this->limits = limits;
}

Elaborator::~Elaborator() = default;

LogicalResult Elaborator::run() {
  file.items["vocab_size"] = wholeNumber(limits.vocabulary);
  file.items["max_tokens"] = wholeNumber(limits.maxTokens);
  file.items["max_sequences"] = wholeNumber(limits.maxSequences);
  file.items["max_length"] = wholeNumber(limits.maxLength);
  for (const auto &entry : model.parameters)
    file.items[entry.getKey().str()] = toItem(entry.getValue());
  for (const std::shared_ptr<Text> &text : model.texts)
    for (const Statement &statement : text->statements)
      evaluateStatement(statement, file);
  SmallVector<const Part *> chosen;
  if (failed || llvm::failed(chooseParts(chosen)))
    return failure();
  builder.setInsertionPointToEnd(module.getBody());
  declareSides();
  for (auto symbol : module.getOps<SymbolOpInterface>())
    symbols.insert(symbol.getName());
  for (const Part *syntax : chosen)
    if (!failed)
      elaboratePart(*syntax);
  if (failed)
    return failure();
  for (const auto &side : sides)
    if (!side->labels.empty() && !side->labelled) // a model without a loss has no labels
      module.lookupSymbol(side->labels)->erase();
  finishParts();
  return success();
}

/// Selects the parts that the text defines, in the task's order. If texts define a part more than once, the last one
/// counts.
LogicalResult Elaborator::chooseParts(SmallVectorImpl<const Part *> &chosen) {
  const TaskInfo *task = findTask(model.task);
  llvm::StringMap<const Part *> byName;
  for (const std::shared_ptr<Text> &text : model.texts)
    for (const Part &syntax : text->parts) {
      auto info = llvm::find_if(task->parts, [&](const PartInfo &info) { return info.name == syntax.name.text; });
      if (info == task->parts.end()) {
        if (!model.isOwnTask)
          continue;
        SmallVector<StringRef> names;
        for (const PartInfo &known : task->parts)
          names.push_back(known.name);
        fail(syntax.name.where) << "the task '" << task->name << "' has no part '" << syntax.name.text
                                << "'; its parts are " << llvm::join(names, ", ") << " (a function begins with 'def')";
        continue;
      }
      for (const Name &input : syntax.inputs)
        if (!llvm::is_contained(info->sides, input.text))
          fail(input.where) << "'" << info->name << "' takes '" << llvm::join(info->sides, "', '") << "', not '"
                            << input.text << "'";
      byName[syntax.name.text] = &syntax;
    }
  for (const PartInfo &info : task->parts) {
    if (const Part *syntax = byName.lookup(info.name))
      chosen.push_back(syntax);
    else if (info.required)
      fail(model.start) << "the text has no part '" << info.name << "', which the task '" << task->name
                        << "' needs; write `" << info.name << "(" << llvm::join(info.sides, ", ") << ") { ... }`";
  }
  return failure(failed);
}

//===-- Sizes, ports and weights --------------------------------------------------------------------------------===//

/// Declares a run-time size. If `longestOf` is set, the size is the largest element of that port.
void Elaborator::addSize(const Twine &name, int64_t maximum, const Twine &longestOf) {
  std::string longest = longestOf.str();
  SizeOp::create(builder, Location(model.start), name.str(), maximum,
                 longest.empty() ? StringAttr() : builder.getStringAttr(longest));
}

void Elaborator::declareSides() {
  for (const PartInfo &info : findTask(model.task)->parts)
    for (StringRef name : info.sides) {
      if (name == kStep || sideNamed(name))
        continue;
      auto side = std::make_unique<Side>();
      side->name = name.str();
      side->tokens = (name + "_tokens").str();
      side->longest = (name + "_length").str();
      if (name == "source")
        side->image = readImageShape();
      side->most = side->image.height ? side->image.pixels() : limits.maxLength;
      if (Labelling labels = findTask(model.task)->labels; labels == Labelling::Words || labels == Labelling::Hidden)
        side->labels = (name + "_labels").str();
      sides.push_back(std::move(side));
    }
  for (const auto &side : sides) {
    addSize(side->tokens, limits.maxTokens);
    if (!side->labels.empty())
      addSize(side->labels, limits.maxTokens);
  }
  addSize(kSequences, limits.maxSequences);
  for (const auto &side : sides)
    addSize(side->longest, side->most, side->name + "_lengths");
  if (int64_t most = countOf("neighbours"))
    if (Side *source = sideNamed("source")) {
      auto neighbours = std::make_unique<Side>();
      neighbours->name = "source.neighbours";
      neighbours->longest = "source_neighbours";
      neighbours->tokensOf = source;
      addSize(neighbours->longest, most, "source_degrees");
      sides.push_back(std::move(neighbours));
    }
  if (int64_t most = countOf("sentences"))
    if (Side *source = sideNamed("source")) {
      auto sentences = std::make_unique<Side>(), words = std::make_unique<Side>();
      sentences->name = "source.sentences";
      sentences->tokens = "source_sentences";
      sentences->longest = "source_sentences_length";
      words->name = "source.words";
      words->longest = "source_words_length";
      words->tokensOf = source;
      addSize(sentences->tokens, limits.maxTokens);
      addSize(sentences->longest, most, "source_sentences_lengths");
      addSize(words->longest, limits.maxLength, "source_words_lengths");
      sides.push_back(std::move(sentences));
      sides.push_back(std::move(words));
    }
  declareCounter(VariableRole::Steps, 1);
  declareCounter(VariableRole::Seed, 2);
}

void Elaborator::declareCounter(VariableRole role, int64_t extent) {
  auto type = RankedTensorType::get({extent}, builder.getI32Type());
  // The caller sets the seed, so it has no initial value.
  StartAttr start;
  if (role != VariableRole::Seed)
    start = StartAttr::get(builder.getContext(), StartKind::Constant, builder.getF64FloatAttr(0));
  VariableOp::create(builder, Location(model.start), getVariableName(role), VariableKind::Counter, type, start,
                     FlatSymbolRefAttr(), VariableRoleAttr::get(builder.getContext(), role));
}

/// Adds an input. `role` says what it holds of which sequences, as "source.positions"; it may be empty.
Value Elaborator::addNamedPort(StringRef name, StringRef role, RankedTensorType type, int64_t limit,
                               LocationAttr where) {
  SmallVector<NamedAttribute> attrs{builder.getNamedAttr("heddle.name", builder.getStringAttr(name))};
  if (limit > 0)
    attrs.push_back(builder.getNamedAttr("heddle.limit", builder.getI64IntegerAttr(limit)));
  if (!role.empty())
    attrs.push_back(builder.getNamedAttr("heddle.role", builder.getStringAttr(role)));
  part->argumentAttrs.push_back(builder.getDictionaryAttr(attrs));
  return part->function.getBody().addArgument(type, Location(where));
}

/// Adds the input OF_ROLE.
Value Elaborator::addPort(StringRef of, StringRef role, RankedTensorType type, int64_t limit, LocationAttr where) {
  return addNamedPort((of + "_" + role).str(), (of + "." + role).str(), type, limit, where);
}

/// Adds the ports of an input: token ids under the input's name, or `input.pixels`; `input.positions` and `input.types`
/// for each token; `input.lengths` for each sequence.
void Elaborator::addPorts(const Name &input) {
  if (input.text == kStep) {
    auto scalar = RankedTensorType::get({1}, builder.getF32Type());
    part->scope.items[input.text] = make(addNamedPort(kStep, /*role=*/"", scalar, /*limit=*/0, input.where));
    return;
  }
  Side &side = *sideNamed(input.text);
  if (side.starts)
    return; // an earlier part has added them, and this part sees its scope
  auto add = [&](StringRef role, StringRef size, int64_t limit) {
    return addPort(side.name, role, columnOf(size), limit, input.where);
  };
  const std::string &name = side.name;
  std::map<std::string, Item, std::less<>> &items = part->scope.items;
  if (side.image.height)
    items[name + ".pixels"] = pixelsOf(side, input);
  else
    items[name] = make(addNamedPort(name == "target" ? "target_in" : name, name + ".tokens", columnOf(side.tokens),
                                    limits.vocabulary, input.where));
  side.positions = add("positions", side.tokens, side.most);
  items[name + ".positions"] = make(side.positions);
  if (side.image.height)
    addPixelPlaces(side, input);
  if (int64_t types = name == "source" ? countOf("token_types") : 0)
    items[name + ".types"] = make(add("types", side.tokens, types));
  // An empty sequence may start one past the last token.
  side.starts = add("starts", kSequences, limits.maxTokens + 1);
  side.lengths = add("lengths", kSequences, side.most + 1);
  items[name + ".lengths"] = make(side.lengths);
  if (Side *neighbours = sideNamed(name + ".neighbours"))
    addNeighbours(*neighbours, input);
  if (Side *sentences = sideNamed(name + ".sentences"))
    addSentences(*sentences, input);
}

/// `input.sentences`: the index of each sentence in its text. Each sentence has tokens, and each text has sentences.
void Elaborator::addSentences(Side &sentences, const Name &input) {
  Side &words = *sideNamed(input.text + ".words");
  std::string ofSentences = input.text + "_sentences", ofWords = input.text + "_words";
  auto add = [&](StringRef of, StringRef role, StringRef size, int64_t limit) {
    return addPort(of, role, columnOf(size), limit, input.where);
  };
  int64_t most = countOf("sentences");
  sentences.positions =
      addNamedPort(ofSentences, ofSentences + ".positions", columnOf(sentences.tokens), most, input.where);
  sentences.starts = add(ofSentences, "starts", kSequences, limits.maxTokens + 1);
  sentences.lengths = add(ofSentences, "lengths", kSequences, most + 1);
  words.starts = add(ofWords, "starts", sentences.tokens, limits.maxTokens + 1);
  words.lengths = add(ofWords, "lengths", sentences.tokens, limits.maxLength + 1);
  part->scope.items[sentences.name] = make(sentences.positions);
}

/// `input.neighbours`: for each token, the tokens that it may attend to: its neighbours in a graph of tokens.
void Elaborator::addNeighbours(Side &neighbours, const Name &input) {
  const Side &side = *neighbours.tokensOf;
  int64_t most = countOf("neighbours");
  RankedTensorType column = columnOf(side.tokens);
  auto lists = RankedTensorType::get({ShapedType::kDynamic, most}, builder.getI32Type(), column.getEncoding());
  auto add = [&](StringRef role, RankedTensorType type, int64_t limit) {
    return addPort(side.name, role, type, limit, input.where);
  };
  neighbours.rows = add("neighbours", lists, limits.maxTokens);
  neighbours.lengths = add("degrees", column, most + 1);
  neighbours.users = {add("users", lists, limits.maxTokens), add("slots", lists, most), add("uses", column, most + 1)};
  part->scope.items[neighbours.name] = make(neighbours.rows, &neighbours);
}

int64_t ModelText::getCount(StringRef name) const {
  auto found = parameters.find(name);
  const auto *count = found == parameters.end() ? nullptr : std::get_if<int64_t>(&found->getValue().value);
  return count && *count > 0 ? *count : 0;
}

/// The value of a parameter that is a count; 0 if there is none.
int64_t Elaborator::countOf(StringRef name) const { return model.getCount(name); }

Side *Elaborator::sideNamed(StringRef name) {
  auto found = llvm::find_if(sides, [&](const auto &side) { return side->name == name; });
  return found == sides.end() ? nullptr : found->get();
}

/// The side of the words of sentences, if the tensor has a row for each sentence; otherwise null.
const Side *Elaborator::wordsOf(RankedTensorType type) {
  const Side *side = findSide(type);
  return side && side->name == "source.sentences" ? sideNamed("source.words") : nullptr;
}

RankedTensorType Elaborator::columnOf(StringRef size) {
  return RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type(),
                               DimsAttr::get(builder.getContext(), {builder.getStringAttr(size)}));
}

/// `input.labelled`: the indices of the tokens that have a label.
void Elaborator::addLabelled(const Name &input) {
  Side &side = *sideNamed(input.text);
  side.labelled = addPort(input.text, "labelled", columnOf(side.labels), limits.maxTokens, input.where);
  part->scope.items[input.text + ".labelled"] = make(side.labelled);
}

/// Adds the labels of the task: `input.next`, the token that follows each token; or `input.label`, a label for each
/// sequence or each labelled token. For hidden tokens the label is the token itself, and `input.follows` is 1 if the
/// second sentence follows the first.
void Elaborator::addLabels(const Name &input) {
  Side &side = *sideNamed(input.text);
  std::map<std::string, Item, std::less<>> &items = part->scope.items;
  Labelling labels = findTask(model.task)->labels;
  if (labels == Labelling::None) {
    items[input.text + ".next"] =
        make(addNamedPort("target_out", input.text + ".next", columnOf(side.tokens), limits.vocabulary, input.where));
    return;
  }
  if (labels == Labelling::Words)
    addLabelled(input);
  if (labels == Labelling::Hidden)
    items[input.text + ".follows"] = make(addPort(input.text, "follows", columnOf(kSequences), 2, input.where));
  // No limit here: the number of classes follows from the logits.
  items[input.text + ".label"] =
      make(addPort(input.text, "label", columnOf(side.labels.empty() ? StringRef(kSequences) : StringRef(side.labels)),
                   /*limit=*/0, input.where));
}

/// Adds `pair.label` and `pair.grade`. chooseLabels() removes the one that the loss does not read.
void Elaborator::addPairLabels(LocationAttr where) {
  part->scope.items["pair.label"] = make(addPort("pair", "label", columnOf(kSequences), /*limit=*/0, where));
  auto column = RankedTensorType::get({ShapedType::kDynamic}, builder.getF32Type(), columnOf(kSequences).getEncoding());
  part->scope.items["pair.grade"] = make(addPort("pair", "grade", column, /*limit=*/0, where));
}

/// Removes the port of pairs that the loss does not read. Logits with several columns go with labels, and logits with
/// one number per pair go with grades.
LogicalResult Elaborator::chooseLabels(LocationAttr where) {
  auto port = [&](StringRef name) {
    return cast<BlockArgument>(part->scope.items.find(name)->second.as<TensorItem>()->value);
  };
  const PartState &logits = *parts.front();
  bool areGrades = typeOf(logits.results.front().second).getRank() == 1;
  BlockArgument wanted = port(areGrades ? "pair.grade" : "pair.label"),
                other = port(areGrades ? "pair.label" : "pair.grade");
  if (wanted.use_empty() || !other.use_empty()) {
    fail(where)
        << (areGrades
                ? "logits that are a number for each pair are a grade, which the loss compares with 'pair.grade', as "
                  "in "
                  "`(logits - pair.grade) ^ 2`"
                : "logits that are a row for each pair are of labels, which the loss compares with 'pair.label', as in "
                  "`cross_entropy(logits, pair.label)`");
    return failure();
  }
  unsigned index = other.getArgNumber();
  part->scope.items.erase(areGrades ? "pair.label" : "pair.grade");
  part->function.getBody().eraseArgument(index);
  part->argumentAttrs.erase(part->argumentAttrs.begin() + index);
  return success();
}

Value Elaborator::tensorOrNull(const Item &item, LocationAttr where) {
  if (const auto *tensor = item.as<TensorItem>()) {
    if (!isa<RankedTensorType>(tensor->value.getType()))
      return tensor->value; // an index in a region
    return isWithinPart(where) ? import(tensor->value) : Value();
  }
  const auto *weight = item.as<std::shared_ptr<WeightItem>>();
  const auto *row = item.as<std::shared_ptr<RowItem>>();
  if ((!weight && !row) || !isWithinPart(where))
    return {};
  if (row)
    return rowOfPart(*row);
  const WeightItem &w = **weight;
  Value &value = part->weights[w.name];
  if (value)
    return scanState ? capture(value) : value;
  auto type = RankedTensorType::get(w.shape, builder.getF32Type());
  if (symbols.insert(w.name).second) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(parts.front()->function);
    // The part of the model that the weight belongs to: `decoder.0.self.query`.
    StringRef owner = w.name.find('.') == std::string::npos ? StringRef(w.name) : StringRef(w.name).rsplit('.').first;
    Location at = NameLoc::get(builder.getStringAttr(owner), place(w.where)->findInstanceOf<FileLineColLoc>());
    auto start = StartAttr::get(builder.getContext(), w.start.kind, builder.getF64FloatAttr(w.start.scale));
    VariableOp::create(builder, at, w.name, VariableKind::Weight, type, start);
  }
  OpBuilder::InsertionGuard guard(builder);
  if (scanState) // read it outside the scan; the block takes it as a constant
    builder.setInsertionPointToEnd(&part->function.getBody().front());
  value = ReadOp::create(builder, place(where), type, w.name);
  return scanState ? capture(value) : value;
}

/// The op for a constant row, created once per part.
Value Elaborator::rowOfPart(const std::shared_ptr<RowItem> &row) {
  Value &value = part->rows[row];
  if (!value) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&part->function.getBody().front());
    auto type = RankedTensorType::get({static_cast<int64_t>(row->values.size())}, builder.getF32Type());
    value = NumbersOp::create(builder, place(row->where), type, row->values);
  }
  return scanState ? capture(value) : value;
}

Value Elaborator::tensor(const Item &item, LocationAttr where, const Twine &what) {
  if (item.isMistake())
    return {};
  Value value = tensorOrNull(item, where);
  if (!value || !isa<RankedTensorType>(value.getType())) {
    if (value || !isTensor(item))
      fail(where) << what << " is a tensor, not " << describe(item);
    return {};
  }
  if (const auto *tensor = item.as<TensorItem>(); tensor && tensor->isTransposed) {
    fail(where) << "transpose() is for the right side of '@' alone";
    return {};
  }
  return value;
}

bool Elaborator::isWithinPart(LocationAttr where) {
  if (!part)
    fail(where)
        << "tensors are computed within the parts of a task and the functions that they call; here are constants "
        << "and weights alone";
  else if (builder.getInsertionBlock()->getParentOp() != part->function && !isInScan(builder.getInsertionBlock()))
    fail(where) << "a mask's block computes with indices and numbers alone";
  else
    return true;
  return false;
}

Location Elaborator::place(LocationAttr where) {
  if (!isOwn(where) && callOfOther)
    where = callOfOther;
  // Ops outside of all bindings are named after the part.
  StringRef name = path.empty() && part ? StringRef(part->syntax->name.text) : StringRef(path);
  return name.empty() ? Location(where) : NameLoc::get(builder.getStringAttr(name), Location(where));
}

Side *Elaborator::findSide(RankedTensorType type) {
  if (type.getRank() == 0 || type.getDimSize(0) != ShapedType::kDynamic)
    return nullptr;
  StringRef size = getSizeName(type, 0);
  auto found = llvm::find_if(sides, [&](const auto &side) { return side->tokens == size; });
  return found == sides.end() ? nullptr : found->get();
}

std::string Elaborator::describeRows(RankedTensorType type) {
  if (wordsOf(type))
    return " for each sentence of 'source'";
  if (const Side *side = findSide(type))
    return " for each token of '" + side->name + "'";
  for (const auto &side : sides)
    if (!side->labels.empty() && type.getRank() > 0 && type.isDynamicDim(0) && getSizeName(type, 0) == side->labels)
      return " for each labelled token of '" + side->name + "'";
  return type.getRank() > 0 && type.getDimSize(0) == ShapedType::kDynamic ? " for each sequence" : "";
}

/// Returns true for ops that a learning rate may be computed with.
static bool isArithmetic(Operation &op) { return isa<FillOp>(op) || OpTrait::hasElementwiseMappableTraits(&op); }

//===-- Functions -----------------------------------------------------------------------------------------------===//

void Elaborator::elaboratePart(const Part &syntax) {
  const TaskInfo *task = findTask(model.task);
  const auto &info = *llvm::find_if(task->parts, [&](const PartInfo &info) { return info.name == syntax.name.text; });
  const Scope *outer = parts.empty() ? &file : &parts.back()->scope;
  parts.push_back(std::make_unique<PartState>());
  part = parts.back().get();
  part->syntax = &syntax;
  part->scope.outer = outer;
  builder.setInsertionPointToEnd(module.getBody());
  part->function =
      func::FuncOp::create(builder, Location(syntax.name.where), info.name, builder.getFunctionType({}, {}));
  part->function.setPrivate();
  part->function->setAttr("heddle.model", builder.getUnitAttr());
  builder.setInsertionPointToStart(part->function.addEntryBlock());
  if (info.name == "logits" && task->labels == Labelling::Pairs && syntax.inputs.size() != info.sides.size()) {
    fail(syntax.name.where) << "a pair is of two texts; write `logits(left, right) { ... }`";
    return;
  }
  for (const Name &input : syntax.inputs) {
    addPorts(input);
    if (info.name == "logits" && task->labels == Labelling::Hidden)
      addLabelled(input);
    if (info.name == "loss" && task->labels != Labelling::Pairs)
      addLabels(input);
  }
  if (info.name == "loss" && task->labels == Labelling::Pairs)
    addPairLabels(syntax.name.where);
  if (info.name == "rate" && syntax.inputs.empty())
    addPorts({kStep.str(), syntax.name.where});
  path.clear();
  Item item = evaluateBlock(*syntax.body, part->scope);
  if (item.isMistake())
    return;
  // A model with a single number for each text has no labels to learn.
  bool needsNoLoss = info.name == "loss" && task->labels == Labelling::Texts &&
                     typeOf(parts[parts.size() - 2]->results.front().second).getShape().back() == 1;
  if (const auto *nothing = item.as<ListItem>(); nothing && nothing->empty() && (!info.required || needsNoLoss)) {
    for (const Name &input : syntax.inputs)
      if (Side *side = sideNamed(input.text))
        side->labelled = {};
    part->function.erase();
    parts.pop_back();
    return;
  }
  // Pretraining has two losses: of words and of sentences.
  const auto *losses = item.as<ListItem>();
  if (losses && info.name == "loss" && task->labels == Labelling::Hidden && losses->size() == 2) {
    Item first = (*losses)[0], second = (*losses)[1];
    Value ofSentences = tensor(second, syntax.name.where, "the second loss");
    if (!ofSentences || !checkValue("sentence_loss", second, typeOf(ofSentences)))
      return;
    part->results.push_back({"sentence_loss", ofSentences});
    item = first;
  } else if (info.name == "loss" && task->labels == Labelling::Hidden) {
    fail(syntax.name.where) << "the value of 'loss', its last line, should be two losses, of words and of sentences: "
                            << "`cross_entropy(logits, source.label), cross_entropy(next, source.follows)`";
    return;
  }
  auto scalar = RankedTensorType::get({1}, builder.getF32Type());
  bool isConstant = info.result == "rate" && item.as<NumberItem>();
  Value value = isConstant ? widen(item, scalar, syntax.name.where)
                           : tensor(item, syntax.name.where, "the value of '" + info.name + "', its last line,");
  if (!value)
    return;
  if (info.result == "rate") {
    if (typeOf(value) != scalar)
      fail(syntax.name.where) << "the value of 'rate', its last line, should be a number made of the step's, but is "
                              << describe(item);
    else if (part->function.getBody().getNumArguments() != 1 || !llvm::all_of(part->function.getOps(), isArithmetic))
      fail(syntax.name.where)
          << "a learning rate is made of the step's number by arithmetic alone, without weights and "
             "values of other parts";
    else
      part->results.push_back({info.result.str(), value});
    return;
  }
  if (!checkValue(info.name, item, typeOf(value)))
    return;
  if (info.name == "loss" && task->labels == Labelling::Pairs && llvm::failed(chooseLabels(syntax.name.where)))
    return;
  part->results.push_back({info.result.str(), value});
  part->scope.items[info.name.str()] = make(value);
  if (info.name == "logits" || info.name == "hidden" || info.name == "next")
    part->scope.items[info.result.str()] = make(value);
}

/// Returns true if a part's value has the type that the task requires; otherwise reports an error.
bool Elaborator::checkValue(StringRef name, const Item &item, RankedTensorType type) {
  Labelling labels = findTask(model.task)->labels;
  bool isLoss = name == "loss" || name == "sentence_loss";
  bool isOfClasses =
      name == "logits" && model.task != kEncode && (labels == Labelling::Texts || labels == Labelling::Words);
  bool isOfPairs = labels == Labelling::Pairs && name == "logits";
  bool isOfSequences = name == "pooled" || name == "next" || name == "sentence_loss" || isOfPairs ||
                       (labels == Labelling::Pairs && isLoss) ||
                       (labels == Labelling::Texts && (isOfClasses || isLoss));
  bool isOfHidden = labels == Labelling::Hidden && (name == "logits" || name == "loss");
  std::string rows = isOfSequences ? " for each sequence" : isOfHidden ? " for each labelled token" : " for each token";
  if (name == "memory")
    rows += " or sequence";
  bool takesAnyRows = name == "memory" || (name == "loss" && labels == Labelling::Words);
  bool isNumber = isLoss || (isOfPairs && type.getRank() == 1);
  bool fits = type.getElementType().isF32() && type.getRank() == (isNumber ? 1 : 2) &&
              (takesAnyRows ? !describeRows(type).empty() : StringRef(describeRows(type)).starts_with(rows));
  int64_t columns = type.getRank() == 2 ? type.getDimSize(1) : 0;
  std::string numbers = "a row of numbers";
  if (isLoss) {
    numbers = "a number";
  } else if (isOfPairs) {
    numbers = "a row of two or more numbers, one for each label, or a number, the grade,";
    fits &= isNumber || columns > 1;
  } else if (isOfClasses) {
    // A single number says how well a text fits.
    numbers = labels == Labelling::Texts ? "a row of numbers, one for each label,"
                                         : "a row of two or more numbers, one for each label,";
    fits &= columns > (labels == Labelling::Texts ? 0 : 1);
  } else if (name == "logits") {
    numbers = "a row of vocab_size numbers";
    fits &= columns == limits.vocabulary;
  } else if (name == "next") {
    numbers = "a row of two numbers";
    fits &= columns == 2;
  }
  if (fits)
    return true;
  fail(part->syntax->name.where) << "the value of '" << part->syntax->name.text << "', its last line, should be "
                                 << numbers << rows << ", but is " << describe(item);
  return false;
}

Value Elaborator::import(Value value) {
  if (isInScan(value.getParentBlock()))
    return value;
  value = importFromPart(value);
  return scanState ? capture(value) : value;
}

Value Elaborator::importFromPart(Value value) {
  auto functionOf = [](Value value) {
    Operation *parent = value.getParentBlock()->getParentOp();
    auto function = dyn_cast<func::FuncOp>(parent);
    return function ? function : parent->getParentOfType<func::FuncOp>();
  };
  func::FuncOp function = functionOf(value);
  if (function == part->function)
    return value;
  auto owner = llvm::find_if(parts, [&](const auto &state) { return state->function == function; });
  if (Value origin = (*owner)->origins.lookup(value))
    return importFromPart(origin);
  Value &known = part->imported[value];
  if (known)
    return known;
  if (auto port = dyn_cast<BlockArgument>(value)) {
    part->argumentAttrs.push_back((*owner)->argumentAttrs[port.getArgNumber()]);
    known = part->function.getBody().addArgument(value.getType(), value.getLoc());
  } else {
    known = addNamedPort(nameResult(**owner, value), /*role=*/"", typeOf(value), /*limit=*/0, value.getLoc());
  }
  part->origins[known] = value;
  return known;
}

/// The name of `value` among the results of `owner`; adds it as a result if necessary. The name is its binding in the
/// text, if it has one.
std::string Elaborator::nameResult(PartState &owner, Value value) {
  for (const auto &[name, result] : owner.results)
    if (result == value)
      return name;
  std::string name = (owner.syntax->name.text + "." + Twine(owner.results.size())).str();
  for (const auto &[bound, item] : owner.scope.items)
    if (const auto *tensor = item.as<TensorItem>(); tensor && tensor->value == value)
      name = bound;
  owner.results.push_back({name, value});
  return name;
}

void Elaborator::finishParts() {
  for (const auto &state : parts) {
    Location at = state->function.getLoc();
    SmallVector<Value> values;
    SmallVector<Attribute> attrs;
    for (const auto &[name, value] : state->results) {
      values.push_back(value);
      attrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr("heddle.name", builder.getStringAttr(name))));
    }
    builder.setInsertionPointToEnd(&state->function.getBody().front());
    func::ReturnOp::create(builder, at, values);
    state->function.setType(
        builder.getFunctionType(state->function.getBody().getArgumentTypes(), ValueRange(values).getTypes()));
    state->function.setArgAttrsAttr(builder.getArrayAttr(state->argumentAttrs));
    state->function.setResAttrsAttr(builder.getArrayAttr(attrs));
  }
}
