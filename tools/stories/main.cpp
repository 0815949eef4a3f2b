// heddle-stories: writes stories in two styles, and counts how many of a model's stories are right.
#include "runtime/core/File.h"
#include "tools/cli/CommandLine.h"
#include "tools/stories/Story.h"

#include <cstdio>
#include <fstream>
#include <string>

using namespace heddle::stories;

namespace {

struct Options {
  std::string directory;
  uint32_t stories = 12'000, valid = 200, told = 1'000, prompts = 300;
  uint64_t seed = 1;
};

int fail(const std::string &problem) {
  std::fprintf(stderr, "heddle-stories: %s\n", problem.c_str());
  return 1;
}

// Stories consist of letters, spaces and full stops, which need no escapes in JSON.
std::string record(const Story &story) {
  return "{\"prompt\": \"" + story.beginning() + "\", \"completion\": \"" + story.continuation(Style::Past) + "\"}\n";
}

int write(const Options &options) {
  std::error_code error;
  std::filesystem::path folder = options.directory;
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail("cannot create folder '" + options.directory + "': " + error.message());
  heddle::SplitMix64 random(options.seed);
  auto lines = [&](uint32_t count, bool heldOut, auto line) {
    std::string text;
    for (uint32_t i = 0; i < count; ++i)
      text += line(draw(random, heldOut));
    return text;
  };
  auto whole = [](const Story &story) { return story.beginning() + story.continuation(Style::Present) + "\n"; };
  auto prompt = [](const Story &story) { return story.beginning() + "\n"; };
  const std::pair<const char *, std::string> files[] = {{"prompts.txt", lines(options.prompts, true, prompt)},
                                                        {"valid.txt", lines(options.valid, true, whole)},
                                                        {"stories.txt", lines(options.stories, false, whole)},
                                                        {"told.jsonl", lines(options.told, false, record)}};
  for (const auto &[name, text] : files)
    if (heddle::Status status = heddle::writeFile(folder / name, text); !status.ok())
      return fail(status.message());
  std::printf("%u stories to learn, %u told in the past, %u beginnings that none of them has\n", options.stories,
              options.told, options.prompts);
  return 0;
}

int score(const std::string &path, Style style) {
  std::ifstream file(path);
  if (!file)
    return fail("cannot read '" + path + "'");
  uint64_t count = 0, right = 0;
  for (std::string line; std::getline(file, line); ++count)
    right += isRight(line, style);
  if (count == 0)
    return fail("'" + path + "' has no story to score");
  std::printf("%.1f%% of %llu stories right\n", 100 * double(right) / double(count),
              static_cast<unsigned long long>(count));
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  heddle::cli::beginProgram();
  CLI::App app{"The language demo's task: stories of a small grammar, in the present or in the past.",
               "heddle-stories"};
  app.require_subcommand(1);
  Options options;
  CLI::App *writing = app.add_subcommand("write", "Write stories, a story on each line");
  writing->add_option("--out", options.directory, "Folder for stories.txt, valid.txt, told.jsonl and prompts.txt")
      ->required();
  writing->add_option("--stories", options.stories, "Stories in the present")->capture_default_str();
  writing->add_option("--valid", options.valid, "Stories to validate on")->capture_default_str();
  writing->add_option("--told", options.told, "Beginnings with stories in the past")->capture_default_str();
  writing->add_option("--prompts", options.prompts, "Beginnings to go on with")->capture_default_str();
  writing->add_option("--seed", options.seed, "Seed of the draw")->capture_default_str();
  std::string file, style = "present";
  CLI::App *scoring = app.add_subcommand("score", "How many stories are of the grammar and agree with themselves");
  scoring->add_option("file", file, "A story on each line")->required();
  scoring->add_option("--style", style, "How the sentences behind the first are told")
      ->check(CLI::IsMember({"present", "past"}))
      ->capture_default_str();
  if (std::optional<int> code = heddle::cli::parseCommandLine(app, argc, argv))
    return *code;
  int code = *scoring ? score(file, style == "past" ? Style::Past : Style::Present) : write(options);
  return code != 0 ? code : heddle::cli::finishOutput(app.get_name(), 0);
}
