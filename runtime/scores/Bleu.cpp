#include "runtime/scores/Bleu.h"

#include "runtime/text/Utf8.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace heddle {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isPeriodOrComma(char c) { return c == '.' || c == ','; }

// 13a separates every ASCII punctuation mark, except ' , - and the period, which depend on their neighbours.
bool standsAlone(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
         (c >= ':' && c <= '@') || c == '/';
}

void replaceAll(std::string &text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Rewrites each pair of neighbours that `matches`, from left to right and without overlap, like a regular expression of
// two characters.
template <typename Matches, typename Rewrite>
std::string rewritePairs(const std::string &text, Matches matches, Rewrite rewrite) {
  std::string result;
  size_t i = 0;
  for (; i + 1 < text.size(); ++i) {
    if (matches(text[i], text[i + 1])) {
      rewrite(result, text[i], text[i + 1]);
      ++i;
    } else {
      result += text[i];
    }
  }
  if (i < text.size())
    result += text[i];
  return result;
}

std::vector<std::string> splitWhiteSpace(std::string_view text) {
  std::vector<std::string> tokens;
  std::string token;
  while (!text.empty()) {
    size_t bytes = whiteSpaceBytes(text);
    if (bytes == 0) {
      token += text[0];
      text.remove_prefix(1);
      continue;
    }
    if (!token.empty())
      tokens.push_back(std::move(token));
    token.clear();
    text.remove_prefix(bytes);
  }
  if (!token.empty())
    tokens.push_back(std::move(token));
  return tokens;
}

using Ngrams = std::map<std::vector<std::string_view>, int64_t>;

Ngrams countNgrams(const std::vector<std::string> &tokens, int order) {
  Ngrams counts;
  for (size_t i = 0; i + order <= tokens.size(); ++i)
    ++counts[std::vector<std::string_view>(tokens.begin() + i, tokens.begin() + i + order)];
  return counts;
}

} // namespace

std::vector<std::string> tokenize13a(std::string_view line) {
  std::string text(line);
  replaceAll(text, "<skipped>", "");
  replaceAll(text, "&quot;", "\"");
  replaceAll(text, "&amp;", "&");
  replaceAll(text, "&lt;", "<");
  replaceAll(text, "&gt;", ">");

  std::string apart = " ";
  for (char c : text) {
    if (standsAlone(c)) {
      apart += ' ';
      apart += c;
      apart += ' ';
    } else {
      apart += c;
    }
  }
  apart += ' ';

  auto markAfter = [](std::string &out, char first, char second) { out += {first, ' ', second, ' '}; };
  auto markBefore = [](std::string &out, char first, char second) { out += {' ', first, ' ', second}; };
  apart = rewritePairs(apart, [](char a, char b) { return !isDigit(a) && isPeriodOrComma(b); }, markAfter);
  apart = rewritePairs(apart, [](char a, char b) { return isPeriodOrComma(a) && !isDigit(b); }, markBefore);
  apart = rewritePairs(apart, [](char a, char b) { return isDigit(a) && b == '-'; }, markAfter);
  return splitWhiteSpace(apart);
}

void Bleu::add(std::string_view translation, std::string_view reference) {
  std::vector<std::string> ours = tokenize13a(translation), theirs = tokenize13a(reference);
  translationLength += int64_t(ours.size());
  referenceLength += int64_t(theirs.size());
  for (int order = 1; order <= kMaximumOrder; ++order) {
    Ngrams expected = countNgrams(theirs, order);
    for (const auto &[ngram, count] : countNgrams(ours, order)) {
      total[order - 1] += count;
      if (auto found = expected.find(ngram); found != expected.end())
        correct[order - 1] += std::min(count, found->second);
    }
  }
}

double Bleu::brevityPenalty() const {
  if (translationLength >= referenceLength)
    return 1;
  return translationLength == 0 ? 0 : std::exp(1 - double(referenceLength) / double(translationLength));
}

std::array<double, Bleu::kMaximumOrder> Bleu::precisions() const {
  std::array<double, kMaximumOrder> result{};
  double smoothing = 1;
  for (int i = 0; i < kMaximumOrder && correct[0] != 0 && total[i] != 0; ++i) {
    // The first order without a hit counts as 1/2 of a hit, the next one as 1/4, and so on.
    double hits = correct[i] != 0 ? double(correct[i]) : 1 / (smoothing *= 2);
    result[i] = 100 * hits / double(total[i]);
  }
  return result;
}

double Bleu::score() const {
  if (correct[0] == 0 || !hasHighestOrder())
    return 0;
  double logarithms = 0;
  for (double precision : precisions())
    logarithms += std::log(precision);
  return brevityPenalty() * std::exp(logarithms / kMaximumOrder);
}

std::string Bleu::describe() const {
  std::array<double, kMaximumOrder> p = precisions();
  double ratio = referenceLength == 0 ? 0 : double(translationLength) / double(referenceLength);
  char text[240];
  std::snprintf(text, sizeof text,
                "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:%s = %.2f %.1f/%.1f/%.1f/%.1f "
                "(BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)",
                kScoreVersion, score(), p[0], p[1], p[2], p[3], brevityPenalty(), ratio,
                static_cast<long long>(translationLength), static_cast<long long>(referenceLength));
  return text;
}

} // namespace heddle
