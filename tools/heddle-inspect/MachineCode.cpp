#include "tools/heddle-inspect/MachineCode.h"

#include <algorithm>
#include <map>
#include <string>

namespace heddle {
namespace {

// Returns the line without leading and trailing spaces and without its comment.
std::string_view trimmed(std::string_view line) {
  line = line.substr(0, line.find(';'));
  size_t begin = line.find_first_not_of(" \t"), end = line.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin, end - begin + 1);
}

bool startsWithAny(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return text.starts_with(beginning); });
}

void count(std::string_view operation, LoopCount &counts) {
  if (startsWithAny(operation, {"global_", "buffer_", "flat_", "scratch_", "ds_", "image_", "tbuffer_"})) {
    ++counts.memory;
    return;
  }
  if (!operation.starts_with("v_")) {
    ++counts.scalar;
    return;
  }
  ++counts.arithmetic;
  operation.remove_prefix(operation.starts_with("v_dual_") ? 7 : 2);
  if (operation.starts_with("pk_"))
    operation.remove_prefix(3);
  counts.multiplyAdds += startsWithAny(operation, {"fma", "mad_f", "mad_mix", "mac_f", "dot2", "wmma", "mfma"});
}

} // namespace

std::vector<LoopCount> innermostLoops(std::string_view assembly) {
  std::vector<std::string_view> lines;
  std::map<std::string_view, size_t> labels; // for each label, the index of the line that follows it
  while (!assembly.empty()) {
    size_t end = std::min(assembly.find('\n'), assembly.size());
    std::string_view line = trimmed(assembly.substr(0, end));
    assembly.remove_prefix(std::min(end + 1, assembly.size()));
    if (line.ends_with(':'))
      labels[line.substr(0, line.size() - 1)] = lines.size();
    else if (!line.empty())
      lines.push_back(line);
  }

  // A backward branch closes a loop. Loops are found in the order of their ends, so an outer loop follows its inner
  // loops.
  struct Loop {
    size_t begin, end;
  };
  std::vector<Loop> innermost;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!startsWithAny(lines[i], {"s_branch", "s_cbranch"}))
      continue;
    auto label = labels.find(lines[i].substr(lines[i].find_last_of(" \t") + 1));
    if (label == labels.end() || label->second > i)
      continue;
    if (!innermost.empty() && innermost.back().begin == label->second)
      innermost.back().end = i; // a loop with several back edges
    else if (innermost.empty() || innermost.back().begin < label->second)
      innermost.push_back({label->second, i});
  }

  std::vector<LoopCount> counts;
  for (auto [begin, end] : innermost) {
    LoopCount &loop = counts.emplace_back();
    for (size_t i = begin; i <= end; ++i)
      for (std::string_view rest = lines[i]; !rest.empty();) {
        size_t next = rest.find(" :: "); // separates two instructions that are issued at once
        count(rest, loop);
        rest = next == std::string_view::npos ? std::string_view() : rest.substr(next + 4);
      }
  }
  return counts;
}

} // namespace heddle
