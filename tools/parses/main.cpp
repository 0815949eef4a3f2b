// heddle-parses: writes sentences of a grammar with their trees, and scores trees.
#include "tools/cli/CommandLine.h"
#include "tools/parses/Brackets.h"
#include "tools/parses/ParseSplit.h"

#include <cstdio>
#include <fstream>
#include <string>

using namespace heddle::parses;

namespace {

int fail(const std::string &problem) {
  std::fprintf(stderr, "heddle-parses: %s\n", problem.c_str());
  return 1;
}

int score(const std::string &referencePath, const std::string &hypothesisPath) {
  std::ifstream references(referencePath), hypotheses(hypothesisPath);
  if (!references || !hypotheses)
    return fail("cannot read '" + (references ? hypothesisPath : referencePath) + "'");
  BracketScore score;
  std::string reference, hypothesis;
  while (true) {
    bool more = bool(std::getline(references, reference));
    if (more != bool(std::getline(hypotheses, hypothesis)))
      return fail("'" + referencePath + "' and '" + hypothesisPath +
                  "' have different numbers of lines; line n of both is the tree of sentence n");
    if (!more)
      break;
    std::optional<Tree> tree = parseTree(reference);
    if (!tree)
      return fail("line " + std::to_string(score.count() + 1) + " of '" + referencePath + "' is not a tree");
    score.add(*tree, parseTree(hypothesis));
  }
  if (score.count() == 0)
    return fail("'" + referencePath + "' has no tree to score against");
  std::printf("labelled precision %.2f, recall %.2f, F1 %.2f; %.1f%% of %llu sentences complete, %llu without a usable "
              "tree\n",
              100 * score.precision(), 100 * score.recall(), 100 * score.f1(), 100 * score.complete(),
              static_cast<unsigned long long>(score.count()), static_cast<unsigned long long>(score.unusable()));
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  heddle::cli::beginProgram();
  CLI::App app{"The parsing task: sentences of a small English grammar and their trees.", "heddle-parses"};
  app.require_subcommand(1);
  SplitOptions options;
  CLI::App *write = app.add_subcommand("write", "Write sentences and their trees, a sentence on each line");
  write->add_option("--out", options.directory, "Folder for train.txt, train.tree, valid.txt, ... test.tree")
      ->required();
  write->add_option("--train", options.train, "Sentences to train on")->capture_default_str();
  write->add_option("--valid", options.valid, "Sentences to validate on")->capture_default_str();
  write->add_option("--test", options.test, "Sentences to test on")->capture_default_str();
  write->add_option("--longest", options.longest, "Words of a sentence at most")
      ->check(CLI::Range(3, 1000))
      ->capture_default_str();
  write->add_option("--seed", options.seed, "Seed of the draw")->capture_default_str();
  std::string reference, hypothesis;
  CLI::App *scoring = app.add_subcommand("score", "Labelled bracket F1 by EVALB's rules");
  scoring->add_option("reference", reference, "The right trees, a tree on each line")->required();
  scoring->add_option("hypothesis", hypothesis, "The trees to score, a tree on each line")->required();
  if (std::optional<int> code = heddle::cli::parseCommandLine(app, argc, argv))
    return *code;
  if (*scoring)
    return heddle::cli::finishOutput(app.get_name(), score(reference, hypothesis));
  if (std::string problem = writeSplit(options); !problem.empty())
    return fail(problem);
  std::printf("%u sentences to train on, %u to validate, %u to test; no two are the same\n", options.train,
              options.valid, options.test);
  return heddle::cli::finishOutput(app.get_name(), 0);
}
