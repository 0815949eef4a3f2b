#include "tools/heddle-run/commands/OpenModel.h"

#include "runtime/core/Log.h"
#include "runtime/data/Images.h"
#include "runtime/model/Explanation.h"
#include "runtime/text/Utf8.h"
#include "tools/heddle-run/report/ExplainPage.h"

namespace heddle::run {
namespace {

Status checkSentence(const char *flag, std::string_view text) {
  if (!isValidUtf8(text))
    return makeError(ErrorKind::InvalidArgument, flag, " is not UTF-8; convert it.");
  if (isBlank(text))
    return makeError(ErrorKind::InvalidArgument, flag, " is blank; give it a sentence.");
  return Success();
}

Status checkLength(const char *flag, std::span<const int32_t> tokens, const ModelDescription &model, int64_t marks) {
  auto length = int64_t(tokens.size()), longest = maximumExplainedLength(model, marks);
  if (length == 0)
    return makeError(ErrorKind::InvalidArgument, flag, " has no token of the vocabulary; give it a sentence.");
  if (length > longest)
    return makeError(ErrorKind::InvalidArgument, flag, " has ", length, " tokens, and the model was compiled for ",
                     longest, marks == 0 ? "" : " beside their mark",
                     " (max_length, max_tokens); give a shorter sentence.");
  return Success();
}

Result<std::vector<int32_t>> translate(TrainedModel &model, const DecodingOptions &decoding,
                                       TranslationRequest source) {
  TranslationOptions options = translationOptions(decoding);
  HEDDLE_CHECK(Translator::check(*model.engine, model.description, options));
  Translator translator(*model.engine, model.description, options);
  HEDDLE_ASSIGN(std::vector<Translation> translations, translator.translate(std::vector{std::move(source)}));
  std::vector<int32_t> tokens = std::move(translations.front().best.front().tokens);
  // A translation that was cut off at the longest length leaves no room for the begin mark, so drop its last token.
  tokens.resize(std::min(tokens.size(), size_t(maximumExplainedLength(model.description))));
  return tokens;
}

Status explain(const ExplainCommand &command, Profile *profile) {
  HEDDLE_CHECK(checkSentence("--src", command.source));
  if (command.target)
    HEDDLE_CHECK(checkSentence("--tgt", *command.target));
  HEDDLE_ASSIGN(TrainedModel model,
                openTrained(command.common, command.checkpoint, kEncoderAndDecoder, "explain", profile));
  HEDDLE_CHECK(checkExplains(*model.engine, model.description));

  const ImageShape &image = model.description.marks.image;
  std::vector<int32_t> target;
  TranslationRequest source;
  if (image.pixels() > 0) {
    HEDDLE_ASSIGN(source.pixels, readImageLine(command.source, image, {}, "--src"));
  } else {
    source.source = model.description.marks.beginSource(model.vocabulary->encode(command.source));
    HEDDLE_CHECK(checkLength("--src", source.source, model.description, model.description.marks.sourceMarks()));
  }
  if (command.target) {
    target = model.vocabulary->encodeTarget(*command.target);
    HEDDLE_CHECK(checkLength("--tgt", target, model.description, 1));
  } else {
    HEDDLE_ASSIGN(target, translate(model, command.decoding, source));
  }

  Batch batch(model.description.marks);
  batch.add(MarkedPair(source.source, target, source.pixels, model.description.marks).example());
  ExplainPage page;
  page.source = image.pixels() > 0 ? str("an image of ", image.height, " x ", image.width, " pixels") : command.source;
  page.target = command.target.value_or(model.vocabulary->decode(target));
  HEDDLE_ASSIGN(page.maps, heddle::explain(*model.engine, model.description, batch));
  auto pieces = [&](std::span<const int32_t> tokens) {
    std::vector<std::string> result;
    for (int32_t token : tokens)
      result.push_back(model.vocabulary->piece(token));
    return result;
  };
  page.sourceTokens = pieces(batch.source.tokens);
  for (int64_t pixel = 0; pixel < image.pixels(); ++pixel) // row and column of each pixel
    page.sourceTokens.push_back(str(pixel / image.width, ",", pixel % image.width));
  page.targetTokens = pieces(batch.targetIn);
  page.nextTokens = pieces(batch.targetOut);
  Span span("write page");
  HEDDLE_CHECK(page.page().write(command.page));
  log(LogLevel::Info, str("wrote ", command.page, ": ", page.maps.size(), " attentions of \"", page.target, "\""));
  return Success();
}

} // namespace

Status runExplain(const ExplainCommand &command) {
  std::vector<std::filesystem::path> read = filesRead(command.common, {command.checkpoint});
  HEDDLE_CHECK(cli::checkOutput("--html", command.page, read));
  return profiled(command.common, "explain", read, [&](Profile *profile) { return explain(command, profile); });
}

} // namespace heddle::run
