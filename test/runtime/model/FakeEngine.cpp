#include "test/runtime/model/FakeEngine.h"

#include "runtime/core/Safetensors.h"
#include "runtime/tokenizers/Tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace heddle::test {
namespace {

void mix(int32_t (&state)[2], uint64_t value) {
  uint64_t hash = (uint64_t(uint32_t(state[1])) << 32 | uint32_t(state[0])) ^ value;
  hash *= 0x9e3779b97f4a7c15;
  hash ^= hash >> 29;
  state[0] = int32_t(hash);
  state[1] = int32_t(hash >> 32);
}

} // namespace

FakeEngine::FakeEngine(int64_t maximumTokens, int64_t maximumSequences, int64_t maximumLength)
    : text(str(R"({"architecture": "transformer", "d_model": 8, "vocab_size": )", kVocabulary, R"(, "max_tokens": )",
               maximumTokens, R"(, "max_sequences": )", maximumSequences, R"(, "max_length": )", maximumLength,
               R"(, "beam": )", kBeam, R"(, "learning_rate": 0.5, "unk_id": 0, "bos_id": 1, "eos_id": 2})")),
      maximumTokens(maximumTokens), maximumSequences(maximumSequences), maximumLength(maximumLength),
      sourceCache(size_t(maximumTokens)), targetCache(size_t(maximumTokens), -1) {
  auto add = [](EntryInfo &entry, const std::string &of, const std::string &role, const std::string &name = {}) {
    PortInfo port{name.empty() ? of + "_" + role : name, ElementType::I32, {{"", 0}}};
    port.of = of, port.role = role;
    entry.inputs.push_back(port);
  };
  auto addSide = [&](EntryInfo &entry, const std::string &of, const std::string &tokens) {
    add(entry, of, "tokens", tokens);
    for (const char *role : {"positions", "starts", "lengths"})
      add(entry, of, role);
  };
  addSide(ofSource, "source", "source");
  ofText = ofSource;
  addSide(ofText, "target", "target_in");
  ofLoss = ofText;
  add(ofLoss, "target", "next", "target_out");
}

const EntryInfo *FakeEngine::findEntry(std::string_view entry) const {
  if (!entries.contains(entry))
    return nullptr;
  return entry == "encode" ? &ofSource : entry == "logits" ? &ofText : &ofLoss;
}

std::span<const int32_t> FakeEngine::ints(std::string_view name) const {
  for (const Input &input : inputs)
    if (input.name == name)
      return input.tensor.values<int32_t>();
  ADD_FAILURE() << "no input " << name;
  return {};
}

void FakeEngine::checkPacking(const std::string &side, size_t tokens) {
  auto positions = ints(side + "_positions"), starts = ints(side + "_starts"), lengths = ints(side + "_lengths");
  ASSERT_EQ(starts.size(), lengths.size());
  ASSERT_EQ(positions.size(), tokens);
  EXPECT_LE(int64_t(tokens), maximumTokens);
  EXPECT_LE(int64_t(starts.size()), maximumSequences);
  int32_t next = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    EXPECT_EQ(starts[i], next);
    EXPECT_LE(lengths[i], maximumLength);
    for (int32_t j = 0; j < lengths[i]; ++j)
      EXPECT_EQ(positions[size_t(next + j)], j);
    next += lengths[i];
  }
  EXPECT_EQ(size_t(next), tokens);
}

Status FakeEngine::run(std::string_view entry, std::span<const Input> given) {
  if (entry == failing)
    return makeError(ErrorKind::InvalidArgument, "'", entry, "' fails.");
  calls.emplace_back(entry);
  inputs = given;
  outputs.clear();
  if (entry == "train_step" || entry == "accumulate_step") {
    HEDDLE_CHECK(train());
  } else if (entry == "eval" || entry == "logits") {
    bool hasLabels = std::any_of(given.begin(), given.end(), [](const Input &in) { return in.name == "target_out"; });
    EXPECT_EQ(hasLabels, entry == "eval");
    evaluate();
    outputs.erase(entry == "eval" ? "logits" : "token_loss");
  } else if (entry == "encode") {
    encode();
  } else if (entry == "beam_step") {
    beamStep();
  }
  if (entry == "train_step" || entry == "apply_step") {
    ++step;
    mix(moments, uint64_t(weights[0]));
    outputs["learning_rate"] = HostTensor::vector<float>({1.0f / float(step)});
  }
  return Success();
}

