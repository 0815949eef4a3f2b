#include "tools/cli/CommandLine.h"

#include <gtest/gtest.h>

using namespace heddle::cli;

namespace {

// What a program with two commands says of a command line, and its exit code; empty where all is well.
std::string answer(std::vector<std::string> arguments) {
  CLI::App app("A program.", "prog");
  app.require_subcommand(1);
  int64_t steps = 0;
  std::string checkpoint, artifact;
  CLI::App *train = app.add_subcommand("train", "");
  train->add_option("artifact", artifact)->required();
  train->add_option("--steps", steps)->check(CLI::PositiveNumber);
  train->add_option("--checkpoint", checkpoint)->required();
  CLI::App *translate = app.add_subcommand("translate", "");
  translate->add_option("--checkpoint", checkpoint)->required();
  translate->add_option("--beam", steps);

  std::vector<char *> argv = {const_cast<char *>("prog")};
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  std::optional<int> code = parseCommandLine(app, int(argv.size()), argv.data());
  std::string text = testing::internal::GetCapturedStderr() + testing::internal::GetCapturedStdout();
  return code ? std::to_string(*code) + " " + text : text;
}

TEST(CommandLine, NamesTheNearestFlag) {
  EXPECT_EQ(answer({"train", "a", "--checkpoint", "c", "--step", "3"}),
            "2 prog train: there is no flag '--step'; the nearest is '--steps'. `prog train --help` lists the "
            "flags.\n");
  // Also where it is why something else is missing, or where its value is taken for something else.
  EXPECT_NE(answer({"train", "a", "--checkpont", "c"}).find("the nearest is '--checkpoint'"), std::string::npos);
  EXPECT_NE(answer({"train", "--checkpont=c", "a"}).find("there is no flag '--checkpont'; the nearest"),
            std::string::npos);
  EXPECT_NE(answer({"train", "--step", "x", "--steps", "y"}).find("the nearest is '--steps'"), std::string::npos);
  EXPECT_NE(answer({"train", "a", "-steps", "3"}).find("the nearest is '--steps'"), std::string::npos);
  EXPECT_NE(answer({"--step", "3"}).find("the nearest is '--steps' of 'train'"), std::string::npos);
  EXPECT_NE(answer({"train", "a", "--quite-different", "3"}).find("no flag '--quite-different'. `prog"),
            std::string::npos);
}

TEST(CommandLine, SaysWhereAFlagBelongs) {
  EXPECT_NE(answer({"--steps", "3", "train", "a", "--checkpoint", "c"}).find("it goes behind 'train'"),
            std::string::npos);
  EXPECT_NE(answer({"--checkpoint", "c", "translate"}).find("it goes behind 'translate'"), std::string::npos);
  EXPECT_NE(answer({"translate", "--checkpoint", "c", "--steps", "3"}).find("it belongs to 'train'"),
            std::string::npos);
  EXPECT_NE(answer({"train", "--version"}).find("it goes in front of it"), std::string::npos);
}

TEST(CommandLine, NamesTheNearestCommand) {
  EXPECT_EQ(answer({"trian", "a", "--steps", "3"}),
            "2 prog: there is no command 'trian'; the nearest is 'train'. `prog --help` lists the flags.\n");
  EXPECT_NE(answer({"cook"}).find("there is no command 'cook'. `prog"), std::string::npos);
  EXPECT_NE(answer({}).find("2 prog: a command is missing"), std::string::npos);
  EXPECT_NE(answer({"train", "a", "b", "--checkpoint", "c"}).find("the argument 'b' was not expected"),
            std::string::npos);
}

TEST(CommandLine, KeepsOtherMistakesAndTheRest) {
  EXPECT_NE(answer({"train", "a"}).find("2 prog train: --checkpoint is required"), std::string::npos);
  EXPECT_NE(answer({"train", "a", "--checkpoint", "c", "--steps", "0"}).find("--steps"), std::string::npos);
  EXPECT_EQ(answer({"train", "a", "--checkpoint", "c", "--steps", "3"}), "");
  EXPECT_TRUE(answer({"--version"}).starts_with("0 prog 0.")) << answer({"--version"});
  EXPECT_TRUE(answer({"train", "--help"}).starts_with("0 ")) << answer({"train", "--help"});
}

TEST(CommandLine, ReadsFlagsOfALine) {
  auto problem = [](const std::string &line, std::string &name) {
    CLI::App app;
    app.add_option("--name", name)->required();
    return parseFlags(app, line);
  };
  std::string name;
  EXPECT_EQ(problem("--name 'a b'", name), "");
  EXPECT_EQ(name, "a b");
  EXPECT_EQ(problem("--nam=x", name), "there is no flag '--nam'; the nearest is '--name'");
  EXPECT_EQ(problem("", name), "--name is required");
}

} // namespace
