#include "runtime/model/Embedder.h"

#include "runtime/core/Span.h"
#include "runtime/model/CallInputs.h"

#include <algorithm>
#include <cmath>

namespace heddle {

Embedder::Embedder(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary, EmbeddingRule rule)
    : engine(engine), model(model), vocabulary(vocabulary), rule(std::move(rule)), marks(model.inputMarks(vocabulary)),
      longest(size_t(std::min({model.maximumLength, model.maximumTokens, this->rule.longest}))) {}

EncoderInput Embedder::encode(std::string_view text) const {
  EncoderInput input = encodeInput(vocabulary, marks, rule.prepare(text));
  if (input.tokens.empty())
    input.tokens.push_back(model.marks.begin);
  return input;
}

void Embedder::add(std::string_view line) {
  uint64_t number = lines.add();
  EncoderInput input = encode(replaceInvalidBytes(line, number));
  if (input.tokens.size() > longest)
    warnOfCut(number, "", input.tokens.size(), longest);
  input.cut(longest);
  waiting.push_back({number, std::move(input.tokens)});
}

Status Embedder::step() {
  Batch batch(model.marks);
  std::vector<Job> jobs = takeSources(waiting, model.limits(), batch);
  if (jobs.empty())
    return Success();
  Span span("embed lines");
  span.with("lines", int64_t(jobs.size()));
  CallInputs inputs;
  HEDDLE_CHECK(inputs.addBatch(engine.findEntry("encode"), batch));
  HEDDLE_CHECK(engine.run("encode", inputs));
  HEDDLE_ASSIGN(HostTensor hidden, engine.output("hidden"));
  auto width = size_t(hidden.shape().back());
  for (size_t i = 0; i < jobs.size(); ++i) {
    auto start = size_t(batch.source.layout.starts[i]), tokens = size_t(batch.source.layout.lengths[i]);
    std::vector<float> vector = rule.apply(hidden.values<float>().subspan(start * width, tokens * width), width);
    if (!std::ranges::all_of(vector, [](float number) { return std::isfinite(number); }))
      return makeError(ErrorKind::InvalidArgument, "line ", jobs[i].number,
                       " has a vector with infinities or NaN; the weights are damaged, or their numbers overflow in 16 "
                       "bits.");
    lines.finish(jobs[i].number, {std::move(vector), tokens});
  }
  return Success();
}

Status checkEmbeds(const Engine &engine) {
  const EntryInfo *encode = engine.findEntry("encode");
  if (encode && std::ranges::find(encode->outputs, "hidden", &PortInfo::name) != encode->outputs.end())
    return Success();
  return makeError(ErrorKind::Unsupported,
                   "the artifact has no entry 'encode' that computes hidden states, of which texts' vectors are made; "
                   "compile an encoder, such as a BertModel, or compile a decoder anew.");
}

} // namespace heddle
