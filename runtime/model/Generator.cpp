#include "runtime/model/Generator.h"

#include "runtime/core/Span.h"

#include <set>

namespace heddle {

int64_t Generator::longest(size_t prompt) const { return std::min(int64_t(prompt) + options.tokens, maximumLength()); }

Status Generator::add(Prompt prompt) {
  auto length = int64_t(prompt.tokens.size());
  if (length == 0 || length >= maximumLength())
    return makeError(ErrorKind::InvalidArgument, "prompt ", prompt.number, " has ", length,
                     " tokens; the model continues 1 to ", maximumLength() - 1, " of them.");
  waiting.push_back(std::move(prompt));
  return Success();
}

// A sequence gets cache rows for all that it may become: one that is alone always finds them.
void Generator::admit() {
  while (!waiting.empty() && int64_t(jobs.size()) < model.maximumSequences) {
    Prompt &prompt = waiting.front();
    int64_t rows = longest(prompt.tokens.size());
    std::optional<int64_t> first = cacheRows.take(rows);
    if (!first)
      return;
    size_t length = prompt.tokens.size();
    jobs.push_back({prompt.number, std::move(prompt.tokens), length, *first, rows});
    waiting.pop_front();
  }
}

// Tokens that are in the middle of a prompt get a next one as well, the most probable one: nobody asks for it.
void Generator::addChoice(const Job &job, Choices &choices) const {
  bool isDrawn = job.isReadInStep();
  static const SamplingOptions greedy{.temperature = 0};
  const SamplingOptions &sampling = isDrawn && options.sampling ? *options.sampling : greedy;
  uint64_t key = randomKey(sampling.seed, job.number, job.tokens.size());
  auto row = int32_t(choices.temperature.size());
  choices.temperature.push_back(float(sampling.temperature));
  choices.topK.push_back(int32_t(std::min(sampling.topK, model.vocabularySize)));
  choices.topP.push_back(float(sampling.topP));
  choices.keyLow.push_back(int32_t(key));
  choices.keyHigh.push_back(int32_t(key >> 32));
  if (!isDrawn || options.repetitionPenalty == 1)
    return;
  std::span<const int32_t> seen = lastTokens(job.tokens, options.penaltyWindow);
  for (int32_t token : std::set(seen.begin(), seen.end())) { // a token counts once, however often it is there
    choices.seenRows.push_back(row);
    choices.seenTokens.push_back(token);
    choices.penalty.push_back(float(options.repetitionPenalty));
  }
}

void Generator::NewTokens::add(const Job &job, size_t place) {
  starts.push_back(int32_t(token.size()));
  lengths.push_back(1);
  token.push_back(job.tokens[place]);
  position.push_back(int32_t(place));
  rows.push_back(int32_t(job.firstRow) + int32_t(place));
  pastStarts.push_back(int32_t(job.firstRow));
  pastLengths.push_back(int32_t(place) + 1);
}

void Generator::NewTokens::addTo(CallInputs &inputs) const {
  inputs.add("token", token)
      .add("position", position)
      .add("query_starts", starts)
      .add("query_lengths", lengths)
      .add("cache_rows", rows)
      .add("cache_starts", pastStarts)
      .add("cache_lengths", pastLengths);
}

// Reads all but the last of each sequence's tokens, as many in a call as it holds. A layer writes the keys and values
// of all of them to the caches before any token attends, so a token sees its neighbours.
Status Generator::readPrompts() {
  for (bool isDone = !engine.hasEntry(kPrefill); !isDone;) {
    NewTokens tokens;
    for (Job &job : jobs)
      while (job.read + 1 < job.tokens.size() && int64_t(tokens.token.size()) < model.maximumTokens)
        tokens.add(job, job.read++);
    isDone = tokens.token.empty();
    CallInputs inputs;
    tokens.addTo(inputs);
    if (!isDone)
      HEDDLE_CHECK(engine.run(kPrefill, inputs));
  }
  return Success();
}

// One call of the entry, with a token of each sequence. A step that is run again computes the same.
Status Generator::runStep(std::string_view entry) {
  NewTokens tokens;
  Choices choices;
  for (const Job &job : jobs) {
    tokens.add(job, job.read);
    addChoice(job, choices);
  }
  CallInputs inputs;
  tokens.addTo(inputs);
  if (entry == kSampleStep)
    inputs.add("temperature", choices.temperature)
        .add("top_k", choices.topK)
        .add("top_p", choices.topP)
        .add("key_low", choices.keyLow)
        .add("key_high", choices.keyHigh)
        .add("seen_rows", choices.seenRows)
        .add("seen_tokens", choices.seenTokens)
        .add("penalty", choices.penalty);
  return engine.run(entry, inputs);
}

bool Generator::choseUnknown(std::span<const int32_t> next) const {
  size_t row = 0;
  return std::ranges::any_of(jobs,
                             [&](const Job &job) { return next[row++] >= model.knownTokens && job.isReadInStep(); });
}

// What is the largest of NaN is a token too. So where the host chooses, logits are looked at where a sequence begins,
// also without sampling.
bool Generator::needsLogits(const Job &job) const {
  return !drawsOnDevice && job.isReadInStep() &&
         (options.sampling || options.repetitionPenalty != 1 || job.tokens.size() == job.prompt);
}

Result<int32_t> Generator::chooseToken(const Job &job, int32_t ofDevice, std::span<const float> logits) const {
  if (ofDevice < 0)
    return logitsAreNoNumbers();
  bool isUnknown = ofDevice >= model.knownTokens;
  if (drawsOnDevice && !isUnknown)
    return ofDevice;
  HEDDLE_CHECK(checkLogits(logits));
  logits = logits.first(std::min(logits.size(), size_t(model.knownTokens)));
  std::vector<float> penalised;
  int32_t greedy = ofDevice;
  if (options.repetitionPenalty != 1) {
    penalised = penaliseRepetition(logits, lastTokens(job.tokens, options.penaltyWindow), options.repetitionPenalty);
    logits = penalised;
  }
  if (options.repetitionPenalty != 1 || isUnknown)
    greedy = int32_t(std::ranges::max_element(logits) - logits.begin());
  return options.sampling
             ? sample(logits, *options.sampling, uniform(options.sampling->seed, job.number, job.tokens.size()))
             : greedy;
}

std::optional<Continuation> Generator::advance(Job &job, int32_t token) const {
  if (!model.endsText(token))
    job.tokens.push_back(token);
  auto length = int64_t(job.tokens.size());
  std::span<const int32_t> continuation = std::span(job.tokens).subspan(job.prompt);
  std::optional<Ending> ending;
  if (model.endsText(token))
    ending = Ending::Mark;
  else if (watch && watch(job.number, continuation))
    ending = Ending::Wish;
  else if (length >= job.rows)
    ending = length < int64_t(job.prompt) + options.tokens ? Ending::Room : Ending::Length;
  if (!ending)
    return std::nullopt;
  return Continuation{job.number, {continuation.begin(), continuation.end()}, *ending};
}

Result<std::vector<Continuation>> Generator::step() {
  Result<std::vector<Continuation>> finished = decode();
  if (!finished.ok()) { // no later call is to find sequences that were given up
    for (const Job &job : jobs)
      cacheRows.giveBack(job.firstRow, job.rows);
    jobs.clear();
    waiting.clear();
  }
  return finished;
}

Result<std::vector<Continuation>> Generator::decode() {
  admit();
  std::vector<Continuation> finished;
  if (jobs.empty())
    return finished;
  Span span("decoding step");
  span.with("sequences", int64_t(jobs.size()));
  HEDDLE_CHECK(readPrompts());
  HEDDLE_CHECK(runStep(drawsOnDevice ? kSampleStep : kDecodeStep));
  HEDDLE_ASSIGN(HostTensor next, engine.output("next_token"));
  HostTensor logits;
  bool isUnknown = choseUnknown(next.values<int32_t>());
  if (isUnknown && drawsOnDevice) { // whose entry has no logits
    if (!engine.hasEntry(kDecodeStep))
      return makeError(ErrorKind::Unsupported, "the model chose a token that its vocabulary has no piece for, and the "
                                               "artifact has no entry 'decode_step' to choose another by; compile the "
                                               "model with all its entries.");
    HEDDLE_CHECK(runStep(kDecodeStep));
  }
  if (isUnknown || std::ranges::any_of(jobs, [&](const Job &job) { return needsLogits(job); })) {
    HEDDLE_ASSIGN(logits, engine.output("logits"));
  }
  size_t row = 0;
  for (auto job = jobs.begin(); job != jobs.end(); ++row) {
    std::span<const float> ofRow;
    if (auto pieces = size_t(model.vocabularySize); isUnknown || needsLogits(*job))
      ofRow = logits.values<float>().subspan(row * pieces, pieces);
    ++job->read;
    std::optional<Continuation> end;
    if (job->read == job->tokens.size()) {
      HEDDLE_ASSIGN(int32_t token, chooseToken(*job, next.values<int32_t>()[row], ofRow));
      end = advance(*job, token);
    }
    if (!end) {
      ++job;
      continue;
    }
    finished.push_back(std::move(*end));
    cacheRows.giveBack(job->firstRow, job->rows);
    job = jobs.erase(job);
  }
  return finished;
}

} // namespace heddle
