// /translate: {"text": ["..."], "beam": 4, "n": 2} returns {"translations": [[{"text", "score"}]]}.
#include "runtime/core/Log.h"
#include "runtime/model/Explanation.h"
#include "runtime/model/Translator.h"
#include "runtime/serve/DeviceFailure.h"
#include "runtime/serve/LineTexts.h"
#include "runtime/serve/ModelThread.h"
#include "runtime/serve/Routes.h"
#include "runtime/serve/TextRequest.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace heddle::serve {
namespace {

class TranslateRoutes final : public Routes {
public:
  TranslateRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics)
      : model(model), options(options), metrics(metrics), translator(model.engine, model.description, {}),
        thread([this] { return step(); }) {}

  std::vector<std::string> paths() const override { return {"/translate"}; }
  const char *kind() const override { return "translate"; }
  std::string failure() const override { return lost.get(); }
  bool aligns() const override { return checkExplains(model.engine, model.description).ok(); }
  void whenIdle(std::function<Status()> function, std::function<void(Status)> done) override {
    thread.post([this, function = std::move(function), done = std::move(done)] {
      waiting.push_back([function, done] { done(function()); });
    });
  }

private:
  using Clock = std::chrono::steady_clock;

  // The sentences of a request.
  struct Batch {
    std::shared_ptr<Exchange> exchange;
    std::vector<TranslationRequest> sentences; // non-blank sentences; `number` is the index in `translations`
    std::vector<std::vector<Hypothesis>> translations;
    std::vector<std::vector<int32_t>> sources; // empty unless alignments are requested
    size_t open = 0;
    int64_t choices = 1;
    uint64_t first = 0; // the number of the first sentence
    Clock::time_point start = Clock::now();
    bool isOver = false;
  };

  std::optional<ApiError> answer(const std::shared_ptr<Exchange> &exchange,
                                 const nlohmann::ordered_json &body) override {
    Fields fields(body);
    std::vector<std::string> texts = readTexts(fields, Pairs::None);
    int64_t beam = fields.integer("beam", 1, model.description.widestBeam).value_or(1);
    int64_t choices = fields.integer("n", 1, beam).value_or(1);
    bool wantsAlignments = fields.flag("alignments");
    if (Status able = checkExplains(model.engine, model.description); wantsAlignments && !able.ok())
      fields.fail("alignments", able.message(), "unsupported");
    std::string name = fields.text("model");
    if (fields.error)
      return fields.error;
    if (Parsed<size_t> found = findModel(model, name); found.error)
      return found.error;
    auto batch = std::make_shared<Batch>();
    batch->exchange = exchange;
    batch->choices = choices;
    batch->translations.resize(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      TranslationRequest request;
      request.number = i;
      request.beam = beam;
      request.source = model.description.marks.beginSource(model.vocabulary.encode(texts[i]));
      if (auto length = int64_t(request.source.size()); length > translator.maximumSourceLength())
        return ApiError{400,
                        str("text ", i + 1, " has ", length, " tokens; the model translates ",
                            translator.maximumSourceLength(), " at most."),
                        "text", "text_too_long"};
      if (wantsAlignments)
        batch->sources.push_back(request.source);
      if (!request.source.empty())
        batch->sentences.push_back(std::move(request));
    }
    batch->open = batch->sentences.size();
    if (batch->open == 0) {
      finish(*batch);
      return std::nullopt;
    }
    if (unfinished >= options.queue + model.description.maximumSequences)
      return queueIsFull();
    unfinished += int64_t(batch->open);
    metrics.queued += int64_t(batch->open);
    thread.post([this, batch] { waiting.push_back(batch); });
    exchange->whenGone([this, batch] { thread.post([this, batch] { giveUp(*batch); }); });
    return std::nullopt;
  }

  void finish(const Batch &batch) const {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (size_t i = 0; i < batch.translations.size(); ++i) {
      const std::vector<Hypothesis> &best = batch.translations[i];
      nlohmann::ordered_json choices = nlohmann::ordered_json::array();
      for (const Hypothesis &each : std::span(best).first(std::min(best.size(), size_t(batch.choices)))) {
        choices.push_back({{"text", model.vocabulary.decode(each.tokens)}, {"score", each.score}});
        if (batch.sources.empty())
          continue;
        Result<nlohmann::ordered_json> alignment = align(batch.sources[i], each.tokens);
        if (!alignment.ok())
          return batch.exchange->refuse({500, alignment.message(), "", "model_error"});
        choices.back()["alignment"] = std::move(*alignment);
      }
      if (best.empty())
        choices.push_back({{"text", ""}, {"score", 0}});
      all.push_back(std::move(choices));
    }
    batch.exchange->answer({{"model", model.name}, {"translations", std::move(all)}});
  }

