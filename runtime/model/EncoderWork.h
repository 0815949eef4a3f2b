// The base of Embedder, MaskFiller and Predictor: lines wait, and a call of an encoder answers as many lines as fit.
#pragma once

#include "runtime/core/Span.h"
#include "runtime/model/CallInputs.h"
#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/model/LineWork.h"

#include <algorithm>
#include <deque>
#include <vector>

namespace heddle {

// A job has the line's `number`, and example(), what the model reads of it.
template <typename Job, typename Answer> class EncoderWork : public LineWork<Answer> {
public:
  bool busy() const { return !waiting.empty(); }

  // Runs one call, for as many lines as fit.
  Status step() {
    std::vector<Job> jobs;
    Batch batch(model.marks);
    for (; !waiting.empty() && batch.hasRoomFor(waiting.front().example(), model.limits()); waiting.pop_front()) {
      batch.add(waiting.front().example());
      jobs.push_back(std::move(waiting.front()));
    }
    if (jobs.empty())
      return Success();
    Span span(call.name);
    span.with("lines", int64_t(jobs.size()));
    CallInputs inputs;
    HEDDLE_CHECK(inputs.addBatch(engine.findEntry(call.entry), batch));
    HEDDLE_CHECK(engine.run(call.entry, inputs));
    HEDDLE_ASSIGN(HostTensor output, engine.output(call.output));
    for (size_t i = 0; i < jobs.size(); ++i) {
      HEDDLE_ASSIGN(Answer line, answer(jobs[i], i, batch.source.layout, output));
      this->lines.finish(jobs[i].number, std::move(line));
    }
    return Success();
  }

protected:
  struct Call {
    const char *name, *entry, *output;
  };
  // The vocabulary must outlive this object.
  EncoderWork(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary, Call call)
      : engine(engine), model(model), vocabulary(vocabulary), call(call) {}
  ~EncoderWork() = default;

  // Answers the job whose text is number `index` of `texts`.
  virtual Result<Answer> answer(const Job &job, size_t index, const PackedSequences &texts,
                                const HostTensor &output) const = 0;

  // The most tokens of a text.
  size_t longestText() const { return size_t(std::min(model.maximumLength, model.maximumTokens)); }

  Engine &engine;
  const ModelDescription &model;
  const TextCodec &vocabulary;
  Call call;
  std::deque<Job> waiting;
};

} // namespace heddle
