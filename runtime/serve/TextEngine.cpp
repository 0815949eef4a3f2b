#include "runtime/serve/TextEngine.h"

#include "runtime/core/Log.h"

#include <algorithm>

namespace heddle::serve {

TextEngine::TextEngine(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary, Metrics &metrics,
                       Options given)
    : model(model), vocabulary(vocabulary), metrics(metrics), options(std::move(given)),
      generator(engine, model, [this](const Progress &progress) { return watch(progress); },
                {.promptTokens = options.promptTokens, .keepsTexts = true}),
      thread([this] { return step(); }) {
  longest = generator.maximumLength() - 1;
}

std::optional<uint64_t> TextEngine::submit(std::vector<TextJob> jobs) {
  auto count = int64_t(jobs.size());
  if (unfinished.fetch_add(count) + count > options.queue + model.maximumSequences) {
    unfinished -= count;
    return std::nullopt;
  }
  uint64_t first = nextNumber.fetch_add(jobs.size());
  metrics.queued += count;
  for (size_t i = 0; i < jobs.size(); ++i)
    jobs[i].prompt.number = first + i;
  thread.post([this, jobs = std::make_shared<std::vector<TextJob>>(std::move(jobs)), start = Clock::now()] {
    for (TextJob &job : *jobs) {
      std::vector<int32_t> tokens = job.prompt.tokens;
      std::vector<std::string> stops = job.stops;
      queue.push_back({Active{std::move(job), AnswerText(vocabulary, std::move(tokens), std::move(stops)), start}});
    }
  });
  return first;
}

void TextEngine::cancel(uint64_t first, size_t count) {
  thread.post([=, this] {
    auto isMeant = [&](uint64_t number) { return number >= first && number < first + count; };
    int64_t waited = int64_t(std::erase_if(
        queue, [&](const Queued &each) { return each.active && isMeant(each.active->job.prompt.number); }));
    int64_t gone = waited;
    for (auto each = active.lower_bound(first); each != active.end() && isMeant(each->first); ++gone) {
      generator.cancel(each->first);
      each = active.erase(each);
    }
    metrics.queued -= waited;
    metrics.cancelled += uint64_t(gone);
    unfinished -= gone;
  });
}

void TextEngine::whenIdle(std::function<Status()> function, std::function<void(Status)> done) {
  thread.post([this, function = std::move(function), done = std::move(done)] {
    queue.push_back({.whenIdle = [this, function, done] {
      Status status = function();
      generator.forgetKept();
      if (options.switchAdapter)
        adapter = SIZE_MAX; // so that the next job loads its adapter
      done(std::move(status));
    }});
  });
}

void TextEngine::takeTurns(Turns turns) {
  thread.post([this, turns = std::move(turns)] { queue.push_back({.turns = turns}); });
}

// Admits in order of arrival. If the first one in the queue waits until no job is in work, everything behind it waits
// too. The generator gets only a little more than fits, so that the order is kept here.
void TextEngine::admit() {
  for (bool hadTurn = false; !queue.empty();) {
    Queued &next = queue.front();
    bool isFull = next.active && int64_t(generator.pending()) >= 2 * model.maximumSequences;
    if (isFull || (next.waitsFor(adapter) && generator.pending() != 0) || (next.turns && hadTurn))
      return;
    if (next.whenIdle) {
      std::exchange(next.whenIdle, {})();
      queue.pop_front();
    } else if (next.turns) {
      hadTurn = true;
      takeFirstTurn();
    } else {
      admitFirst();
    }
  }
}

// Loads the weights of the adapter, unless they are loaded. If that fails, the weights may be a mixture, so the next job
// loads its own.
Status TextEngine::load(size_t wanted) {
  if (wanted == adapter)
    return Success();
  generator.forgetKept();
  adapter = SIZE_MAX;
  HEDDLE_CHECK(options.switchAdapter(wanted));
  adapter = wanted;
  return Success();
}

Result<bool> TextEngine::takeTurn(const Turns &turns) {
  HEDDLE_CHECK(load(turns.adapter));
  return turns.turn();
}

// Takes the turn at the front of the queue. Its next turn comes after all others that need the same weights.
void TextEngine::takeFirstTurn() {
  const Turns &turns = *queue.front().turns;
  Result<bool> isBusy = takeTurn(turns);
  if (!isBusy.ok()) {
    note(isBusy.error());
    turns.failed(isBusy.error());
  }
  if (!isBusy.ok() || !*isBusy)
    return queue.pop_front();
  auto end = std::ranges::find_if(queue, [&](const Queued &each) { return each.waitsFor(adapter); });
  std::rotate(queue.begin(), queue.begin() + 1, end);
}

void TextEngine::admitFirst() {
  Active job = std::move(*queue.front().active);
  queue.pop_front();
  --metrics.queued;
  uint64_t number = job.job.prompt.number;
  Prompt prompt = std::move(job.job.prompt);
  Status status = load(job.job.adapter);
  if (status.ok())
    status = generator.add(std::move(prompt));
  active.emplace(number, std::move(job));
  if (!status.ok())
    end({number, {}, Ending::Error, {}, {}, status.error()});
}

bool TextEngine::step() {
  admit();
  if (generator.pending() == 0)
    return !queue.empty();
  Result<std::vector<Continuation>> finished = generator.step();
  ++metrics.steps;
  metrics.running = int64_t(generator.inWork());
  if (!finished.ok()) {
    fail(finished.error());
    return !queue.empty();
  }
  for (Continuation &each : *finished)
    end(std::move(each));
  endLate();
  return generator.pending() != 0 || !queue.empty();
}

static double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool TextEngine::watch(const Progress &progress) {
  Active &each = active.find(progress.number)->second;
  ++metrics.generatedTokens;
  if (progress.tokens.size() == 1)
    metrics.firstToken.add(secondsSince(each.start));
  if (!each.job.onPiece && each.job.stops.empty())
    return false;
  bool isStopped = each.text.add(progress.tokens);
  if (each.job.onPiece) {
    size_t before = std::exchange(each.reported, progress.tokens.size());
    auto scores = progress.scores.size() > before ? progress.scores.subspan(before) : std::span<const TokenScore>();
    each.job.onPiece({each.text.take(), progress.tokens.subspan(before), scores});
  }
  return isStopped;
}

void TextEngine::end(Continuation continuation, bool isLate) {
  auto found = active.find(continuation.number);
  Active each = std::move(found->second);
  active.erase(found);
  metrics.whole.add(secondsSince(each.start));
  metrics.reusedTokens += uint64_t(continuation.reused);
  each.text.finish(continuation.tokens);
  --unfinished;
  each.job.onEnd({each.text.take(), std::move(continuation), isLate});
}

void TextEngine::endLate() {
  std::vector<uint64_t> late;
  auto before = Clock::now() - options.time;
  for (const auto &[number, each] : active)
    if (each.start < before)
      late.push_back(number);
  for (uint64_t number : late) {
    generator.cancel(number);
    end({number,
         {},
         Ending::Error,
         {},
         {},
         makeError(ErrorKind::Unsupported, "the request took more than ", options.time.count(), " seconds.")},
        true);
  }
}

void TextEngine::note(const Error &error) {
  log(LogLevel::Error, error.message);
  lost.note(error);
}

void TextEngine::fail(const Error &error) {
  note(error);
  while (!active.empty())
    end({active.begin()->first, {}, Ending::Error, {}, {}, error});
}

} // namespace heddle::serve
