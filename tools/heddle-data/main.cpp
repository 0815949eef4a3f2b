// heddle-data: writes the data of the demos and the tests, and scores parses and stories.
#include "runtime/core/File.h"
#include "runtime/text/Lines.h"
#include "tools/cli/CommandLine.h"
#include "tools/heddle-data/Brackets.h"
#include "tools/heddle-data/NumberWords.h"
#include "tools/heddle-data/Numbers.h"
#include "tools/heddle-data/Parses.h"
#include "tools/heddle-data/Stories.h"

#include <cstdio>
#include <filesystem>
#include <functional>

using namespace heddle;
using namespace heddle::demo;

namespace {

Status writeFiles(const std::filesystem::path &folder, const Result<DataFiles> &files) {
  HEDDLE_CHECK(files);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return makeError(ErrorKind::Io, "cannot create folder '", folder.string(), "': ", error.message());
  for (const auto &[name, text] : *files)
    HEDDLE_CHECK(writeFile(folder / name, text));
  return Success();
}

Status spell(const std::vector<uint32_t> &numbers) {
  for (uint32_t number : numbers)
    for (const std::vector<std::string> &way : englishWritings(number))
      for (const std::string &english : way)
        std::printf("%u\t%s\t%s\n", number, english.c_str(), spellGerman(number).c_str());
  return Success();
}

Status scoreParses(const std::string &references, const std::string &hypotheses) {
  HEDDLE_ASSIGN(std::vector<std::string> right, readLines(references));
  HEDDLE_ASSIGN(std::vector<std::string> parsed, readLines(hypotheses));
  if (right.size() != parsed.size())
    return makeError(ErrorKind::InvalidArgument, "'", references, "' has ", right.size(), " trees and '", hypotheses,
                     "' has ", parsed.size(), " lines; line n of the second must parse the sentence of tree n.");
  BracketScore score;
  for (size_t i = 0; i < right.size(); ++i) {
    std::optional<Tree> reference = parseTree(right[i]);
    if (!reference)
      return makeError(ErrorKind::Malformed, "line ", i + 1, " of '", references, "' is not a tree");
    score.add(*reference, parseTree(parsed[i]));
  }
  if (score.count() == 0)
    return makeError(ErrorKind::InvalidArgument, "'", references, "' has no tree to score against");
  std::printf("labelled precision %.2f, recall %.2f, F1 %.2f; %.1f%% of %llu sentences complete, %llu without a usable "
              "tree\n",
              100 * score.precision(), 100 * score.recall(), 100 * score.f1(), 100 * score.complete(),
              static_cast<unsigned long long>(score.count()), static_cast<unsigned long long>(score.unusable()));
  return Success();
}

Status scoreStories(const std::string &path, Style style) {
  HEDDLE_ASSIGN(std::vector<std::string> stories, readLines(path));
  if (stories.empty())
    return makeError(ErrorKind::InvalidArgument, "'", path, "' has no story to score");
  auto right = std::ranges::count_if(stories, [&](const std::string &story) { return isRight(story, style); });
  std::printf("%.1f%% of %zu stories right\n", 100 * double(right) / double(stories.size()), stories.size());
  return Success();
}

} // namespace

