#include "tools/cli/CommandLine.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {
namespace {

// Returns the number of letters to insert, remove or replace, or of neighbours to swap.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> costs(a.size() + 1, std::vector<size_t>(b.size() + 1)); // of beginnings of both
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      size_t &cost = costs[i][j] = i + j; // removes all of `a`, inserts all of `b`
      if (i > 0 && j > 0)
        cost = std::min({costs[i - 1][j] + 1, costs[i][j - 1] + 1, costs[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost = std::min(cost, costs[i - 2][j - 2] + 1);
    }
  return costs.back().back();
}

// Returns the name that was probably meant: the nearest one, if at least half of its letters are right. Otherwise null.
const std::string *nearest(std::string_view name, const std::vector<std::string> &names) {
  auto distance = [&](const std::string &other) { return editDistance(name, other); };
  auto found = std::ranges::min_element(names, {}, distance);
  return found != names.end() && 2 * distance(*found) <= std::max(name.size(), found->size()) ? &*found : nullptr;
}

std::vector<std::string> flagsOf(const CLI::App &app) {
  std::vector<std::string> flags;
  for (const CLI::Option *option : app.get_options())
    flags.insert(flags.end(), option->get_lnames().begin(), option->get_lnames().end());
  return flags;
}

std::vector<const CLI::App *> commandsOf(const CLI::App &app) {
  return app.get_subcommands([](const CLI::App *) { return true; });
}

std::string aboutFlag(const CLI::App &root, const CLI::App &command, const std::string &argument) {
  std::string flag = argument.substr(0, argument.find('=')), name = flag.substr(flag.find_first_not_of('-'));
  std::string problem = "there is no flag '" + flag + "'";
  std::vector<std::string> own = flagsOf(command), others;
  for (const CLI::App *other : commandsOf(root)) {
    std::vector<std::string> flags = flagsOf(*other);
    others.insert(others.end(), flags.begin(), flags.end());
  }
  auto owner = [&](const std::string &wanted) {
    auto has = [&](const CLI::App *other) { return std::ranges::count(flagsOf(*other), wanted) != 0; };
    std::vector<const CLI::App *> commands = commandsOf(root), parsed;
    for (const CLI::App *used : root.get_subcommands())
      parsed.push_back(used);
    auto found = std::ranges::find_if(parsed, has);
    return found != parsed.end() ? *found : *std::ranges::find_if(commands, has);
  };
  bool isOwn = std::ranges::count(own, name) != 0; // with another number of dashes
  if (!isOwn && std::ranges::count(others, name) != 0)
    return problem + (&command == &root ? " in front of the command; it goes behind '" : " here; it belongs to '") +
           owner(name)->get_name() + "'";
  if (!isOwn && std::ranges::count(flagsOf(root), name) != 0)
    return problem + " behind the command; it goes in front of it";
  if (const std::string *meant = nearest(name, own))
    return problem + "; the nearest is '--" + *meant + "'";
  if (const std::string *meant = &command == &root ? nearest(name, others) : nullptr)
    return problem + "; the nearest is '--" + *meant + "' of '" + owner(*meant)->get_name() + "'";
  return problem;
}

std::string aboutArgument(const CLI::App &command, const std::string &argument) {
  std::vector<std::string> names;
  for (const CLI::App *other : commandsOf(command))
    names.push_back(other->get_name());
  if (names.empty() || !command.get_subcommands().empty())
    return "the argument '" + argument + "' was not expected";
  const std::string *meant = nearest(argument, names);
  return "there is no command '" + argument + "'" + (meant ? "; the nearest is '" + *meant + "'" : "");
}

// Says what is wrong, and sets `command` to the command it concerns. An unknown flag is reported first: it may be a
// misspelling of the flag that is missing, and its value may have been taken for an argument.
std::string describe(const CLI::App &root, const CLI::App *&command, const CLI::ParseError &error) {
  std::vector<const CLI::App *> used = {&root};
  for (const CLI::App *parsed : root.get_subcommands())
    used.push_back(parsed);
  auto isFlag = [](const std::string &text) {
    return text.find_first_not_of('-') != std::string::npos && text[0] == '-';
  };
  auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  bool mayBeUnknown = code == CLI::ExitCodes::ExtrasError || code == CLI::ExitCodes::RequiredError;
  for (const CLI::App *app : used) {
    command = app;
    std::vector<std::string> unknown = app->remaining();
    bool misspelled =
        mayBeUnknown && used.size() == 1 && !commandsOf(root).empty() && !unknown.empty() && !isFlag(unknown[0]);
    if (auto flag = std::ranges::find_if(unknown, isFlag); flag != unknown.end() && !misspelled)
      return aboutFlag(root, *app, *flag);
    if (mayBeUnknown && !unknown.empty())
      return aboutArgument(*app, unknown.front());
  }
  if (code == CLI::ExitCodes::RequiredError && command == &root && !commandsOf(root).empty())
    return "a command is missing";
  return error.what();
}

// Turns `help`, `help COMMAND` and `--help COMMAND` into `--help` and `COMMAND --help`.
void moveHelp(const CLI::App &app, std::vector<std::string> &arguments) {
  if (arguments.empty() || commandsOf(app).empty())
    return;
  const std::string first = arguments[0];
  if (first == "help")
    arguments[0] = "--help";
  if (arguments.size() == 1 || (first != "help" && first != "--help" && first != "-h"))
    return;
  if (std::ranges::count(commandsOf(app), arguments[1], &CLI::App::get_name) != 0)
    std::swap(arguments[0], arguments[1]);
  else if (first == "help")
    arguments.erase(arguments.begin()); // the error is about the unknown command
}

} // namespace

std::optional<int> parseCommandLine(CLI::App &app, int argc, char **argv) {
  app.set_version_flag("--version", versionText(app.get_name()), "Print the version and exit");
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  moveHelp(app, arguments);
  try {
    std::ranges::reverse(arguments); // as CLI11 takes them
    app.parse(arguments);
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return finishOutput(app.get_name(), app.exit(error));
    const CLI::App *command = nullptr;
    std::string problem = describe(app, command, error);
    std::string name = app.get_name() + (command == &app ? "" : " " + command->get_name());
    std::fprintf(stderr, "%s: %s. `%s --help` lists the flags.\n", name.c_str(), problem.c_str(), name.c_str());
    return kWrongCommandLine;
  }
}

std::string parseFlags(CLI::App &app, const std::string &line) {
  app.set_help_flag(); // the line is only checked: it must not print help
  try {
    app.parse(line);
    return "";
  } catch (const CLI::ParseError &error) {
    const CLI::App *command = nullptr;
    return describe(app, command, error);
  }
}

} // namespace heddle::cli
