// heddle-numbers: writes the number-words task, English to German, as parallel text files.
#include "tools/cli/CommandLine.h"
#include "tools/numbers/NumberSplit.h"
#include "tools/numbers/NumberWords.h"

#include <cstdio>
#include <string>
#include <vector>

using namespace heddle::numbers;

int main(int argc, char **argv) {
  heddle::cli::beginProgram();
  CLI::App app{
      "Writes the number-words task: a number a line, in English, in the ways in which people write it, and in "
      "German.",
      "heddle-numbers"};
  SplitOptions options;
  std::vector<uint32_t> spelled;
  app.add_option("--out", options.directory, "Folder for train.en, train.de, valid.en, valid.de, test.en and test.de");
  app.add_option("--train", options.train, "Pairs to train on")->capture_default_str();
  app.add_option("--valid", options.valid, "Numbers to validate on")->capture_default_str();
  app.add_option("--test", options.test, "Numbers to test on")->capture_default_str();
  app.add_option("--maximum", options.maximum, "The largest number that may occur")
      ->check(CLI::Range(uint32_t(0), kMaximumNumber))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of the draw")->capture_default_str();
  app.add_option("numbers", spelled, "Instead of writing files, print each writing of these: number, English, German")
      ->check(CLI::Range(uint32_t(0), kMaximumNumber));
  if (std::optional<int> code = heddle::cli::parseCommandLine(app, argc, argv))
    return *code;
  if (spelled.empty() == options.directory.empty()) {
    std::fputs("heddle-numbers: give either --out DIR or numbers to spell\n", stderr);
    return 2;
  }
  for (uint32_t number : spelled)
    for (const std::vector<std::string> &way : englishWritings(number))
      for (const std::string &english : way)
        std::printf("%u\t%s\t%s\n", number, english.c_str(), spellGerman(number).c_str());
  if (!spelled.empty())
    return heddle::cli::finishOutput(app.get_name(), 0);

  std::string problem = writeSplit(options);
  if (!problem.empty()) {
    std::fprintf(stderr, "heddle-numbers: %s\n", problem.c_str());
    return 1;
  }
  std::printf("%u pairs to train on; %u numbers to validate and %u to test, which no training pair has\n",
              options.train, options.valid, options.test);
  return heddle::cli::finishOutput(app.get_name(), 0);
}
