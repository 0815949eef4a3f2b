// Rendering apart from the language itself: errors and their lines, spans of generated text, variables, and limits.
#include "runtime/chat/ChatTemplate.h"
#include "runtime/chat/Clock.h"
#include "runtime/core/Json.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <thread>

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;

Conversation conversation(std::string_view messages, std::string_view variables = "{}") {
  Conversation given;
  given.messages = *parseOrderedJson(messages, "messages");
  given.variables = *parseOrderedJson(variables, "variables");
  return given;
}

std::string mistakeIn(std::string_view text) {
  Result<ChatTemplate> parsed = ChatTemplate::parse(text);
  return parsed.ok() ? "no mistake" : parsed.message();
}

// Returns the type and message of a failure, and its line.
std::string failureOf(std::string_view text, const RenderLimits &limits = {}) {
  Result<ChatTemplate> parsed = ChatTemplate::parse(text);
  if (!parsed.ok())
    return parsed.message();
  RenderFailure failure;
  auto rendered = parsed->render(Conversation(), std::nullopt, &failure, limits);
  return rendered.ok() ? "no failure" : str(failure.type, ": ", failure.message, " @", failure.line);
}

std::string rendered(std::string_view text, const Conversation &given = {}) {
  Result<ChatTemplate> parsed = ChatTemplate::parse(text);
  if (!parsed.ok())
    return parsed.message();
  auto result = parsed->render(given);
  return result.ok() ? result->text : result.message();
}

std::string repeated(std::string_view part, size_t times) {
  std::string whole;
  for (size_t i = 0; i < times; ++i)
    whole += part;
  return whole;
}

TEST(ChatTemplate, MistakesHaveTheirLine) {
  for (const auto &[text, message] : std::initializer_list<std::pair<std::string, std::string>>{
           {"a\n{% if x %}\nb", "a block has no {% endif %} (line 2 of the template)"},
           {"{{ x", "a tag has no end }} (line 1 of the template)"},
           {"\n{# x", "a comment has no end #} (line 2 of the template)"},
           {"{% raw %}x", "a block of raw text has no {% endraw %} (line 1 of the template)"},
           {"{{ 'x }}", "a string has no closing ' (line 1 of the template)"},
           {"{{ 'a\\xZZ' }}", "a string has the escape \\x with fewer than 2 digits (line 1 of the template)"},
           {"{{ 99999999999999999999 }}",
            "the number 99999999999999999999 does not fit into 64 bits (line 1 of the template)"},
           {"{{ a ? b }}", "no token begins with '?' (line 1 of the template)"},
           {"{{ (1 }}", "unexpected '}', where ')' is missing (line 1 of the template)"},
           {"{{ }}", "'}}' stands where an expression is expected (line 1 of the template)"},
           {"{{ 1 + }}", "'}}' stands where an expression is expected (line 1 of the template)"},
           {"{% for x %}{% endfor %}", "'%}' stands where 'in' is expected (line 1 of the template)"},
           {"{% nope %}", "there is no tag {% nope %} (line 1 of the template)"},
           {"\n{% endif %}", "there is no tag {% endif %} that could stand here (line 2 of the template)"},
           {"{% include 'x' %}", "the tag {% include %} is none of those that Heddle renders (line 1 of the template)"},
           {"{% break %}", "{% break %} stands outside of a loop (line 1 of the template)"},
           {"{% set none = 1 %}", "nothing can be assigned to 'none' (line 1 of the template)"},
           {"{% macro f(a=1, b) %}{% endmacro %}",
            "the parameter 'b' needs a default, as the one before it (line 1 of the template)"},
           {"{{ f(a=1, 2) }}", "an argument without a name follows one with a name (line 1 of the template)"},
           {"{{ 1 is none is none }}",
            "a test follows a test; put the first into parentheses (line 1 of the template)"},
           {"{% call 1 %}{% endcall %}", "the tag {% call %} needs a call of a macro (line 1 of the template)"},
           {"\xff", "the template is not UTF-8"}})
    EXPECT_EQ(mistakeIn(text), message) << text;
}

