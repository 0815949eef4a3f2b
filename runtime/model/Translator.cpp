#include "runtime/model/Translator.h"

#include "runtime/core/Span.h"

#include <limits>
#include <numeric>
#include <utility>

namespace heddle {
namespace {

constexpr int64_t kExtraTokens = 50;

} // namespace

Translator::Translator(Engine &engine, const ModelDescription &model, TranslationOptions options)
    : model(model), options(options), steps(options.cache ? DecodingSteps::cached(engine, model)
                                                          : DecodingSteps::uncached(engine, model, options.beam)),
      sourceRows(model.maximumTokens), freeRows(size_t(model.cacheRows)) {
  std::iota(freeRows.rbegin(), freeRows.rend(), 0); // the first rows are taken first
}

Status Translator::check(const Engine &engine, const ModelDescription &model, const TranslationOptions &options) {
  if (options.beam < 1)
    return makeError(ErrorKind::InvalidArgument, "a beam of ", options.beam, " keeps no translation; 1 is the least.");
  auto has = [&](std::string_view entry) { return engine.hasEntry(entry); };
  if (!options.cache && !has("logits"))
    return makeError(ErrorKind::Unsupported, "the artifact has no entry 'logits', which translation without a cache "
                                             "needs; compile the model with --set logits_entry=true.");
  if (options.cache && !(has("encode") && has("beam_step")))
    return makeError(ErrorKind::Unsupported, "the artifact has no entries 'encode' and 'beam_step', which translation "
                                             "needs; compile the model anew, with all its entries.");
  if (options.cache && options.beam > model.widestBeam)
    return makeError(ErrorKind::InvalidArgument, "a beam of ", options.beam, " is wider than the ", model.widestBeam,
                     " that the model was compiled for; compile it with --set beam=", options.beam, ".");
  int64_t hypotheses = BeamSearch::mostHypotheses(options.beam);
  if (hypotheses > std::min(model.maximumSequences, model.cacheRows))
    return makeError(ErrorKind::InvalidArgument, "a beam of ", options.beam, " takes ", hypotheses,
                     " sequences a sentence, and the model was compiled for max_sequences = ", model.maximumSequences,
                     " and ", model.cacheRows, " rows of caches; compile it with more.");
  return Success();
}

// Limits a translation so that a single sentence always fits into the caches.
int64_t Translator::maximumLength(int64_t sourceLength, int64_t beam) const {
  int64_t tokens = options.maximumLength != 0 ? options.maximumLength : sourceLength + kExtraTokens;
  return std::min({tokens, model.maximumLength, model.cacheRows / BeamSearch::mostHypotheses(beam)});
}

// Translations are about as long as their sources; room for the maximum length is rarely needed.
int64_t Translator::expectedRows(const TranslationRequest &request) const {
  int64_t length = lengthOf(request);
  int64_t beam = beamOf(request);
  return BeamSearch::mostHypotheses(beam) * std::min(maximumLength(length, beam), length + length / 4 + 4);
}

Status Translator::checkLengths(const TranslationRequest &request) const {
  auto length = int64_t(request.source.size()), prefix = int64_t(request.prefix.size());
  if (request.pixels.empty() && (length == 0 || length > maximumSourceLength()))
    return makeError(ErrorKind::InvalidArgument, "source ", request.number, " has ", length,
                     " tokens; the model translates 1 to ", maximumSourceLength(), " of them.");
  if (request.beam < 0 || (request.beam > model.widestBeam && options.cache))
    return makeError(ErrorKind::InvalidArgument, "source ", request.number, " asks for a beam of ", request.beam,
                     "; the model was compiled for 1 to ", model.widestBeam, ".");
  if (int64_t most = maximumLength(lengthOf(request), beamOf(request)) - 1; prefix > most)
    return makeError(ErrorKind::InvalidArgument, "the translation of source ", request.number, " is to begin with ",
                     prefix, " tokens; there is room for ", most, ".");
  return Success();
}

Status Translator::add(TranslationRequest request) {
  HEDDLE_CHECK(checkLengths(request));
  queue(std::move(request));
  return Success();
}

void Translator::queue(TranslationRequest request) {
  auto length = size_t(rowsOf(request));
  waiting.emplace(length, std::move(request));
}

std::optional<Translator::Job> Translator::makeRoom(TranslationRequest &request, int64_t promisedRows) {
  int64_t rows = expectedRows(request);
  if (int64_t(freeRows.size()) < promisedRows + rows)
    return std::nullopt;
  std::optional<int64_t> sourceRow = sourceRows.take(rowsOf(request));
  if (!sourceRow)
    return std::nullopt;
  int64_t beam = beamOf(request);
  SearchOptions search{.width = beam,
                       .lengthPenalty = options.lengthPenalty,
                       .maximumLength = maximumLength(lengthOf(request), beam),
                       .end = model.marks.end,
                       .rule = options.rule,
                       .forcesEnd = options.forcesEnd};
  BeamSearch start(search, request.prefix);
  return Job{std::move(request), std::move(start), *sourceRow, {}, rows, 0};
}

// Admits sentences together: an encoder call for many costs little more than for one. So it waits until there is room
// for a quarter of the sentences in work, or for all waiting ones. The longest go first, beside others of similar
// length.
Status Translator::admit() {
  int64_t promised = 0, tokens = 0;
  for (const Job &job : jobs)
    promised += std::max<int64_t>(job.expectedRows - int64_t(job.cacheRows.size()), 0);
  std::list<Job> fresh;
  int64_t hypotheses = 0;
  for (const Job &job : jobs)
    hypotheses += BeamSearch::mostHypotheses(beamOf(job.request));
  for (auto next = waiting.end(); next != waiting.begin();) {
    --next;
    hypotheses += BeamSearch::mostHypotheses(beamOf(next->second));
    if (hypotheses > model.maximumSequences)
      break;
    tokens += int64_t(next->first);
    std::optional<Job> job = tokens <= model.maximumTokens ? makeRoom(next->second, promised) : std::nullopt;
    if (!job)
      break;
    promised += job->expectedRows;
    fresh.push_back(std::move(*job));
    next = waiting.erase(next);
  }
  if (fresh.empty())
    return Success();
  if (4 * fresh.size() < jobs.size() && !waiting.empty()) {
    for (Job &job : fresh) {
      sourceRows.giveBack(job.sourceRow, rowsOf(job.request));
      queue(std::move(job.request));
    }
    return Success();
  }
  std::vector<DecodingSource> sources;
  for (const Job &job : fresh)
    sources.push_back({job.request.source, job.sourceRow, job.request.pixels});
  Span span("encode");
  span.with("sentences", int64_t(sources.size()));
  jobs.splice(jobs.end(), fresh);
  return steps->encode(sources);
}

bool Translator::cancel(uint64_t number) {
  if (std::erase_if(waiting, [&](const auto &each) { return each.second.number == number; }) != 0)
    return true;
  auto job = std::ranges::find(jobs, number, [](const Job &each) { return each.request.number; });
  if (job == jobs.end())
    return false;
  // The other sentences' hypotheses keep their places from the last step.
  release(*job);
  jobs.erase(job);
  return true;
}

void Translator::release(Job &job) {
  sourceRows.giveBack(job.sourceRow, rowsOf(job.request));
  freeRows.insert(freeRows.end(), job.cacheRows.begin(), job.cacheRows.end());
}

// Takes a row for each hypothesis. If sentences become longer than expected and the caches are full, the newest
// sentence starts over later.
void Translator::takeCacheRows() {
  auto needed = [&] {
    size_t count = 0;
    for (const Job &job : jobs)
      count += job.search.open().size();
    return count;
  };
  while (needed() > freeRows.size()) {
    release(jobs.back());
    queue(std::move(jobs.back().request));
    jobs.pop_back();
  }
  for (Job &job : jobs)
    for (size_t i = 0; i < job.search.open().size(); ++i) {
      job.cacheRows.push_back(freeRows.back());
      freeRows.pop_back();
    }
}

DecodingStep Translator::describeStep() {
  DecodingStep step;
  step.wantsLogits = options.sampling || options.rules.any();
  for (Job &job : jobs) {
    size_t before = std::exchange(job.firstHypothesis, step.hypotheses.size());
    auto first = int32_t(job.firstHypothesis);
    std::span<const BeamSearch::Open> open = job.search.open();
    size_t row = job.cacheRows.size() - open.size();
    for (const BeamSearch::Open &hypothesis : open)
      step.hypotheses.push_back({{job.request.source, job.sourceRow, job.request.pixels},
                                 hypothesis.tokens,
                                 hypothesis.logProbability,
                                 int32_t(before) + hypothesis.parent,
                                 job.cacheRows[row++],
                                 job.search.forced().value_or(0)});
    step.wantsExpected |= job.search.forced().has_value();
    if (job.search.beamSize() != 0)
      step.groups.push_back({first, int32_t(job.search.beamSize())});
    if (job.search.greedy())
      step.groups.push_back({first + int32_t(*job.search.greedy()), 1});
  }
  return step;
}

Result<std::vector<Translation>> Translator::step() {
  Result<std::vector<Translation>> finished = decode();
  if (!finished.ok()) { // later calls must not find these sentences
    for (Job &job : jobs)
      release(job);
    jobs.clear();
    waiting.clear();
  }
  return finished;
}

Result<std::vector<Translation>> Translator::decode() {
  HEDDLE_CHECK(admit());
  takeCacheRows();
  std::vector<Translation> finished;
  if (jobs.empty())
    return finished;
  DecodingStep step = describeStep();
  Span span("decoding step");
  span.with("sentences", int64_t(jobs.size())).with("hypotheses", int64_t(step.hypotheses.size()));
  HEDDLE_ASSIGN(DecodingStep::Outcome outcome, steps->run(step));
  auto group = outcome.best.begin();
  for (auto job = jobs.begin(); job != jobs.end();) {
    std::vector<Candidate> ofBeam = job->search.beamSize() != 0 ? std::move(*group++) : std::vector<Candidate>();
    std::vector<Candidate> ofGreedy = job->search.greedy() ? std::move(*group++) : std::vector<Candidate>();
    HEDDLE_CHECK(advance(*job, ofBeam, ofGreedy, step, outcome));
    if (!job->search.done()) {
      ++job;
      continue;
    }
    finished.push_back({job->request.number, job->search.best()});
    release(*job);
    job = jobs.erase(job);
  }
  return finished;
}

// The tokens that the rules forbid, and the padding, which no step chooses.
std::vector<int32_t> Translator::bannedAfter(std::span<const int32_t> tokens) const {
  std::vector<int32_t> banned = options.rules.banned(model.marks.begin, tokens, model.marks.end);
  if (model.paddingId)
    banned.push_back(int32_t(*model.paddingId));
  return banned;
}

// Chooses a group's continuations anew if the device has chosen one that the rules forbid.
void Translator::applyRules(const DecodingStep &step, DecodingStep::Group group, size_t count,
                            std::span<const float> logits, std::vector<Candidate> &candidates) const {
  std::vector<std::vector<int32_t>> banned;
  for (int32_t i = 0; i < group.count; ++i)
    banned.push_back(bannedAfter(step.hypotheses[size_t(group.first + i)].tokens));
  auto isBanned = [&](const Candidate &candidate) {
    const std::vector<int32_t> &list = banned[size_t(candidate.parent - group.first)];
    return std::ranges::find(list, candidate.token) != list.end();
  };
  if (std::ranges::any_of(candidates, isBanned))
    candidates = chooseCandidates(step, group, logits, count, banned);
}

Status Translator::advance(Job &job, std::vector<Candidate> &ofBeam, std::vector<Candidate> &ofGreedy,
                           const DecodingStep &step, const DecodingStep::Outcome &outcome) {
  if (job.search.forced()) {
    job.search.force(outcome.expected[job.firstHypothesis]);
    return Success();
  }
  if ((job.search.beamSize() != 0 && ofBeam.empty()) || (job.search.greedy() && ofGreedy.empty()))
    return logitsAreNoNumbers();
  if (options.sampling) {
    auto pieces = size_t(model.vocabularySize);
    auto first = outcome.logits.begin() + ptrdiff_t(job.firstHypothesis * pieces);
    std::vector<float> logits(first, first + ptrdiff_t(pieces));
    const BeamSearch::Open &open = job.search.open().front();
    if (options.rules.any())
      for (int32_t token : bannedAfter(open.tokens))
        logits[size_t(token)] = -std::numeric_limits<float>::infinity();
    int32_t token =
        sample(logits, *options.sampling, uniform(options.sampling->seed, job.request.number, open.tokens.size()));
    ofBeam = {{open.logProbability + float(logProbability(logits, token)), 0, token}};
  } else {
    auto first = int32_t(job.firstHypothesis);
    if (options.rules.any()) {
      auto count = size_t(2 * beamOf(job.request));
      applyRules(step, {first, int32_t(job.search.beamSize())}, count, outcome.logits, ofBeam);
      if (job.search.greedy())
        applyRules(step, {first + int32_t(*job.search.greedy()), 1}, 1, outcome.logits, ofGreedy);
      if ((job.search.beamSize() != 0 && ofBeam.empty()) || (job.search.greedy() && ofGreedy.empty()))
        return makeError(ErrorKind::InvalidArgument, "the rules leave no token to follow the translation of source ",
                         job.request.number, "; lower --min-length or raise --no-repeat-ngram.");
    }
    for (std::vector<Candidate> *candidates : {&ofBeam, &ofGreedy})
      for (Candidate &candidate : *candidates)
        candidate.parent -= first;
  }
  job.search.advance(ofBeam, ofGreedy);
  return Success();
}

Result<std::vector<Translation>> Translator::translate(std::span<const std::vector<int32_t>> sentences) {
  std::vector<TranslationRequest> requests;
  for (const std::vector<int32_t> &sentence : sentences)
    requests.push_back({requests.size(), sentence, {}, {}});
  return translate(std::move(requests));
}

Result<std::vector<Translation>> Translator::translate(std::vector<TranslationRequest> requests) {
  if (pending() != 0)
    return makeError(ErrorKind::InvalidArgument, pending(),
                     " sentences that were added are not finished; step() finishes them, before others are translated "
                     "together.");
  std::vector<Translation> translations(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].number = i;
    HEDDLE_CHECK(checkLengths(requests[i]));
  }
  for (TranslationRequest &request : requests)
    queue(std::move(request));
  while (pending() != 0) {
    HEDDLE_ASSIGN(std::vector<Translation> finished, step());
    for (Translation &translation : finished)
      translations[translation.number] = std::move(translation);
  }
  return translations;
}

} // namespace heddle
