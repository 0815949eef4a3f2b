#include "runtime/tokenizers/TokenizerSteps.h"

#include "runtime/tokenizers/Base64.h"
#include "runtime/tokenizers/JsonFields.h"

#include <algorithm>

namespace heddle {
namespace {

using nlohmann::json;

// The patterns of LLaMA 3 and of Qwen, which differ only in the numbers between these halves.
constexpr std::string_view kCutsBefore = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)";
constexpr std::string_view kCutsBehind = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Limits for untrusted files. Published vocabularies have few steps, which lengthen a text only a few times.
constexpr size_t kMostSteps = 100;
constexpr int kMostGrowth = 256;
constexpr size_t kLongestMark = 256; // bytes

// The steps of a sequence, listed under `key`; for any other step, the step itself.
std::span<const json> stepsOf(const json &step, const char *key) {
  const json &steps = at(step, key);
  if (!is(step, "type", "Sequence") || !steps.is_array())
    return std::span(&step, 1);
  return steps.get_ref<const json::array_t &>();
}

bool isSequence(const json &step) { return is(step, "type", "Sequence"); }

} // namespace

Result<TextNormalizer> TokenizerSteps::normalizer(const json &step) const {
  TextNormalizer normalizer;
  if (!step.is_null())
    HEDDLE_CHECK(addNormalizer(step, normalizer));
  if (normalizer.size() > kMostSteps)
    return tooMany("normalizers", normalizer.size());
  if (normalizer.growth() > kMostGrowth)
    return malformed("its normalizers make a text more than ", kMostGrowth, " times as long");
  return normalizer;
}

Status TokenizerSteps::addNormalizer(const json &step, TextNormalizer &normalizer) const {
  if (isSequence(step) && at(step, "normalizers").is_array()) {
    for (const json &one : at(step, "normalizers"))
      HEDDLE_CHECK(addNormalizer(one, normalizer));
    return Success();
  }
  using enum NormalForm;
  for (auto [type, form] : {std::pair("NFC", C), {"NFD", D}, {"NFKC", KC}, {"NFKD", KD}})
    if (is(step, "type", type)) {
      normalizer.add(form);
      return Success();
    }
  const json &pattern = at(step, "pattern");
  if (is(step, "type", "Replace") && !textAt(pattern, "String").empty() && at(step, "content").is_string())
    normalizer.add(TextNormalizer::Replace{textAt(pattern, "String"), textAt(step, "content")});
  else if (is(step, "type", "Replace") && is(pattern, "Regex", " {2,}") && at(step, "content").is_string())
    normalizer.add(TextNormalizer::ReplaceSpaces{textAt(step, "content")});
  else if (is(step, "type", "Prepend") && textAt(step, "prepend").size() > kLongestMark)
    return malformed("a normalizer puts ", textAt(step, "prepend").size(), " bytes in front of a text, and ",
                     kLongestMark, " are the most");
  else if (is(step, "type", "Prepend") && at(step, "prepend").is_string())
    normalizer.add(TextNormalizer::Prepend{textAt(step, "prepend")});
  else if (is(step, "type", "Strip"))
    normalizer.add(TextNormalizer::Strip{isTrue(step, "strip_left"), isTrue(step, "strip_right")});
  else if (is(step, "type", "Lowercase"))
    normalizer.add(TextNormalizer::LowerCase());
  else if (is(step, "type", "Precompiled")) {
    std::optional<std::string> bytes = fromBase64(textAt(step, "precompiled_charsmap"));
    std::optional<CharacterMap> map = bytes ? CharacterMap::parse(*bytes) : std::nullopt;
    if (!map)
      return malformed("'precompiled_charsmap' is no table of characters");
    normalizer.add(std::move(*map));
  } else
    return unreadable("the normalizer ", shortened(step));
  return Success();
}

bool TokenizerSteps::cutsBytes(const json &step) {
  return std::ranges::any_of(stepsOf(step, "pretokenizers"),
                             [](const json &one) { return is(one, "type", "ByteLevel"); });
}

Result<TextCutter> TokenizerSteps::cutter(const json &step) const {
  TextCutter cutter;
  if (cutsBytes(step)) {
    HEDDLE_CHECK(addWords(step, cutter));
  } else if (!step.is_null()) {
    HEDDLE_CHECK(addCutter(step, cutter));
  }
  if (cutter.size() > kMostSteps)
    return tooMany("pre-tokenizers", cutter.size());
  return cutter;
}

