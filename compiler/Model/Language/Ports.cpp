// The sizes and ports of a part's inputs: tokens, pixels, neighbours, sentences and labels.
#include "compiler/Model/Language/Parts.h"
#include "compiler/Model/Language/Tasks.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;
using ::heddle::Labelling;

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
  if (findTask(model.task)->labels == Labelling::Partners) {
    auto pairs = std::make_unique<Side>();
    pairs->name = kPair;
    pairs->tokens = "pairs";
    pairs->longest = "pair_length";
    pairs->most = std::max<int64_t>(limits.maxSequences / 2, 1);
    addSize(pairs->tokens, pairs->most);
    addSize(kPairGroups, 1);
    addSize(pairs->longest, pairs->most, "pair_lengths");
    sides.push_back(std::move(pairs));
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

/// `pair.left` and `pair.right`: for each pair, the sequences of the source that are its texts. All pairs of a call are
/// one group, whose texts are compared with each other.
void Elaborator::addPartners(LocationAttr where) {
  Side &side = *sideNamed(kPair);
  for (StringRef text : {"left", "right"})
    part->scope.items[(kPair + "." + text).str()] =
        make(addPort(kPair, text, columnOf(side.tokens), limits.maxSequences, where));
  side.starts = addPort(kPair, "starts", columnOf(kPairGroups), side.most + 1, where);
  side.lengths = addPort(kPair, "lengths", columnOf(kPairGroups), side.most + 1, where);
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

/// Adds `pair.label` and `pair.grade`. chooseLabels() removes the one that the loss does not read. `pairs` is the size
/// that counts the pairs.
void Elaborator::addPairLabels(StringRef pairs, LocationAttr where) {
  part->scope.items["pair.label"] = make(addPort(kPair, "label", columnOf(pairs), /*limit=*/0, where));
  auto column = RankedTensorType::get({ShapedType::kDynamic}, builder.getF32Type(), columnOf(pairs).getEncoding());
  part->scope.items["pair.grade"] = make(addPort(kPair, "grade", column, /*limit=*/0, where));
}

/// Removes the port of pairs that the loss does not read. Logits with several columns go with labels, and logits with
/// one number per pair go with grades.
LogicalResult Elaborator::chooseLabels(LocationAttr where) {
  auto port = [&](StringRef name) {
    return cast<BlockArgument>(part->scope.items.find(name)->second.as<TensorItem>()->value);
  };
  const PartState &logits = *parts[parts.size() - 2];
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
