// Long or deep texts: the time grows linearly with the length, and the stack suffices or an error names the place.
#include "compiler/Model/Language/ModelText.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"

#include <ctime>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::heddle;

namespace {

std::string times(int count, StringRef text) {
  std::string all;
  for (int i = 0; i < count; ++i)
    all += text;
  return all;
}

/// Returns the errors of a text as "LINE:COLUMN: message"; empty if it is a valid module.
std::vector<std::string> compile(StringRef text) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::vector<std::string> errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    auto place = dyn_cast<FileLineColLoc>(LocationAttr(diagnostic.getLocation()));
    errors.push_back(
        llvm::formatv("{0}:{1}: {2}", place ? place.getLine() : 0, place ? place.getColumn() : 0, diagnostic.str()));
    return success();
  });
  FailureOr<language::ModelText> model = language::ModelText::read(&context, "sizes.weft", text);
  if (failed(model) || failed(model->setParameters({})))
    return errors;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  if (succeeded(model->elaborate(*module, {20, 64, 8, 32})))
    EXPECT_TRUE(succeeded(verify(*module)));
  return errors;
}

/// Returns a model whose line 5 is `y = ` and the value, after declarations in line 3.
std::string model(StringRef value, StringRef declarations = "") {
  return llvm::formatv("task language\n"
                       "weight table[20, 4] ~ normal(0.1)\n"
                       "{0}\n"
                       "logits(target) {{ x = table[target]\n"
                       "y = {1}\n"
                       "y @ transpose(table) }\n"
                       "loss(target) {{ cross_entropy(logits, target.next) }\n",
                       declarations, value);
}

using Errors = std::vector<std::string>;

TEST(Sizes, ChainsOfOperatorsMayBeLong) {
  const int length = 10'000;
  for (StringRef next : {" + x", " * 2", " - 1", " - x * 2 / 3 + 1"})
    EXPECT_EQ(compile(model("x" + times(length, next))), Errors()) << next.str();
  EXPECT_EQ(compile(model("x * (1" + times(length, " + 2 - 3 % 2") + ")")), Errors());
  EXPECT_EQ(compile(model("if true" + times(length, " and true") + " { x } else { x }")), Errors());
  EXPECT_EQ(compile(model("if false" + times(length, " or 1 == 1") + " { x } else { x }")), Errors());
  EXPECT_EQ(compile(model("x\n" + times(length, "y = y + x\n"))), Errors());
}

TEST(Sizes, AChainWithAMistakeNamesItsPlace) {
  EXPECT_EQ(compile(model("table" + times(50'000, "[0]"))), Errors{"5:10: an index is a tensor, not 0"});
  EXPECT_EQ(compile(model("x" + times(10'000, " + x") + " / 0 + \"a\"")).size(), 1u);
  // Also in a text that the parser does not finish.
  EXPECT_EQ(compile(model("x" + times(10'000, " + x") + " )")).size(), 1u);
}

TEST(Sizes, WhatNestsTooDeepIsRefusedAtItsPlace) {
  for (auto [before, after] : {std::pair("(", ")"),
                               {"-", ""},
                               {"not ", ""},
                               {"1 ^ ", ""},
                               {"if true { ", " }"},
                               {"abs(", ")"},
                               {"table[", "]"},
                               {"if false { x } else ", ""}}) {
    Errors errors = compile(model(times(10'000, before) + "x" + times(10'000, after)));
    ASSERT_EQ(errors.size(), 1u) << before;
    EXPECT_TRUE(StringRef(errors.front()).starts_with("5:")) << errors.front();
    EXPECT_TRUE(StringRef(errors.front()).contains("nest more than 100 deep")) << errors.front();
  }
}

// Each definition nests less than the parser allows, and calls the next one.
TEST(Sizes, CallsAddUpToADepth) {
  std::string definitions;
  for (int i = 0; i < 58; ++i)
    definitions += llvm::formatv("def f{0}(x) {{ {1}f{2}(x){3} }\n", i, times(90, "abs("), i + 1, times(90, ")"));
  Errors errors = compile(model("f0(x)", definitions + "def f58(x) { x }"));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_TRUE(StringRef(errors.front()).contains("expressions nest more than 400 deep")) << errors.front();
  // A definition that calls itself twice causes one error.
  EXPECT_EQ(compile(model("f(x)", "def f(x) { f(x) + f(x) }")).size(), 1u);
}

/// Returns the CPU seconds of this thread for `work`.
double seconds(llvm::function_ref<void()> work) {
  auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  };
  double start = now();
  work();
  return now() - start;
}

/// Sixteen times the lines must take less than 40 times the time; quadratic growth would be 256 times. Other work on
/// the machine may disturb measurements, so the minimum of up to five counts.
void expectLinear(int lines, llvm::function_ref<void(int lines)> work) {
  double few = 1e9, many = 1e9;
  for (int i = 0; i == 0 || (i < 5 && many > 40 * few); ++i) {
    few = std::min(few, seconds([&] { work(lines); }));
    many = std::min(many, seconds([&] { work(16 * lines); }));
  }
  EXPECT_LE(many, 40 * few) << few << " s for " << lines << " lines";
}

TEST(Sizes, ParametersTakeLinearTime) {
  expectLinear(2'500, [](int lines) {
    std::string text;
    for (int i = 0; i < lines; ++i)
      text += llvm::formatv("param p{0} = {0}\n", i);
    EXPECT_EQ(compile(model("x", text)), Errors());
  });
}

TEST(Sizes, NamedArgumentsTakeLinearTime) {
  expectLinear(2'500, [](int lines) {
    std::string parameters, arguments;
    for (int i = 0; i < lines; ++i) {
      parameters += llvm::formatv("p{0},\n", i);
      arguments += llvm::formatv("p{0} = x,\n", lines - 1 - i);
    }
    EXPECT_EQ(compile(model("f(" + arguments + ")", "def f(" + parameters + ") { p0 }")), Errors());
  });
}

TEST(Sizes, MistakesTakeLinearTime) {
  expectLinear(500, [](int lines) {
    std::string text = "x\n";
    for (int i = 0; i < lines; ++i)
      text += llvm::formatv("a{0} = b{0} + b{0}(x)\n", i);
    EXPECT_EQ(compile(model(text)).size(), size_t(2 * lines));
  });
}

} // namespace