Status FakeEngine::train() {
  checkPacking("source", ints("source").size());
  checkPacking("target", ints("target_in").size());
  for (const char *name : {"source", "target_in", "target_out"})
    for (int32_t id : ints(name))
      mix(weights, uint64_t(id));
  mix(weights, uint64_t(moments[1]));
  mix(weights, uint64_t(seed[0]));
  tokenScales.push_back(inputs.back().tensor.values<float>()[0]);
  float loss = float(uint32_t(weights[0]) % 100'000) * 1e-5f;
  if (step == nanAtStep)
    loss = std::numeric_limits<float>::quiet_NaN();
  if (step == explodeAtStep)
    loss = 1000;
  outputs["loss"] = HostTensor::vector<float>({loss});
  return Success();
}

// Returns the source backwards, by the position in the translation, whatever its tokens are; then the end mark.
int32_t FakeEngine::nextToken(std::span<const int32_t> source, std::span<const int32_t> prefix) {
  EXPECT_EQ(source.back() == kEndId, endsSources);
  if (endsSources)
    source = source.first(source.size() - 1);
  EXPECT_EQ(prefix[0], kBeginId);
  return prefix.size() > source.size() ? kEndId : source[source.size() - prefix.size()];
}

// Not normalized: all tokens together have a probability slightly above 1.
float FakeEngine::logProbabilityOf(int32_t token, int32_t predicted) {
  return token == predicted ? -0.01f : -5 - 0.1f * float(token);
}

void FakeEngine::evaluate() {
  auto source = ints("source"), in = ints("target_in");
  checkPacking("source", source.size());
  checkPacking("target", in.size());
  float loss = 0.5f;
  if (!validationLosses.empty()) {
    // A validation makes as many calls as its text has batches; they all get the loss of one step.
    if (step != validatedStep && validatedStep != -1)
      validationLosses.erase(validationLosses.begin());
    loss = validationLosses.empty() ? 0.5f : validationLosses.front();
    validatedStep = step;
  }
  std::vector<float> losses(in.size(), loss), logits(in.size() * kVocabulary);
  for (size_t i = 0; i < ints("target_starts").size(); ++i) {
    auto start = size_t(ints("target_starts")[i]), length = size_t(ints("target_lengths")[i]);
    auto words = source.subspan(size_t(ints("source_starts")[i]), size_t(ints("source_lengths")[i]));
    size_t last = start + length - 1;
    std::vector<int32_t> prefix(in.begin() + ptrdiff_t(start), in.begin() + ptrdiff_t(last) + 1);
    int32_t predicted = nextToken(words, prefix);
    for (int32_t token = 0; token < kVocabulary; ++token)
      logits[last * kVocabulary + size_t(token)] = logProbabilityOf(token, predicted);
  }
  outputs["token_loss"] = HostTensor::vector(losses);
  outputs["logits"] =
      std::move(HostTensor::create<float>({int64_t(in.size()), kVocabulary}, std::span<const float>(logits))).value();
}

void FakeEngine::encode() {
  auto source = ints("source"), rows = ints("memory_rows");
  checkPacking("source", source.size());
  ASSERT_EQ(rows.size(), source.size());
  for (size_t i = 0; i < source.size(); ++i)
    sourceCache.at(size_t(rows[i])) = source[i];
}

void FakeEngine::beamStep() {
  auto tokens = ints("token"), positions = ints("position"), groups = ints("group_starts"),
       sizes = ints("group_lengths");
  EXPECT_LE(int64_t(tokens.size()), maximumSequences);
  EXPECT_LE(int64_t(groups.size()), maximumSequences);
  std::vector<std::vector<int32_t>> next;
  std::vector<int32_t> predicted;
  for (size_t i = 0; i < tokens.size(); ++i) {
    auto position = size_t(positions[i]);
    EXPECT_LT(positions[i], maximumLength);
    EXPECT_EQ(ints("cache_lengths")[i], positions[i] + 1);
    next.push_back(position == 0 ? std::vector<int32_t>() : histories.at(size_t(ints("parent")[i])));
    EXPECT_EQ(next.back().size(), position);
    next.back().push_back(ints("cache_row")[i]);
    targetCache.at(size_t(next.back().back())) = tokens[i];
  }
  histories = next;
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::vector<int32_t> past;
    for (int32_t row : histories[i])
      past.push_back(targetCache.at(size_t(row)));
    auto words = std::span<const int32_t>(sourceCache)
                     .subspan(size_t(ints("source_starts")[i]), size_t(ints("source_lengths")[i]));
    predicted.push_back(nextToken(words, past));
  }
  auto given = std::find_if(inputs.begin(), inputs.end(), [](const Input &input) { return input.name == "score"; });
  std::span<const float> scores = given->tensor.values<float>();
  std::vector<float> best, losses;
  std::vector<int32_t> bestParents, bestTokens;
  for (size_t i = 0; i < tokens.size(); ++i)
    losses.push_back(-logProbabilityOf(ints("expected")[i], predicted[i]));
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<std::tuple<float, int32_t, int32_t>> all;
    for (int32_t i = groups[g]; i < groups[g] + sizes[g]; ++i)
      for (int32_t token = 0; token < kVocabulary; ++token)
        all.emplace_back(-(scores[size_t(i)] + logProbabilityOf(token, predicted[size_t(i)])), i, token);
    std::ranges::sort(all);
    for (size_t i = 0; i < 2 * kBeam; ++i) {
      best.push_back(-std::get<0>(all[i]));
      bestParents.push_back(std::get<1>(all[i]));
      bestTokens.push_back(std::get<2>(all[i]));
    }
  }
  Shape shape{int64_t(groups.size()), 2 * kBeam};
  outputs["best_score"] = std::move(HostTensor::create<float>(shape, std::span<const float>(best))).value();
  outputs["best_parent"] = std::move(HostTensor::create<int32_t>(shape, std::span<const int32_t>(bestParents))).value();
  outputs["best_token"] = std::move(HostTensor::create<int32_t>(shape, std::span<const int32_t>(bestTokens))).value();
  outputs["expected_loss"] = HostTensor::vector(losses);
}

