#include "tools/heddle-run/commands/TextFiles.h"

#include "tools/heddle-run/text/Records.h"

namespace heddle::run {

DocumentKind TextFiles::kind() const {
  if (documents == "file")
    return DocumentKind::File;
  return documents == "blank-lines" ? DocumentKind::BetweenBlankLines : DocumentKind::Line;
}

std::string TextFiles::named() const {
  return isPlain()     ? str("'", text, "'")
         : isRecords() ? str("'", data, "'")
                       : str("'", source, "' and '", target, "'");
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
                                                   const BatchLimits &limits, Labelling labelling) const {
  if (isRecords())
    return std::make_unique<LabelledTexts>(opened, vocabulary, labelling, limits.maximumLength, limits.marks);
  if (isPlain())
    return std::make_unique<TextDocuments>(opened, vocabulary, kind(), TextLimits{limits.maximumLength, limits.marks});
  return std::make_unique<TextPairs>(opened, vocabulary, limits.maximumLength);
}

Result<PackedText> packText(const TextFiles &files, const LineBlocks &opened, const TextCodec &vocabulary,
                            const BatchLimits &limits, Labelling labelling, const char *use) {
  HEDDLE_ASSIGN(Corpus corpus, readCorpus(*files.examples(opened, vocabulary, limits, labelling)));
  if (corpus.examples.empty())
    return makeError(ErrorKind::InvalidArgument, files.named(), files.textKind() == TextKind::Pairs ? " leave" : " leaves", " no ",
                     files.unit(), " to ", use, " (", corpus.report.describe(limits.maximumLength), ").");
  return PackedText{packInOrder(corpus.examples, limits), std::move(corpus.report)};
}

} // namespace heddle::run
