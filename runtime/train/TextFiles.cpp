#include "runtime/train/TextFiles.h"

#include "runtime/data/HiddenWords.h"
#include "runtime/data/PreferenceRecords.h"
#include "runtime/data/Records.h"

namespace heddle {

DocumentKind TextFiles::kind() const {
  if (documents == "file")
    return DocumentKind::File;
  return documents == "blank-lines" ? DocumentKind::BetweenBlankLines : DocumentKind::Line;
}

std::string TextFiles::named() const {
  return isPlain() ? str("'", text, "'") : isRecords() ? str("'", data, "'") : str("'", source, "' and '", target, "'");
}

const char *TextFiles::validationFlags() const {
  return isPlain() ? "--valid-text" : isRecords() ? "--valid-data" : "--valid-src and --valid-tgt";
}

Result<LineBlocks> TextFiles::open(const std::filesystem::path &spool) const {
  if (isRecords())
    return LineBlocks::open(data, spool, BlockBegin::AnyLine);
  return isPlain() ? LineBlocks::open(text, spool, TextDocuments::blockBegin(kind()))
                   : LineBlocks::open(source, target, spool);
}

std::unique_ptr<ExampleBlocks> TextFiles::examples(const LineBlocks &opened, const TextCodec &vocabulary,
                                                   const BatchLimits &limits, Labelling labelling,
                                                   const ConversationReader &chat) const {
  if (isRecords() && limits.marks.prefers)
    return std::make_unique<PreferenceRecords>(opened, vocabulary, limits.maximumLength, limits.marks, chat);
  if (isRecords() && labelling == Labelling::None)
    return std::make_unique<TextRecords>(opened, vocabulary, limits.maximumLength, limits.marks, chat);
  if (isRecords())
    return std::make_unique<LabelledTexts>(opened, vocabulary, labelling, limits.maximumLength, limits.marks);
  if (labelling == Labelling::Hidden)
    return std::make_unique<HiddenWords>(opened, vocabulary, kind(), limits.maximumLength, limits.marks);
  if (labelling == Labelling::Masked)
    return std::make_unique<MaskedDocuments>(opened, vocabulary, kind(), limits.maximumLength, limits.marks);
  if (isPlain())
    return std::make_unique<TextDocuments>(opened, vocabulary, kind(), limits.maximumLength, limits.marks);
  return std::make_unique<TextPairs>(opened, vocabulary, limits.maximumLength, limits.marks);
}

Status TextFiles::check(const ModelDescription &model, std::string_view command) const {
  HEDDLE_CHECK(checkTask(model, textKind(), command));
  if (command == "train" && model.prefers && !isRecords())
    return makeError(ErrorKind::InvalidArgument,
                     "the artifact's model learns to prefer one answer to another (objective): "
                     "give pairs of answers by --data, and by --valid-data.");
  if (documents != "lines" && documents != "blank-lines" && documents != "file")
    return makeError(ErrorKind::InvalidArgument, "--documents is '", documents,
                     "', and is lines, blank-lines or file.");
  if (model.labelling() == Labelling::Hidden && kind() == DocumentKind::Line)
    return makeError(
        ErrorKind::InvalidArgument,
        "the artifact's model learns which sentences follow each other: give --documents=blank-lines, where a "
        "sentence is a line and blank lines divide documents, or --documents=file.");
  return Success();
}

Status checkHides(const TextCodec &vocabulary, const BatchLimits &limits, Labelling labelling) {
  if (!isOfHiddenWords(labelling) || (vocabulary.maskId() && limits.maximumLength >= 5))
    return Success();
  return makeError(ErrorKind::InvalidArgument,
                   !vocabulary.maskId()
                       ? str("the vocabulary has no piece '", kMaskPiece,
                             "' to hide words behind; let it be learnt from the text, or take that of a model that was "
                             "trained on hidden words.")
                       : str("texts with their marks do not fit into a max_length of ", limits.maximumLength, "."));
}

Result<PackedText> packText(const TextFiles &files, const LineBlocks &opened, const TextCodec &vocabulary,
                            const BatchLimits &limits, Labelling labelling, const ConversationReader &chat,
                            const char *use) {
  HEDDLE_CHECK(checkHides(vocabulary, limits, labelling));
  HEDDLE_ASSIGN(Corpus corpus, readCorpus(*files.examples(opened, vocabulary, limits, labelling, chat)));
  if (corpus.examples.empty())
    return makeError(ErrorKind::InvalidArgument, files.named(),
                     files.textKind() == TextKind::Pairs ? " leave" : " leaves", " no ", files.unit(), " to ", use,
                     " (", corpus.report.describe(limits.maximumLength), ").");
  return PackedText{packInOrder(corpus.examples, limits), std::move(corpus.report)};
}

} // namespace heddle
