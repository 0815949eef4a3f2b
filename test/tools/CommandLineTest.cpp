#include "tools/cli/CommandLine.h"
#include "test/runtime/TemporaryFolder.h"
#include "tools/cli/SameFile.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace heddle::cli;

namespace {

// Returns the message and exit code of a program with two commands; empty if the command line is right.
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
  // Also if the misspelt flag is the reason why something else is missing, or if its value is taken for an argument.
  EXPECT_NE(answer({"train", "a", "--checkpont", "c"}).find("the nearest is '--checkpoint'"), std::string::npos);
  EXPECT_NE(answer({"train", "--checkpont=c", "a"}).find("there is no flag '--checkpont'; the nearest"),
            std::string::npos);
  EXPECT_NE(answer({"train", "--step", "x", "--steps", "y"}).find("the nearest is '--steps'"), std::string::npos);
  EXPECT_NE(answer({"train", "a", "-steps", "3"}).find("the nearest is '--steps'"), std::string::npos);
  EXPECT_NE(answer({"translate", "--checkpoint", "c", "--baem", "3"}).find("the nearest is '--beam'"),
            std::string::npos); // two letters are swapped
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

TEST(CommandLine, PrintsTheHelpOfACommand) {
  std::string help = answer({"--help"}), ofTrain = answer({"train", "--help"});
  EXPECT_NE(help, ofTrain);
  EXPECT_EQ(answer({"help"}), help);
  EXPECT_EQ(answer({"help", "train"}), ofTrain);
  EXPECT_EQ(answer({"--help", "train"}), ofTrain);
  EXPECT_EQ(answer({"-h", "train"}), ofTrain);
  EXPECT_EQ(answer({"help", "trian"}),
            "2 prog: there is no command 'trian'; the nearest is 'train'. `prog --help` lists the flags.\n");
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
  EXPECT_EQ(problem("--help", name), "there is no flag '--help'");
}

// Otherwise a file opened later would receive the printed text, and the program's output would be lost without an
// error.
TEST(Program, ClosedStreamsGetNoFile) {
  pid_t child = fork();
  if (child == 0) {
    for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      close(stream);
    beginProgram();
    char byte = 0;
    bool fails = read(STDIN_FILENO, &byte, 1) < 0 && write(STDOUT_FILENO, &byte, 1) < 0;
    _exit(fails && open("/dev/null", O_WRONLY) > STDERR_FILENO ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(SameFile, AnOutputIsNoInput) {
  heddle::test::TemporaryFolder folder;
  std::filesystem::path input = folder.write("in", "text"), output = folder.write("out", "page");
  std::filesystem::create_symlink("in", folder / "link");
  EXPECT_TRUE(checkOutput("-o", output, {input, "", folder / "absent"}).ok());
  EXPECT_TRUE(checkOutput("-o", folder / "absent", {input, folder / "absent"}).ok());
  EXPECT_TRUE(checkOutput("-o", "", {"", input}).ok());
  EXPECT_TRUE(checkOutput("-o", "/dev/null", {"/dev/null"}).ok());
  EXPECT_EQ(checkOutput("-o", input, {output, input}).message(),
            "-o '" + input.string() + "' would replace a file that is read; name another file.");
  EXPECT_EQ(checkOutput("-o", folder / "link", {input}).message(), "-o '" + (folder / "link").string() +
                                                                       "' would replace '" + input.string() +
                                                                       "', which is read; name another file.");
}

} // namespace