Result<HostTensor> FakeEngine::output(std::string_view name) {
  auto found = outputs.find(name);
  if (found == outputs.end())
    return makeError(ErrorKind::NotFound, "no output '", name, "'");
  return HostTensor(std::move(found->second));
}

Result<PendingTensor> FakeEngine::outputLater(std::string_view name) {
  HEDDLE_ASSIGN(HostTensor value, output(name));
  auto kept = std::make_shared<HostTensor>(std::move(value));
  return PendingTensor([this, kept, isLoss = name == "loss"]() -> Result<HostTensor> {
    if (isLoss)
      lossReads.push_back(calls.size());
    return std::move(*kept);
  });
}

Result<PendingTensor> FakeEngine::variableLater(std::string_view name) {
  HEDDLE_ASSIGN(HostTensor value, readVariable(name));
  auto kept = std::make_shared<HostTensor>(std::move(value));
  return PendingTensor([kept]() -> Result<HostTensor> { return std::move(*kept); });
}

Status FakeEngine::init(uint64_t value) {
  seed[0] = int32_t(value);
  seed[1] = int32_t(value >> 32);
  step = moments[0] = moments[1] = weights[1] = 0;
  weights[0] = int32_t(value) + 1;
  return Success();
}

Result<HostTensor> FakeEngine::readVariable(std::string_view name) {
  if (name == "step")
    return HostTensor::vector<int32_t>({step});
  return makeError(ErrorKind::NotFound, "no variable '", name, "'");
}

Status FakeEngine::save(const std::filesystem::path &path, const VariableKinds &kinds) {
  if (failSaves)
    return makeError(ErrorKind::Io, "the disk is full");
  bool weightsOnly = kinds == kWeightsOnly;
  std::vector<SafetensorsEntry> entries;
  if (weightsOnly)
    entries = {{"w", ElementType::I32, {2}}};
  else
    entries = {{"adam.m.w", ElementType::I32, {2}}, {"seed", ElementType::I32, {2}}, {"step", ElementType::I32, {1}}};
  HEDDLE_ASSIGN(SafetensorsWriter writer, SafetensorsWriter::create(path, entries));
  if (weightsOnly) {
    HEDDLE_CHECK(writer.write(std::as_bytes(std::span(weights))));
  } else {
    HEDDLE_CHECK(writer.write(std::as_bytes(std::span(moments))));
    HEDDLE_CHECK(writer.write(std::as_bytes(std::span(seed))));
    HEDDLE_CHECK(writer.write(std::as_bytes(std::span(&step, 1))));
  }
  return writer.commit();
}

Status FakeEngine::load(const std::filesystem::path &path, const VariableKinds &kinds) {
  HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(path));
  auto read = [&](std::string_view name, std::span<int32_t> into) -> Status {
    HEDDLE_ASSIGN(HostTensor tensor, reader.read(name));
    std::ranges::copy(tensor.values<int32_t>(), into.begin());
    return Success();
  };
  if (kinds == kWeightsOnly)
    return read("w", weights);
  if (!forgetsMoments)
    HEDDLE_CHECK(read("adam.m.w", moments));
  HEDDLE_CHECK(read("seed", seed));
  return read("step", std::span(&step, 1));
}

} // namespace heddle::test