  // The attention weights of the last layer to the source, averaged over heads: a row for each token of the translation
  // and its end mark.
  Result<nlohmann::ordered_json> align(std::span<const int32_t> source, std::span<const int32_t> target) const {
    target = target.first(std::min(target.size(), size_t(maximumExplainedLength(model.description))));
    heddle::Batch pair(model.description.marks);
    pair.add(MarkedPair(source, target, {}, model.description.marks).example());
    HEDDLE_ASSIGN(std::vector<AttentionMap> maps, explain(model.engine, model.description, pair));
    const AttentionMap *last = nullptr;
    for (const AttentionMap &map : maps)
      if (map.keysOf == "source" && map.queriesOf == "target" && (!last || map.layer >= last->layer))
        last = &map;
    if (!last)
      return makeError(ErrorKind::Unsupported, "the model has no attention to its source.");
    auto pieces = [&](std::span<const int32_t> tokens) {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (int32_t token : tokens)
        list.push_back(model.vocabulary.piece(token));
      return list;
    };
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (int64_t query = 0; query < last->queries; ++query) {
      std::vector<double> row(size_t(last->keys));
      for (int64_t head = 0; head < last->heads; ++head)
        for (size_t key = 0; key < row.size(); ++key)
          row[key] += double(last->row(head, query)[key]) / double(last->heads);
      for (double &weight : row)
        weight = std::round(weight * 1e4) / 1e4;
      rows.push_back(std::move(row));
    }
    return nlohmann::ordered_json{
        {"source", pieces(pair.source.tokens)}, {"target", pieces(pair.targetOut)}, {"weights", std::move(rows)}};
  }

  // Everything below is used by the model's thread.
  void giveUp(Batch &batch) {
    if (std::exchange(batch.isOver, true))
      return;
    for (auto each = batches.begin(); each != batches.end();) {
      if (each->second.get() != &batch) {
        ++each;
        continue;
      }
      translator.cancel(each->first);
      ++metrics.cancelled;
      each = batches.erase(each);
    }
    unfinished -= int64_t(batch.open);
  }

  void fail(Batch &batch, const ApiError &error) {
    if (!batch.isOver)
      batch.exchange->refuse(error);
    giveUp(batch);
  }

  void admit() {
    while (!waiting.empty()) {
      if (auto *function = std::get_if<std::function<void()>>(&waiting.front())) {
        if (translator.pending() != 0)
          return;
        (*function)();
        waiting.pop_front();
        continue;
      }
      // Decodes sentences of several requests side by side, but not so many that the first ones wait for the last.
      if (int64_t(translator.pending()) >= 2 * model.description.maximumSequences)
        return;
      std::shared_ptr<Batch> batch = std::get<std::shared_ptr<Batch>>(waiting.front());
      waiting.pop_front();
      metrics.queued -= int64_t(batch->sentences.size());
      batch->first = nextNumber;
      nextNumber += batch->translations.size();
      for (TranslationRequest &sentence : batch->sentences) {
        if (batch->isOver)
          break;
        sentence.number += batch->first;
        batches.emplace(sentence.number, batch);
        if (Status added = translator.add(std::move(sentence)); !added.ok())
          fail(*batch, {400, added.message(), "text"});
      }
    }
  }

  bool step() {
    admit();
    if (translator.pending() == 0)
      return !waiting.empty();
    Result<std::vector<Translation>> finished = translator.step();
    ++metrics.steps;
    metrics.running = int64_t(translator.pending());
    if (!finished.ok()) {
      log(LogLevel::Error, finished.message());
      lost.note(finished.error());
      while (!batches.empty())
        fail(*std::shared_ptr(batches.begin()->second), {500, finished.message(), "", "model_error"});
      return !waiting.empty();
    }
    for (Translation &each : *finished) {
      auto found = batches.find(each.number);
      std::shared_ptr<Batch> batch = found->second;
      batches.erase(found);
      --unfinished;
      for (const Hypothesis &best : std::span(each.best).first(std::min<size_t>(each.best.size(), 1)))
        metrics.generatedTokens += best.tokens.size();
      batch->translations[each.number - batch->first] = std::move(each.best);
      if (--batch->open == 0) {
        batch->isOver = true;
        metrics.whole.add(std::chrono::duration<double>(Clock::now() - batch->start).count());
        finish(*batch);
      }
    }
    endLate();
    return translator.pending() != 0 || !waiting.empty();
  }

  void endLate() {
    for (auto each = batches.begin(); each != batches.end(); each = batches.upper_bound(each->first)) {
      std::shared_ptr<Batch> batch = each->second;
      if (batch->start + options.time > Clock::now())
        continue;
      fail(*batch, lateError(options.time));
      return;
    }
  }

  const ServedModel &model;
  const ServeOptions &options;
  Metrics &metrics;
  std::atomic<int64_t> unfinished = 0;
  DeviceFailure lost;
  Translator translator;
  std::deque<std::variant<std::shared_ptr<Batch>, std::function<void()>>> waiting;
  std::map<uint64_t, std::shared_ptr<Batch>> batches; // key: number of a sentence in work
  uint64_t nextNumber = 0;
  ModelThread thread; // must be the last member: it uses the others
};

} // namespace

std::unique_ptr<Routes> makeTranslateRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics) {
  return std::make_unique<TranslateRoutes>(model, options, metrics);
}

} // namespace heddle::serve
