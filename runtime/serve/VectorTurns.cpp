#include "runtime/serve/VectorTurns.h"

namespace heddle::serve {

// The texts of a request.
struct VectorTurns::Work {
  Embedder embedder;
  std::shared_ptr<Exchange> exchange;
  VectorAnswers::Finish finish;
  int64_t texts = 0;
  std::atomic<bool> isGone = false; // nobody waits for the answer
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

std::optional<ApiError> VectorTurns::submit(const std::shared_ptr<Exchange> &exchange,
                                            std::vector<std::vector<int32_t>> texts, size_t adapter,
                                            VectorAnswers::Finish finish) {
  if (unfinished >= options.queue + model.description.maximumSequences)
    return queueIsFull();
  auto work = std::make_shared<Work>(Embedder(model.engine, model.description, model.vocabulary, model.embedding),
                                     exchange, std::move(finish), int64_t(texts.size()));
  for (std::vector<int32_t> &tokens : texts)
    work->embedder.add(std::move(tokens));
  count(work->texts);
  exchange->whenGone([work] { work->isGone = true; });
  engine.takeTurns({.adapter = adapter,
                    .turn = [this, work]() -> Result<bool> {
                      HEDDLE_ASSIGN(bool isBusy, takeTurn(*work));
                      if (!isBusy)
                        count(-work->texts);
                      return isBusy;
                    },
                    .failed =
                        [this, work](const Error &error) {
                          work->exchange->refuse({500, error.message, "", "model_error"});
                          count(-work->texts);
                        }});
  return std::nullopt;
}

// Computes some of the vectors, and answers after the last one. Returns true if some are left.
Result<bool> VectorTurns::takeTurn(Work &work) {
  auto time = std::chrono::steady_clock::now() - work.start;
  if (work.isGone) {
    metrics.cancelled += uint64_t(work.texts);
    return false;
  }
  if (time > options.time) {
    work.exchange->refuse(lateError(options.time));
    return false;
  }
  HEDDLE_CHECK(work.embedder.step());
  ++metrics.steps;
  if (work.embedder.busy())
    return true;
  metrics.whole.add(std::chrono::duration<double>(time).count());
  work.finish(*work.exchange, work.embedder.take());
  return false;
}

} // namespace heddle::serve
