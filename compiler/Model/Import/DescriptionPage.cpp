// Writes docs/description.md from the table of keys.
#include "compiler/Model/Import/Description.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::heddle;

static constexpr StringLiteral kIntroduction = R"(# Model descriptions

A description is a TOML file of lines `key = value`; `models/` has examples. `heddle-compile --set key=value` changes a key for a
single compilation. Numbers in parentheses are sections of "Attention Is All You Need" (Vaswani et al., 2017).
This page is the output of `heddle-compile --help-description`.

## Your own data

A text file has a sentence per line, and a second file has the translation on the same line. Copy a description from `models/` and
change the keys that depend on the data:

| key | value |
| --- | --- |
| `vocab_size` | the pieces of the vocabulary that `heddle-run train` learns from the text. If the text is split into characters: the number of distinct characters of both sides + 4, for the marks of unknown text, begin, end and padding. For words and parts of words: 8,000 to 37,000, and fewer for a small corpus |
| `max_length` | the tokens of the longest sentence with its mark; for characters, at least the characters of the longest line + 2 |
| `max_tokens` | the tokens of a batch on each side. A larger batch takes more memory, and an epoch has fewer steps; at least `max_length` |
| `max_sequences` | the sentences of a batch. A good value is `max_tokens` divided by the average length |

A label for each line is a target of a single word. `learning_rate` and `warmup` matter next: small models learn with a rate of
1e-3 to 3e-3 and some hundred steps of warm-up.

## A model of your own

`model = "NAME.weft"` names a [model text](language.md) in the description's folder, or one of Heddle's library. The text's
parameters are then keys; they replace `architecture` and the keys below it up to `label_smoothing`, except `vocab_size`, which is
always a key.

## All keys

A key without a default must be given, unless there is a `model`.

| key | values | default | meaning |
| --- | --- | --- | --- |
)";

void mlir::heddle::printDescriptionPage(raw_ostream &stream) {
  stream << kIntroduction;
  for (const DescriptionKey &key : getDescriptionKeys()) {
    std::string otherwise = key.describeDefault();
    stream << "| `" << key.name << "` | " << key.describeValues() << " | "
           << (otherwise.empty() ? "" : "`" + otherwise + "`") << " | " << key.doc << " |\n";
  }
}
