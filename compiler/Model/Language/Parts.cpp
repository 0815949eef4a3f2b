// The parts of a model, and the functions that they become. compiler/Graph/Derive turns these functions into the
// entries of the artifact.
#include "compiler/Model/Language/Parts.h"

#include "compiler/Model/Language/Tasks.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;
using ::heddle::Labelling;

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
      if (syntax.name.text == kUpdate)
        continue; // heddle-elaborate-updates evaluates it, when the weights are known
      auto info = llvm::find_if(task->parts, [&](const PartInfo &info) { return info.name == syntax.name.text; });
      if (info == task->parts.end()) {
        if (!model.isOwnTask)
          continue;
        SmallVector<StringRef> names;
        for (const PartInfo &known : task->parts)
          names.push_back(known.name);
        names.push_back(kUpdate);
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

//===-- Weights and tensors ---------------------------------------------------------------------------------------===//

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
  if ((*weight)->shape.size() < 3)
    return readWeight(**weight, where);
  fail(where) << "the weight '" << (*weight)->name
              << "' has a matrix for each expert, and is there for the right side of "
              << "'@' alone";
  return {};
}

Value Elaborator::readWeight(const WeightItem &w, LocationAttr where) {
  Value &value = part->weights[w.name];
  if (value)
    return scanState ? capture(value) : value;
  SmallVector<int64_t> shape(w.shape);
  if (shape.size() == 3)
    shape = {w.shape[0] * w.shape[1], w.shape[2]};
  auto type = RankedTensorType::get(shape, builder.getF32Type());
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
    return side->name == kPair ? " for each pair" : " for each token of '" + side->name + "'";
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
  bool isOfPairs = task->labels == Labelling::Pairs || task->labels == Labelling::Partners;
  for (const Name &input : syntax.inputs) {
    addPorts(input);
    if (info.name == "logits" && task->labels == Labelling::Hidden)
      addLabelled(input);
    if (info.name == "loss" && !isOfPairs)
      addLabels(input);
  }
  if (info.name == "logits" && task->labels == Labelling::Partners)
    addPartners(syntax.name.where);
  if (info.name == "loss" && isOfPairs)
    addPairLabels(task->labels == Labelling::Pairs ? StringRef(kSequences) : sideNamed(kPair)->tokens,
                  syntax.name.where);
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
  if (const TensorItem *scores = scoresOrNull(item); scores && task->labels == Labelling::Partners) {
    value = rowsOfScores(*scores, syntax.name.where);
    if (!value)
      return;
  }
  if (!checkValue(info.name, item, typeOf(value)))
    return;
  if (info.name == "loss" && isOfPairs && llvm::failed(chooseLabels(syntax.name.where)))
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
  bool isOfPartners = labels == Labelling::Partners && (isLoss || name == "logits");
  bool isOfPairs = (labels == Labelling::Pairs || labels == Labelling::Partners) && name == "logits";
  bool isOfSequences = name == "pooled" || name == "next" || name == "sentence_loss" || isOfPairs ||
                       (labels == Labelling::Pairs && isLoss) ||
                       (labels == Labelling::Texts && (isOfClasses || isLoss));
  bool isOfHidden = labels == Labelling::Hidden && (name == "logits" || name == "loss");
  std::string rows = isOfPartners    ? " for each pair"
                     : isOfSequences ? " for each sequence"
                     : isOfHidden    ? " for each labelled token"
                                     : " for each token";
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
    numbers = isOfPartners ? "scores, as pairs() makes them, or a number, the grade,"
                           : "a row of two or more numbers, one for each label, or a number, the grade,";
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
