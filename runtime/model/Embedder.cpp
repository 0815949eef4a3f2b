#include "runtime/model/Embedder.h"

#include <algorithm>
#include <cmath>

namespace heddle {

Embedder::Embedder(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary, EmbeddingRule rule)
    : EncoderWork(engine, model, vocabulary,
                  {"embed lines", "encode", model.architecture == kEmbedder ? "pooled" : "hidden"}),
      rule(std::move(rule)), marks(model.inputMarks(vocabulary)),
      longest(std::min(EncoderWork::longestText(), size_t(this->rule.longest))) {}

EncoderInput Embedder::encode(std::string_view text) const {
  EncoderInput input = encodeInput(vocabulary, marks, rule.prepare(text));
  if (input.tokens.empty())
    input.tokens.push_back(model.marks.begin);
  return input;
}

Status Embedder::add(std::string_view line) {
  uint64_t number = lines.add();
  EncoderInput input = encode(replaceInvalidBytes(line, number));
  if (input.tokens.size() > longest)
    warnOfCut(number, "", input.tokens.size(), longest);
  input.cut(longest);
  waiting.push_back({number, std::move(input.tokens)});
  return Success();
}

Result<EmbeddedLine> Embedder::answer(const TextToEmbed &text, size_t index, const PackedSequences &texts,
                                      const HostTensor &output) const {
  auto width = size_t(output.shape().back());
  std::span<const float> numbers = output.values<float>();
  std::vector<float> vector;
  if (model.architecture == kEmbedder) {
    std::span<const float> own = numbers.subspan(index * width, width);
    vector.assign(own.begin(), own.end());
  } else {
    size_t start = size_t(texts.starts[index]);
    vector = rule.apply(numbers.subspan(start * width, text.tokens.size() * width), width);
  }
  if (!std::ranges::all_of(vector, [](float number) { return std::isfinite(number); }))
    return makeError(ErrorKind::InvalidArgument, "line ", text.number,
                     " has a vector with infinities or NaN; the weights are damaged, or their numbers overflow in 16 "
                     "bits.");
  return EmbeddedLine{std::move(vector), text.tokens.size()};
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