// Adds patterns and digits in order, and then GPT-2's words if the last step uses them.
Status TokenizerSteps::addWords(const json &step, TextCutter &cutter) const {
  std::span<const json> steps = stepsOf(step, "pretokenizers");
  const json &first = steps.front(), &bytes = steps.back();
  auto refuse = [&] { return unreadable("the pre-tokenizer ", shortened(step)); };
  if (!is(bytes, "type", "ByteLevel") || isTrue(bytes, "add_prefix_space"))
    return refuse();
  bool isGpt2 = isTrue(bytes, "use_regex", true);
  if (steps.size() == 2 && is(first, "type", "Digits") && isTrue(first, "individual_digits") && isGpt2) {
    cutter.add(WordRule{WordRule::Kind::GPT2, 1});
    return Success();
  }
  for (const json &one : steps.first(steps.size() - 1)) {
    if (is(one, "type", "Digits") && isTrue(one, "individual_digits")) {
      addPattern(R"(\p{N})", cutter);
      continue;
    }
    const json &pattern = at(at(one, "pattern"), "Regex");
    bool isSplit = is(one, "type", "Split") && is(one, "behavior", "Isolated") && !isTrue(one, "invert");
    if (!isSplit || !pattern.is_string() || !addPattern(pattern.get<std::string>(), cutter))
      return refuse();
  }
  if (isGpt2)
    cutter.add(WordRule{});
  return steps.size() == 1 && !isGpt2 ? Status(refuse()) : Success();
}

// Returns false if no published vocabulary has the pattern.
bool TokenizerSteps::addPattern(const std::string &pattern, TextCutter &cutter) {
  for (auto [numbers, count] : {std::pair(R"(\p{N}{1,3})", 3), {R"(\p{N})", 1}})
    if (pattern == str(kCutsBefore, numbers, kCutsBehind)) {
      cutter.add(WordRule{WordRule::Kind::LLaMA3, count});
      return true;
    }
  std::optional<WordPattern> words = WordPattern::published(pattern);
  if (words)
    cutter.add(std::move(*words));
  return words.has_value();
}

Status TokenizerSteps::addCutter(const json &step, TextCutter &cutter) const {
  if (isSequence(step) && at(step, "pretokenizers").is_array()) {
    for (const json &one : at(step, "pretokenizers"))
      HEDDLE_CHECK(addCutter(one, cutter));
    return Success();
  }
  using Prepend = TextCutter::Metaspace::Prepend;
  bool cutsBehindSpaces =
      is(step, "behavior", "MergedWithPrevious") && is(at(step, "pattern"), "String", " ") && !isTrue(step, "invert");
  if (is(step, "type", "WhitespaceSplit")) {
    cutter.add(TextCutter::WhiteSpace());
    return Success();
  }
  if (is(step, "type", "Split") && cutsBehindSpaces) {
    cutter.add(TextCutter::BehindSpaces());
    return Success();
  }
  TextCutter::Metaspace metaspace{textAt(step, "replacement"), Prepend::Always, isTrue(step, "split", true)};
  const json &scheme = at(step, "prepend_scheme");
  if (scheme == "first")
    metaspace.prepend = Prepend::First;
  else if (scheme == "never" || (scheme.is_null() && !isTrue(step, "add_prefix_space", true)))
    metaspace.prepend = Prepend::Never;
  else if (!scheme.is_null() && scheme != "always")
    return unreadable("the pre-tokenizer ", shortened(step));
  if (!is(step, "type", "Metaspace") || metaspace.mark.empty())
    return unreadable("the pre-tokenizer ", shortened(step));
  if (metaspace.mark.size() > kLongestMark)
    return malformed("a pre-tokenizer's mark of a space has ", metaspace.mark.size(), " bytes, and ", kLongestMark,
                     " are the most");
  cutter.add(std::move(metaspace));
  return Success();
}

Result<PieceRule> TokenizerSteps::decoder(const json &step) const {
  PieceRule rule;
  bool isFused = false; // later decoders see the joined text
  std::span<const json> all = stepsOf(step, "decoders");
  if (all.size() > kMostSteps)
    return tooMany("decoders", all.size());
  for (const json &one : all)
    HEDDLE_CHECK(addDecoder(one, rule, isFused));
  double growth = 1;
  for (const auto &[text, by] : rule.replaced)
    growth *= growthOf(text, by);
  if (growth > kMostGrowth)
    return malformed("its decoders make a piece more than ", kMostGrowth, " times as long");
  return rule;
}

Status TokenizerSteps::addDecoder(const json &step, PieceRule &rule, bool &isFused) const {
  const json &start = at(step, "start"), &stop = at(step, "stop");
  std::string replaced = textAt(at(step, "pattern"), "String"), mark = textAt(step, "replacement");
  bool isPiece = !isFused && !rule.hasBytes;
  if (is(step, "type", "Replace") && isPiece && !replaced.empty() && at(step, "content").is_string()) {
    rule.replaced.emplace_back(replaced, textAt(step, "content"));
  } else if (is(step, "type", "Metaspace") && isPiece && rule.replaced.empty() && !mark.empty()) {
    rule.replaced.emplace_back(mark, " ");
    if (!is(step, "prepend_scheme", "never") && isTrue(step, "add_prefix_space", true))
      rule.hidden = mark;
  } else if (is(step, "type", "ByteFallback") && !isFused) {
    rule.hasBytes = true;
  } else if (is(step, "type", "Fuse")) {
    isFused = true;
  } else if (is(step, "type", "Strip") && isFused && rule.stripped.empty() && start.is_number_unsigned() && stop == 0) {
    rule.stripped = textAt(step, "content");
    rule.strips = start.get<size_t>();
  } else {
    return unreadable("the decoder ", shortened(step));
  }
  return Success();
}

} // namespace heddle
