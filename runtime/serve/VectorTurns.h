// Computes the vectors of requests' texts with a decoder, in turns with the texts that a TextEngine continues.
#pragma once

#include "runtime/serve/TextEngine.h"
#include "runtime/serve/VectorAnswers.h"

#include <atomic>

namespace heddle::serve {

class VectorTurns {
public:
  // All referenced objects must outlive this object, and this object must outlive the engine's thread.
  VectorTurns(const ServedModel &model, const ServeOptions &options, Metrics &metrics, TextEngine &engine)
      : model(model), options(options), metrics(metrics), engine(engine) {}

  // See VectorAnswers::Submit. Refuses the exchange if the model fails or the time limit passes. Does nothing more if
  // the client goes away. Returns an error if the queue is full.
  std::optional<ApiError> submit(const std::shared_ptr<Exchange> &exchange, std::vector<std::vector<int32_t>> texts,
                                 size_t adapter, VectorAnswers::Finish finish);

private:
  struct Work;
  Result<bool> takeTurn(Work &work);
  // Counts texts that wait for their vectors.
  void count(int64_t texts) {
    unfinished += texts;
    metrics.queued += texts;
  }

  const ServedModel &model;
  const ServeOptions &options;
  Metrics &metrics;
  TextEngine &engine;
  std::atomic<int64_t> unfinished = 0; // texts
};

} // namespace heddle::serve
