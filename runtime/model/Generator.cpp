#include "runtime/model/Generator.h"

#include "runtime/core/Span.h"

#include <cmath>
#include <set>

namespace heddle {

int64_t Generator::longest(size_t prompt, const GenerationOptions &options) const {
  int64_t left = std::max<int64_t>(maximumLength() - int64_t(prompt), 0);
  return int64_t(prompt) + std::min(options.tokens, left);
}

Status Generator::add(Prompt prompt) {
  auto length = int64_t(prompt.tokens.size());
  bool isRead = prompt.options.tokens == 0; // only read, not continued
  if (length == 0 || length >= maximumLength() + (isRead ? 1 : 0))
    return makeError(ErrorKind::InvalidArgument, "prompt ", prompt.number, " has ", length,
                     " tokens; the model continues 1 to ", maximumLength() - 1, " of them.");
  auto unknown = std::ranges::find_if(prompt.tokens, [&](int32_t id) { return id < 0 || id >= model.vocabularySize; });
  if (unknown != prompt.tokens.end())
    return makeError(ErrorKind::InvalidArgument, "prompt ", prompt.number, " has the token ", *unknown,
                     "; the model has tokens from 0 to ", model.vocabularySize - 1, ".");
  if (std::string_view entry = entryOf(engine, prompt.options); entry == kDecodeStep && !engine.hasEntry(entry))
    return makeError(ErrorKind::Unsupported, "the artifact has no entry '", entry,
                     "', by which the host chooses tokens; compile the model with all its entries.");
  waiting.push_back({std::move(prompt)});
  return Success();
}

bool Generator::cancel(uint64_t number) {
  if (std::erase_if(waiting, [&](const Waiting &each) { return each.prompt.number == number; }) != 0)
    return true;
  auto job = std::ranges::find(jobs, number, &Job::number);
  if (job == jobs.end())
    return false;
  release(*job);
  jobs.erase(job);
  return true;
}

void Generator::cancelAll() {
  for (Job &job : jobs)
    release(job);
  jobs.clear();
  waiting.clear();
}

// A prompt that does not fit lets others pass, but not forever.
void Generator::admit() {
  for (auto next = waiting.begin(); next != waiting.end() && int64_t(jobs.size()) < model.maximumSequences;) {
    if (admit(*next)) {
      for (auto before = waiting.begin(); before != next; ++before)
        ++before->overtaken;
      next = waiting.erase(next);
    } else if (next->overtaken >= kMostOvertakes || next->continued != 0) {
      return;
    } else {
      ++next;
    }
  }
}

// A sequence first gets rows for its prompt and its share of the remaining rows, and more when it needs them. A
// sequence that can become only a little longer gets all rows at once.
bool Generator::admit(Waiting &next) {
  Prompt &prompt = next.prompt;
  auto length = int64_t(prompt.tokens.size());
  int64_t end = longest(size_t(length) - next.continued, prompt.options);
  int64_t share = std::max<int64_t>(model.cacheRows / model.maximumSequences, 16);
  int64_t count = end - length <= 2 * share ? end : length + share;
  bool reuses = limits.keepsTexts && !prompt.options.scoresPrompt;
  std::optional<SequenceRows::Reused> rows = rowsFor(prompt.tokens, count, count < end, reuses);
  if (!rows)
    return false;
  bool drawsOnDevice = entryOf(engine, prompt.options) == kSampleStep;
  size_t prompted = prompt.tokens.size() - next.continued;
  int64_t read = std::min(rows->tokens, length - 1);
  jobs.push_back({prompt.number, std::move(prompt.tokens), prompted, std::move(prompt.options), prompt.draws,
                  rows->range, drawsOnDevice, size_t(read), next.continued != 0 ? next.reused : read,
                  std::move(next.scores), std::move(next.promptScores)});
  return true;
}

// A kept text gives its rows away if little of it is lost: the text of a conversation to its next turn. Other texts
// stay, and the shared rows are copied later. If there is no room for both, the kept text gives way.
std::optional<SequenceRows::Reused> Generator::rowsFor(std::span<const int32_t> tokens, int64_t count, bool mayGrow,
                                                       bool reuses) {
  if (reuses)
    if (std::optional<SequenceRows::Reused> reused = cacheRows.reuse(tokens, count, kLeastShared))
      return reused;
  std::optional<SequenceRange> rows = cacheRows.take(count, mayGrow, reuses ? tokens : std::span<const int32_t>());
  if (!rows && reuses) {
    if (std::optional<SequenceRows::Reused> reused = cacheRows.reuse(tokens, count, int64_t(tokens.size())))
      return reused;
    rows = cacheRows.take(count, mayGrow);
  }
  return rows ? std::optional(SequenceRows::Reused{*rows}) : std::nullopt;
}

// A sequence that has filled its rows gets twice as many, in place or elsewhere. If elsewhere, its rows are copied, or
// its tokens are read again. If there is no room, the newest sequence waits until there is. A sequence that is alone
// always finds room.
Status Generator::growRows() {
  for (auto job = jobs.begin(); job != jobs.end();) {
    auto length = int64_t(job->tokens.size());
    if (length <= job->rows.count) {
      ++job;
      continue;
    }
    int64_t count = std::min(longest(job->prompt, job->options), 2 * length);
    SequenceRange old = job->rows;
    if (old.count != 0 && (cacheRows.grow(job->rows, count) || cacheRows.grow(job->rows, length))) {
      ++job;
      continue;
    }
    auto take = [&] {
      std::optional<SequenceRange> rows = cacheRows.take(count, true);
      return rows ? rows : cacheRows.take(length, true);
    };
    std::optional<SequenceRange> rows;
    if (old.count != 0 && limits.keepsTexts)
      rows = take();
    if (rows) // beside the old rows
      HEDDLE_CHECK(engine.copyCacheRows(model.cacheRows, old.first, rows->first, int64_t(job->read)));
    else
      job->read = 0;
    if (old.count != 0)
      cacheRows.giveBack(old);
    if (!rows)
      rows = take();
    job->rows = rows.value_or(SequenceRange());
    if (rows) {
      ++job;
      continue;
    }
    auto last = std::prev(jobs.end());
    bool isLast = last == job;
    putBack(last);
    if (isLast)
      break;
  }
  return Success();
}

// Its rows stay until they are needed, as those of a finished text.
void Generator::putBack(std::list<Job>::iterator job) {
  std::span<const int32_t> read = std::span(job->tokens).first(job->read);
  if (job->rows.count != 0 && limits.keepsTexts)
    cacheRows.keep(job->rows, {read.begin(), read.end()});
  else if (job->rows.count != 0)
    cacheRows.giveBack(job->rows);
  size_t continued = job->tokens.size() - job->prompt;
  waiting.push_front({{job->number, std::move(job->tokens), std::move(job->options), job->draws},
                      continued,
                      std::move(job->scores),
                      std::move(job->promptScores),
                      kMostOvertakes,
                      job->reused});
  jobs.erase(job);
}

void Generator::release(Job &job) {
  if (!limits.keepsTexts || (job.end && job.end->error))
    return cacheRows.giveBack(job.rows);
  job.tokens.resize(job.read);
  cacheRows.keep(job.rows, std::move(job.tokens));
}

// A token in the middle of a prompt also gets a next token, the most probable one, which is ignored.
void Generator::addChoice(const Row &of, Choices &choices) const {
  const Job &job = *of.job;
  bool isDrawn = job.isLast(of.place);
  static const SamplingOptions greedy{.temperature = 0};
  const SamplingOptions &sampling = isDrawn && job.options.sampling ? *job.options.sampling : greedy;
  uint64_t key = randomKey(sampling.seed, job.draws, job.tokens.size());
  auto row = int32_t(choices.temperature.size());
  choices.temperature.push_back(float(sampling.temperature));
  choices.topK.push_back(int32_t(std::min(sampling.topK, model.vocabularySize)));
  choices.topP.push_back(float(sampling.topP));
  choices.keyLow.push_back(int32_t(key));
  choices.keyHigh.push_back(int32_t(key >> 32));
  if (!isDrawn || job.options.repetitionPenalty == 1)
    return;
  std::span<const int32_t> seen = lastTokens(job.tokens, job.options.penaltyWindow);
  for (int32_t token : std::set(seen.begin(), seen.end())) { // a repeated token is penalized once
    choices.seenRows.push_back(row);
    choices.seenTokens.push_back(token);
    choices.penalty.push_back(float(job.options.repetitionPenalty));
  }
}

void Generator::NewTokens::add(const Row &row) {
  auto first = int32_t(row.job->rows.first), place = int32_t(row.place);
  starts.push_back(int32_t(token.size()));
  lengths.push_back(1);
  token.push_back(row.job->tokens[row.place]);
  position.push_back(place);
  rows.push_back(first + place);
  pastStarts.push_back(first);
  pastLengths.push_back(place + 1);
}

void Generator::NewTokens::addTo(CallInputs &inputs, const EntryInfo *entry) const {
  auto isStarts = [](const PortInfo &port) { return port.name == "query_starts"; };
  if (!entry ||
      std::ranges::any_of(entry->inputs, isStarts)) // artifacts of version 11 know that prompts' tokens are in order
    inputs.add("query_starts", starts);
  inputs.add("token", token)
      .add("position", position)
      .add("query_lengths", lengths)
      .add("cache_rows", rows)
      .add("cache_starts", pastStarts)
      .add("cache_lengths", pastLengths);
}

Status Generator::copyPrefixes() {
  for (Job &job : jobs)
    if (limits.keepsTexts && !job.end && !job.isLast(job.read) && !job.options.scoresPrompt)
      HEDDLE_CHECK(copyPrefix(job));
  return Success();
}

// Copies the rows of the longest prefix that a kept text or another sequence has in the caches, if the sequence itself
// has not read as much.
Status Generator::copyPrefix(Job &job) {
  int64_t first = 0, shared = 0;
  if (std::optional<SequenceRows::Reused> found = cacheRows.find(job.tokens)) {
    first = found->range.first;
    shared = found->tokens;
  }
  for (const Job &other : jobs)
    if (&other != &job)
      if (int64_t both = sharedTokens(std::span(other.tokens).first(other.read), job.tokens); both > shared) {
        first = other.rows.first;
        shared = both;
      }
  auto read = int64_t(job.read);
  shared = std::min(shared, int64_t(job.tokens.size()) - 1);
  if (shared - read < kLeastShared)
    return Success();
  HEDDLE_CHECK(engine.copyCacheRows(model.cacheRows, first + read, job.rows.first + read, shared - read));
  job.read = size_t(shared);
  if (job.continuation().empty()) // otherwise the prompt has been read before
    job.reused = shared;
  return Success();
}

// Returns true if an older sequence is about to read a prefix that this one can copy then.
bool Generator::followsAnother(const Job &job) const {
  if (!limits.keepsTexts || job.options.scoresPrompt)
    return false;
  for (const Job &older : jobs) {
    if (&older == &job)
      return false;
    bool isReading = !older.end && !older.isLast(older.read) && older.unscored() == 0 && older.read >= job.read;
    if (isReading && sharedTokens(older.tokens, job.tokens) - int64_t(job.read) >= kLeastShared + 1)
      return true;
  }
  return false;
}

// Reads all but the last token of each sequence, within the limit of tokens before a step. Sequences share the limit
// evenly, so that a short prompt does not wait for a long one. Each layer writes the keys and values of all tokens of a
// call to the caches before any token attends, so a token also attends to earlier tokens of the same call.
Status Generator::readPrompts() {
  if (!readsAhead)
    return Success();
  int64_t left = limits.promptTokens > 0 ? limits.promptTokens : std::numeric_limits<int64_t>::max();
  while (left > 0) {
    std::vector<Job *> unread;
    for (Job &job : jobs)
      if (!job.end && !job.isLast(job.read) && job.unscored() == 0 && !followsAnother(job))
        unread.push_back(&job);
    std::ranges::stable_sort(unread, {}, [](const Job *job) { return job->tokens.size() - job->read; });
    NewTokens tokens;
    int64_t room = std::min(left, model.maximumTokens);
    for (size_t i = 0; i < unread.size(); ++i) {
      Job &job = *unread[i];
      auto others = int64_t(unread.size() - i);
      for (int64_t share = (room + others - 1) / others; share > 0 && !job.isLast(job.read); --share, --room)
        tokens.add({&job, job.read++});
    }
    if (tokens.token.empty())
      return Success();
    left -= int64_t(tokens.token.size());
    CallInputs inputs;
    tokens.addTo(inputs, engine.findEntry(kPrefill));
    HEDDLE_CHECK(engine.run(kPrefill, inputs));
    HEDDLE_CHECK(copyPrefixes());
  }
  return Success();
}

Status Generator::runStep(std::string_view entry, std::span<const Row> rows) {
  NewTokens tokens;
  Choices choices;
  for (const Row &row : rows) {
    tokens.add(row);
    if (entry == kSampleStep)
      addChoice(row, choices);
  }
  CallInputs inputs;
  tokens.addTo(inputs, engine.findEntry(entry));
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

void Generator::finish(Job &job, Ending ending, std::optional<Error> error) {
  std::span<const int32_t> continuation = job.continuation();
  job.end = Continuation{job.number,
                         {continuation.begin(), continuation.end()},
                         ending,
                         std::move(job.scores),
                         std::move(job.promptScores),
                         std::move(error),
                         job.reused};
}

void Generator::advance(Job &job, int32_t token) {
  if (!job.options.ignoresEnd && model.endsText(token)) {
    if (job.scores.size() > job.tokens.size() - job.prompt)
      job.scores.pop_back();
    return finish(job, Ending::Mark);
  }
  job.tokens.push_back(token);
  auto length = int64_t(job.tokens.size());
  if (watch && watch({job.number, job.continuation(), job.scores}))
    finish(job, Ending::Wish);
  else if (length - int64_t(job.prompt) >= job.options.tokens)
    finish(job, Ending::Length);
  else if (length >= maximumLength())
    finish(job, Ending::Room);
}

// Advances the sequences whose tokens the device draws. If it draws a token without a piece, the host chooses again:
// repeating a step computes the same values.
Status Generator::drawOnDevice(std::vector<Row> &forHost) {
  std::vector<Row> rows;
  for (Job &job : jobs)
    if (job.drawsOnDevice && !job.end && (!readsAhead || job.isLast(job.read)))
      rows.push_back({&job, job.read});
  if (rows.empty())
    return Success();
  HEDDLE_CHECK(runStep(kSampleStep, rows));
  HEDDLE_ASSIGN(HostTensor drawn, engine.output("next_token"));
  std::span<const int32_t> next = drawn.values<int32_t>();
  for (size_t i = 0; i < rows.size(); ++i) {
    Job &job = *rows[i].job;
    if (!job.isLast(job.read++))
      continue;
    if (next[i] < 0)
      finish(job, Ending::Error, logitsAreNoNumbers());
    else if (next[i] < model.knownTokens)
      advance(job, next[i]);
    else if (engine.hasEntry(kDecodeStep))
      forHost.push_back(rows[i]);
    else
      finish(job, Ending::Error,
             makeError(ErrorKind::Unsupported,
                       "the model chose a token that its vocabulary has no piece for, and the artifact has no entry "
                       "'decode_step' to choose another by; compile the model with all its entries."));
  }
  return Success();
}

// The argmax of NaN logits is a token too. So if the host chooses, it checks the logits at the start of each sequence,
// even without sampling.
bool Generator::needsLogits(const Row &row) const {
  const Job &job = *row.job;
  if (job.options.alternatives || (job.options.scoresPrompt && !job.isLast(row.place)))
    return true;
  return job.isLast(row.place) && (job.drawsOnDevice || job.options.sampling || job.options.repetitionPenalty != 1 ||
                                   job.tokens.size() == job.prompt);
}

static TokenScore scoreOf(std::span<const float> logits, int32_t token, int64_t alternatives) {
  double largest = *std::ranges::max_element(logits), sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - largest);
  double scale = largest + std::log(sum);
  auto of = [&](int32_t id) { return float(double(logits[size_t(id)]) - scale); };
  TokenScore score{of(token)};
  if (alternatives > 0)
    for (int32_t id : mostProbable(logits, size_t(alternatives)))
      score.best.push_back({id, of(id)});
  return score;
}

// Runs the rows for which the host chooses (one token per sequence) or scores prompt tokens (as many as fit).
Status Generator::chooseOnHost(std::span<const Row> rows) {
  if (rows.empty())
    return Success();
  HEDDLE_CHECK(runStep(kDecodeStep, rows));
  HEDDLE_ASSIGN(HostTensor chosen, engine.output("next_token"));
  std::span<const int32_t> next = chosen.values<int32_t>();
  bool isUnknown = std::ranges::any_of(next, [&](int32_t token) { return token >= model.knownTokens; });
  HostTensor all;
  if (isUnknown || std::ranges::any_of(rows, [&](const Row &row) { return needsLogits(row); })) {
    HEDDLE_ASSIGN(all, engine.output("logits"));
  }
  auto pieces = size_t(model.vocabularySize);
  for (size_t i = 0; i < rows.size(); ++i) {
    auto [job, place] = rows[i];
    if (job->end)
      continue;
    job->read = std::max(job->read, place + 1);
    std::span<const float> logits;
    if (next[i] >= model.knownTokens || needsLogits(rows[i]))
      logits = all.values<float>().subspan(i * pieces, pieces);
    if (!logits.empty())
      if (Status numbers = checkLogits(logits); !numbers.ok()) {
        finish(*job, Ending::Error, numbers.error());
        continue;
      }
    int64_t alternatives = job->options.alternatives.value_or(0);
    if (!job->isLast(place)) {
      if (job->options.scoresPrompt && place + 1 < job->prompt && job->promptScores.size() == place)
        job->promptScores.push_back(scoreOf(logits, job->tokens[place + 1], alternatives));
      continue;
    }
    Result<int32_t> token = chooseToken(*job, next[i], logits);
    if (!token.ok()) {
      finish(*job, Ending::Error, token.error());
      continue;
    }
    if (job->options.alternatives)
      job->scores.push_back(scoreOf(logits, *token, alternatives));
    advance(*job, *token);
  }
  return Success();
}

Result<int32_t> Generator::chooseToken(const Job &job, int32_t ofDevice, std::span<const float> logits) const {
  if (ofDevice < 0)
    return logitsAreNoNumbers();
  bool isUnknown = ofDevice >= model.knownTokens;
  if (logits.empty())
    return ofDevice;
  logits = logits.first(std::min(logits.size(), size_t(model.knownTokens)));
  std::vector<float> penalised;
  int32_t greedy = ofDevice;
  if (job.options.repetitionPenalty != 1) {
    penalised =
        penaliseRepetition(logits, lastTokens(job.tokens, job.options.penaltyWindow), job.options.repetitionPenalty);
    logits = penalised;
  }
  if (job.options.repetitionPenalty != 1 || isUnknown)
    greedy = int32_t(std::ranges::max_element(logits) - logits.begin());
  return job.options.sampling
             ? sample(logits, *job.options.sampling, uniform(job.options.sampling->seed, job.draws, job.tokens.size()))
             : greedy;
}

Result<std::vector<Continuation>> Generator::step() {
  Result<std::vector<Continuation>> finished = decode();
  if (!finished.ok()) { // later calls must not find these sequences or their cache rows
    cancelAll();
    cacheRows.forgetKept();
  }
  return finished;
}

Result<std::vector<Continuation>> Generator::decode() {
  HEDDLE_CHECK(growRows());
  admit();
  std::vector<Continuation> finished;
  if (jobs.empty())
    return finished;
  Span span("decoding step");
  span.with("sequences", int64_t(jobs.size()));
  auto finishRead = [&] { // for prompts that are only read
    for (Job &job : jobs)
      if (job.options.tokens == 0 && !job.end && job.unscored() == 0)
        finish(job, Ending::Length);
  };
  finishRead();
  HEDDLE_CHECK(copyPrefixes());
  HEDDLE_CHECK(readPrompts());
  std::vector<Row> forHost;
  HEDDLE_CHECK(drawOnDevice(forHost));
  // Prompts that are being scored share the rows that no sequence takes.
  int64_t taken = int64_t(forHost.size());
  for (Job &job : jobs)
    taken += job.drawsOnDevice || job.end ? 0 : 1;
  for (Job &job : jobs) {
    if (job.drawsOnDevice || job.end)
      continue;
    size_t unscored = job.unscored();
    if (unscored != 0 && readsAhead) {
      auto more = std::min<int64_t>(int64_t(unscored) - 1, model.maximumSequences - taken);
      taken += more;
      for (int64_t i = 0; i <= more; ++i)
        forHost.push_back({&job, job.read + size_t(i)});
    } else if (!readsAhead || job.isLast(job.read)) {
      forHost.push_back({&job, job.read});
    }
  }
  HEDDLE_CHECK(chooseOnHost(forHost));
  finishRead();
  for (auto job = jobs.begin(); job != jobs.end();) {
    if (!job->end) {
      ++job;
      continue;
    }
    finished.push_back(std::move(*job->end));
    release(*job);
    job = jobs.erase(job);
  }
  return finished;
}

} // namespace heddle