int main(int argc, char **argv) {
  cli::beginProgram();
  CLI::App app{"Writes the data of the demos, and scores parses and stories.", "heddle-data"};
  app.require_subcommand(1);
  std::function<Status()> work;
  auto add = [&](const char *name, const char *purpose, std::function<Status()> action) {
    CLI::App *command = app.add_subcommand(name, purpose);
    command->callback([&work, action = std::move(action)] { work = action; });
    return command;
  };
  std::string folder;
  auto addCounts = [&](CLI::App *command, const char *files, uint64_t &seed,
                       std::initializer_list<std::tuple<const char *, uint32_t *, const char *>> counts) {
    command->add_option("--out", folder, std::string("Folder for ") + files)->required();
    for (auto [flag, count, purpose] : counts)
      command->add_option(flag, *count, purpose)->capture_default_str();
    command->add_option("--seed", seed, "Seed of the draw")->capture_default_str();
  };

  NumberOptions numbers;
  CLI::App *command = add(
      "numbers", "Write numbers in English, in the ways in which people write them, and in German", [&]() -> Status {
        HEDDLE_CHECK(writeFiles(folder, numberFiles(numbers)));
        std::printf("%u pairs to train on; %u numbers to validate and %u to test, which no training pair has\n",
                    numbers.train, numbers.valid, numbers.test);
        return Success();
      });
  addCounts(command, "train.en, train.de, valid.en, valid.de, test.en and test.de", numbers.seed,
            {{"--train", &numbers.train, "Pairs to train on"},
             {"--valid", &numbers.valid, "Numbers to validate on"},
             {"--test", &numbers.test, "Numbers to test on"}});
  command->add_option("--maximum", numbers.maximum, "The largest number that may occur")
      ->check(CLI::Range(uint32_t(0), kMaximumNumber))
      ->capture_default_str();
  std::vector<uint32_t> spelled;
  add("spell", "Print each writing of numbers: number, English, German", [&] { return spell(spelled); })
      ->add_option("numbers", spelled, "The numbers")
      ->required()
      ->check(CLI::Range(uint32_t(0), kMaximumNumber));

  ParseOptions parses;
  command = add("parses", "Write sentences of a small English grammar and their trees", [&]() -> Status {
    HEDDLE_CHECK(writeFiles(folder, parseFiles(parses)));
    std::printf("%u sentences to train on, %u to validate, %u to test; no two are the same\n", parses.train,
                parses.valid, parses.test);
    return Success();
  });
  addCounts(command, "train.txt, train.tree, valid.txt, ... test.tree", parses.seed,
            {{"--train", &parses.train, "Sentences to train on"},
             {"--valid", &parses.valid, "Sentences to validate on"},
             {"--test", &parses.test, "Sentences to test on"}});
  command->add_option("--longest", parses.longest, "Words of a sentence at most")
      ->check(CLI::Range(3, 1000))
      ->capture_default_str();
  std::string reference, hypothesis;
  command =
      add("score-parses", "Labelled bracket F1 by EVALB's rules", [&] { return scoreParses(reference, hypothesis); });
  command->add_option("reference", reference, "The right trees, a tree on each line")->required();
  command->add_option("hypothesis", hypothesis, "The trees to score, a tree on each line")->required();

  StoryOptions stories;
  command = add("stories", "Write stories of a small grammar, in the present or in the past", [&]() -> Status {
    HEDDLE_CHECK(writeFiles(folder, storyFiles(stories)));
    std::printf("%u stories to learn, %u told in the past, %u beginnings that none of them has\n", stories.stories,
                stories.told, stories.prompts);
    return Success();
  });
  addCounts(command, "stories.txt, valid.txt, told.jsonl and prompts.txt", stories.seed,
            {{"--stories", &stories.stories, "Stories in the present"},
             {"--valid", &stories.valid, "Stories to validate on"},
             {"--told", &stories.told, "Beginnings with stories in the past"},
             {"--prompts", &stories.prompts, "Beginnings to go on with"}});
  std::string file, style = "present";
  command = add("score-stories", "How many stories are of the grammar and agree with themselves",
                [&] { return scoreStories(file, style == "past" ? Style::Past : Style::Present); });
  command->add_option("file", file, "A story on each line")->required();
  command->add_option("--style", style, "How the sentences behind the first are told")
      ->check(CLI::IsMember({"present", "past"}))
      ->capture_default_str();

  if (std::optional<int> code = cli::parseCommandLine(app, argc, argv))
    return *code;
  Status status = work();
  if (!status.ok())
    std::fprintf(stderr, "heddle-data: %s\n", status.message().c_str());
  return cli::finishOutput(app.get_name(), status.ok() ? 0 : cli::kWorkFailed);
}