TEST(ChatTemplate, DeepNestingIsAMistake) {
  for (const auto &[open, close] : {std::pair("(", ")"), std::pair("[", "]"), std::pair("not ", ""), std::pair("-", ""),
                                    std::pair("1 if 1 else ", "")})
    EXPECT_NE(mistakeIn("{{ " + repeated(open, 100'000) + "1" + repeated(close, 100'000) + " }}").find("deep"),
              std::string::npos)
        << open;
  for (const char *part : {"+1", ".a", "|upper", "[0]", "()"})
    EXPECT_NE(mistakeIn("{{ x" + repeated(part, 100'000) + " }}").find("400 deep"), std::string::npos) << part;
  EXPECT_NE(mistakeIn(repeated("{% if 1 %}", 100'000)).find("200 deep"), std::string::npos);
  EXPECT_EQ(rendered("{{ " + repeated("1+", 300) + "1 }}"), "301");
}

TEST(ChatTemplate, FailuresSayWhatAndWhere) {
  EXPECT_EQ(failureOf("\n{{ raise_exception('no ' ~ 'roles') }}"), "TemplateError: no roles @2");
  EXPECT_EQ(failureOf("{{ x.y }}"), "UndefinedError: 'x' is undefined @1");
  EXPECT_EQ(failureOf("{% macro f() %}\n\n{{ 1 + 'a' }}{% endmacro %}{{ f() }}"),
            "TypeError: unsupported operand type(s) for +: 'int' and 'str' @3");
  EXPECT_EQ(failureOf("{{ 1 | nope }}"), "TemplateRuntimeError: No filter named 'nope' found. @1");
  EXPECT_EQ(failureOf("{{ 1 | urlize }}"), "TemplateRuntimeError: Heddle does not have jinja2's filter 'urlize' @1");
  EXPECT_EQ(failureOf("{{ 9223372036854775807 + 1 }}"), "OverflowError: the result is no whole number of 64 bits @1");
  EXPECT_EQ(rendered("\n{{ raise_exception('no roles') }}"),
            "the chat template refuses the conversation: no roles (line 2 of the template)");
  EXPECT_EQ(rendered("{{ x.y }}"),
            "the chat template fails: UndefinedError: 'x' is undefined (line 1 of the template)");
  // A missing filter matters only if it is used, like jinja2 below an `if`.
  EXPECT_EQ(rendered("{% if x %}{{ x | from_json }}{% endif %}fine"), "fine");
}

TEST(ChatTemplate, VariablesGoBeforeWhatIsAlwaysThere) {
  Conversation given = conversation(R"([{"role": "user", "content": "q"}])", R"({"tools": [1], "range": "mine"})");
  EXPECT_EQ(rendered("{{ messages[0].role }}{{ tools }}{{ documents }}{{ add_generation_prompt }}{{ range }}", given),
            "user[1]NoneFalsemine");
  given.addGenerationPrompt = true;
  EXPECT_EQ(rendered("{{ add_generation_prompt }}", given), "True");
  // Keys keep their order, and the variables of one rendering do not reach the next.
  given = conversation("[]", R"({"d": {"z": 1, "a": [true, null, 1.0, -3]}})");
  EXPECT_EQ(rendered("{{ d | tojson }}", given), R"({"z": 1, "a": [true, null, 1.0, -3]})");
  EXPECT_EQ(rendered("{{ d is defined }}"), "False");
  given.variables["n"] = uint64_t(1) << 63u;
  EXPECT_EQ(rendered("", given),
            "the chat template fails: ValueError: the number 9223372036854775808 does not fit into a "
            "whole number of 64 bits with a sign");
  given.variables["n"] = "\xff"; // text from a program that is not UTF-8
  EXPECT_EQ(rendered("{{ n }}{{ n[0] }}{{ n[::-1] }}", given), "\ufffd\ufffd\ufffd");
}

TEST(ChatTemplate, SpansAreWhatIsLearnt) {
  auto parsed = ChatTemplate::parse(test::slurp(HEDDLE_TEST_INPUTS "/marked.jinja"));
  ASSERT_TRUE(parsed.ok()) << parsed.message();
  EXPECT_TRUE(parsed->marksGeneration());
  auto given =
      conversation(R"([{"role": "user", "content": " Wie heißt er? "}, {"role": "assistant", "content": "Moldau."},
                                {"role": "user", "content": [{"type": "text", "text": "And"}, {"type": "text", "text": "it?"}]},
                                {"role": "assistant", "content": "Vltava."}])",
                   R"({"bos_token": "<s>", "eos_token": "</s>"})");
  auto result = parsed->render(given);
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(result->text,
            "<s><|user|>\nWie heißt er?\n<|assistant|>\nMoldau.</s>\n<|user|>\nAnd it?\n<|assistant|>\nVltava.</s>\n");
  ASSERT_EQ(result->generated.size(), 2u);
  auto span = [&](size_t i) {
    return result->text.substr(result->generated[i].begin, result->generated[i].end - result->generated[i].begin);
  };
  EXPECT_EQ(span(0), "Moldau.</s>");
  EXPECT_EQ(span(1), "Vltava.</s>");
  // The text of a conversation's prefix is a prefix of its text.
  Conversation prefix = given;
  prefix.messages.erase(prefix.messages.size() - 1);
  prefix.addGenerationPrompt = true;
  EXPECT_EQ(parsed->render(prefix)->text, result->text.substr(0, result->generated[1].begin));
  EXPECT_FALSE(ChatTemplate::parse("{{ messages }}")->marksGeneration());
}

TEST(ChatTemplate, LimitsEndWhatWouldNotEnd) {
  RenderLimits limits{.steps = 100'000, .valueBytes = 1u << 20u, .textBytes = 1u << 20u};
  auto exceeds = [&](const std::string &text, const char *word) {
    EXPECT_NE(failureOf(text, limits).find(word), std::string::npos) << text << ": " << failureOf(text, limits);
  };
  std::string twice = "{% for a in range(9999) %}{% for b in range(9999) %}";
  exceeds(twice + "{% endfor %}{% endfor %}", "steps");
  exceeds("{% for a in range(1000) %}" + repeated("0123456789", 200) + "{% endfor %}", "writes more than 1 MiB");
  exceeds("{{ range(10**9) }}", "Range too big");
  exceeds("{% set ns = namespace(s='ab') %}{% for i in range(64) %}{% set ns.s = ns.s + ns.s %}{% endfor %}", "1 MiB");
  for (const char *expression :
       {"'a' * 10**12", "[1] * 10**12", "'a' | center(10**12)", "'a'.ljust(10**18)", "'a'.zfill(10**15)",
        "'%*d' % (10**15, 5)", "'{:999999999}'.format('a')", "'a\\nb' | indent(10**12)", "[1] | tojson(indent=10**12)",
        "[1] | batch(10**12, 0) | list", "[1] | slice(10**12) | list", "'\\t'.expandtabs(10**15)",
        "('a' * 9999).replace('a', 'b' * 9999)", "range(99999) | join('a' * 9999)", "(',' * 99999).split(',')",
        "(' a' * 99999).split()", "('\\n' * 99999).splitlines()", "('a' * 99999) | list"})
    exceeds(str("{{ ", expression, " }}"), "1 MiB");
  exceeds("{{ '%.999999f' % 5 }}", "1000 decimals");
  exceeds("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", "RecursionError");
  exceeds("{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}{{ f() }}", "RecursionError");
  exceeds("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "RecursionError");
  // Lists that hold the same list twice have few objects but very many paths.
  std::string grown = "{% set ns = namespace(p=[1], q=[1]) %}{% for i in range(100) %}{% set ns.p = [ns.p, ns.p] %}"
                      "{% set ns.q = [ns.q, ns.q] %}{% endfor %}";
  for (const char *expression : {"ns.p == ns.q", "ns.p < ns.q", "ns.p | tojson", "ns.p | string", "ns.p in [ns.q]"})
    EXPECT_NE(failureOf(grown + "{{ " + expression + " }}", limits).find("LimitError"), std::string::npos)
        << expression;
  for (const char *value : {"[ns.p]", "{1: ns.p}", "joiner(ns.p)", "[ns.p] | map('default')", "{1: ns.p}.items"})
    exceeds(str("{% set ns = namespace(p=1) %}{% for i in range(9999) %}{% set ns.p = ", value, " %}{% endfor %}"),
            "200 deep");
}

// Values that contain themselves, and chains deeper than any depth limit counts, are freed one by one.
TEST(ChatTemplate, CyclesAndChainsAreLetGo) {
  EXPECT_EQ(rendered("{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns }}"),
            "<Namespace {'a': [<Namespace ...>]}>");
  for (const char *step :
       {"{% set ns.p = namespace(p=ns.p) %}",
        "{% set old = ns.p %}{% macro g() %}{{ old }}{% endmacro %}{% set ns.p = g %}", "{% set q = f(ns.p) %}"})
    EXPECT_EQ(rendered(str("{% macro f(before) %}{% for x in [1] %}{% set ns.p = loop %}{% endfor %}{% endmacro %}"
                           "{% set ns = namespace(p=1) %}{% for i in range(50000) %}",
                           step, "{% endfor %}done")),
              "done")
        << step;
}

TEST(ChatTemplate, ThreadsShareATemplate) {
  auto parsed = ChatTemplate::parse("{% for m in messages %}{{ m.role ~ '|' }}{% endfor %}");
  auto given = conversation(R"([{"role": "user"}, {"role": "assistant"}])");
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string &text : texts)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i)
        text = parsed->render(given)->text;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &text : texts)
    EXPECT_EQ(text, "user|assistant|");
}

TEST(ChatClock, ReadsAndWritesTimes) {
  auto time = chat::readTime("2024-02-29T23:59:07");
  ASSERT_TRUE(time);
  EXPECT_EQ(chat::formatTime(*time, "%A %d %B %Y %H:%M:%S %j %-d %f%% %"),
            "Thursday 29 February 2024 23:59:07 060 29 000000% %");
  for (const char *text : {"", "2026-01-02", "2026-13-02T03:04:05", "2026-02-29T03:04:05", "2026-01-02T03:04:05Z",
                           "2026-01-02T25:04:05", "2026-1-2T03:04:05"})
    EXPECT_FALSE(chat::readTime(text)) << text;
}

} // namespace
} // namespace heddle
