#include "tools/heddle-data/Brackets.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace heddle::demo {
namespace {

constexpr std::array<std::string_view, 7> kDeleted = {"TOP", "-NONE-", ",", ":", "``", "''", "."};

// The deepest nesting that is read, so that reading cannot exhaust the stack. No sentence nests as deep.
constexpr int kDeepest = 1'000;

bool isDeleted(std::string_view label) { return std::ranges::find(kDeleted, label) != kDeleted.end(); }

std::string plainLabel(std::string_view label) {
  if (!label.starts_with('-'))
    label = label.substr(0, label.find_first_of("-="));
  return label == "PRT" ? "ADVP" : std::string(label);
}

// Splits a line into tokens. A bracket begins a new token, which includes the label that follows it.
std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> tokens;
  size_t place = 0;
  while (place < line.size()) {
    if (line[place] == ' ' || line[place] == '\t' || line[place] == '\r') {
      ++place;
      continue;
    }
    size_t end = std::min(line.find_first_of(" \t\r()", place + 1), line.size());
    tokens.push_back(line.substr(place, end - place));
    place = end;
  }
  return tokens;
}

class TreeReader {
public:
  explicit TreeReader(std::string_view line) : tokens(split(line)) {}

  std::optional<Tree> read() {
    if (!readNode(0) || next != tokens.size())
      return std::nullopt;
    std::ranges::sort(tree.brackets);
    return std::move(tree);
  }

private:
  bool atEnd() const { return next == tokens.size(); }
  bool atOpening() const { return !atEnd() && tokens[next].front() == '('; }
  bool atClosing() const { return !atEnd() && tokens[next].front() == ')'; }

  bool readNode(int depth) {
    if (!atOpening() || depth == kDeepest)
      return false;
    std::string_view label = tokens[next++].substr(1);
    int begin = tree.words;
    if (atClosing())
      return false;
    while (!atClosing()) {
      if (atEnd())
        return false;
      if (atOpening()) {
        if (!readNode(depth + 1))
          return false;
      } else {
        tree.words += !isDeleted(tokens[next++]);
      }
    }
    std::string_view closed = tokens[next++].substr(1);
    if (!closed.empty() && closed != label)
      return false;
    if (tree.words > begin && !label.empty() && !isDeleted(label))
      tree.brackets.push_back({plainLabel(label), begin, tree.words});
    return true;
  }

  std::vector<std::string_view> tokens;
  size_t next = 0;
  Tree tree;
};

} // namespace

std::optional<Tree> parseTree(std::string_view line) { return TreeReader(line).read(); }

void BracketScore::add(const Tree &reference, const std::optional<Tree> &hypothesis) {
  ++sentences;
  expected += reference.brackets.size();
  if (!hypothesis || hypothesis->words != reference.words) {
    ++failed;
    return;
  }
  std::vector<Bracket> common;
  std::ranges::set_intersection(reference.brackets, hypothesis->brackets, std::back_inserter(common));
  matched += common.size();
  proposed += hypothesis->brackets.size();
  completely += common.size() == reference.brackets.size() && common.size() == hypothesis->brackets.size();
}

} // namespace heddle::demo
