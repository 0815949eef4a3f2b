// Writes docs/description.md from the table of keys.
#include "compiler/Model/Import/Description.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::heddle;

static constexpr StringLiteral kIntroduction = R"(# Model descriptions

A description is a TOML file of lines `key = value`; `models/` has some. `heddle-compile --set key=value` gives a key another
value for a single compilation. Numbers in parentheses are sections of "Attention Is All You Need" (Vaswani et al., 2017).
This page is the output of `heddle-compile --help-description`.

## Your own data

Text is a sentence a line, and a translation is the same line of a second file. Copy a description of `models/` and change
the keys that depend on the data:

| key | value |
| --- | --- |
| `vocab_size` | the pieces of the vocabulary that `heddle-run train` learns from the text. For text that is split into characters: the distinct characters of both sides + 4, for the marks of unknown text, begin, end and padding. For words and parts of words: 8,000 to 37,000, and fewer for a small corpus |
| `max_length` | the tokens of the longest sentence and its mark; for characters, at least the characters of the longest line + 2 |
| `max_tokens` | the tokens of a batch on each side. The larger, the fewer steps an epoch has, and the more memory it takes; at least `max_length` |
| `max_sequences` | the sentences of a batch; `max_tokens` divided by the average length leaves neither of the two idle |

A label for each line is a target of a single word. `learning_rate` and `warmup` matter next: small models learn with a rate of
1e-3 to 3e-3 and some hundred steps of warm-up.

## A model of your own

`model = "NAME.weft"` names a [model text](language.md), beside the description or one of those that Heddle brings along. The
text's parameters are then keys, in the place of `architecture` and the keys below it up to `label_smoothing`, but for
`vocab_size`, which is always one.

## All keys

A key without a default must be given, unless there is a `model`.

| key | values | default | meaning |
| --- | --- | --- | --- |
)";

void heddle::printDescriptionPage(raw_ostream &stream) {
  stream << kIntroduction;
  for (const DescriptionKey &key : getDescriptionKeys()) {
    std::string otherwise = key.describeDefault();
    stream << "| `" << key.name << "` | " << key.describeValues() << " | "
           << (otherwise.empty() ? "" : "`" + otherwise + "`") << " | " << key.doc << " |\n";
  }
}
