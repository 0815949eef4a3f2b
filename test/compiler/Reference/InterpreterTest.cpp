// The interpreter itself: it knows every op, and reports what it cannot run.
#include "compiler/Reference/Registry.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace {

using namespace mlir;
using mlir::heddle::reference::Array;
using mlir::heddle::reference::Interpreter;

class InterpreterTest : public testing::Test {
protected:
  InterpreterTest() {
    DialectRegistry registry;
    registry.insert<mlir::heddle::HeddleDialect, func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  // Calls the function `f` of a module; its errors go to `problems`.
  FailureOr<SmallVector<Array>> call(const std::string &text, ArrayRef<Array> inputs) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      problems += diagnostic.str() + "\n";
      return success();
    });
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << problems;
    interpreter = std::make_unique<Interpreter>(*module);
    return interpreter->call(module->lookupSymbol<func::FuncOp>("f"), inputs);
  }

  static Array row(ArrayRef<double> numbers) {
    Array array(ArrayRef<int64_t>{static_cast<int64_t>(numbers.size())});
    llvm::copy(numbers, array.numbers.begin());
    return array;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Interpreter> interpreter;
  std::string problems;
};

TEST_F(InterpreterTest, KnowsEveryOpOfTheGraph) {
  // Declarations, terminators of regions, and the roots of differentiation compute nothing.
  const std::set<StringRef> others = {"heddle.size",       "heddle.variable", "heddle.task",
                                      "heddle.training",   "heddle.yield",    "heddle.minimize",
                                      "heddle.accumulate", "heddle.apply",    "heddle.optimizer"};
  size_t known = 0;
  for (RegisteredOperationName op : context.getRegisteredOperations()) {
    if (op.getDialectNamespace() != "heddle")
      continue;
    bool isKnown = mlir::heddle::reference::Registry::get().find(op.getStringRef());
    EXPECT_NE(isKnown, others.count(op.getStringRef()) == 1)
        << op.getStringRef().str()
        << (isKnown ? " is in the registry and said to compute nothing"
                    : " has no entry in the registry of the reference interpreter");
    known += isKnown;
  }
  EXPECT_GT(known, 50u);
}

TEST_F(InterpreterTest, UnpacksValuesThatNumbersSelect) {
  const char *text = R"(
    func.func @f(%words: tensor<1x1xi32>, %values: tensor<1x16xf32>, %scales: tensor<2x1xf32>) -> tensor<8x1xf32> {
      %0 = heddle.dequantize %words table(%values) scales(%scales) {bits = 4, is_unsigned}
          : (tensor<1x1xi32>, tensor<1x16xf32>, tensor<2x1xf32>) -> tensor<8x1xf32>
      return %0 : tensor<8x1xf32>
    })";
  auto matrix = [](ArrayRef<int64_t> shape, ArrayRef<double> numbers) {
    Array array(shape);
    llvm::copy(numbers, array.numbers.begin());
    return array;
  };
  std::vector<double> squares;
  for (int i = 0; i < 16; ++i)
    squares.push_back(i * i);
  FailureOr<SmallVector<Array>> found =
      call(text, {matrix({1, 1}, {0x0F654321}), matrix({1, 16}, squares), matrix({2, 1}, {1, 0.5})});
  ASSERT_TRUE(succeeded(found)) << problems;
  EXPECT_EQ(found->front().numbers, (std::vector<double>{1, 4, 9, 16, 12.5, 18, 112.5, 0}));
}

TEST_F(InterpreterTest, UnpacksPanelsOfColumns) {
  const char *text = R"(
    func.func @f(%words: tensor<2x1xi32>, %scales: tensor<4x1xf32>) -> tensor<4x2xf32> {
      %0 = heddle.dequantize %words scales(%scales) {bits = 8} : (tensor<2x1xi32>, tensor<4x1xf32>) -> tensor<4x2xf32>
      return %0 : tensor<4x2xf32>
    })";
  Array words(ArrayRef<int64_t>{2, 1}), scales(ArrayRef<int64_t>{4, 1});
  words.numbers = {0x04030201, 0x08070605};
  scales.numbers = {1, 2, 10, 20};
  FailureOr<SmallVector<Array>> found = call(text, {words, scales});
  ASSERT_TRUE(succeeded(found)) << problems;
  EXPECT_EQ(found->front().numbers, (std::vector<double>{1, 50, 2, 60, 6, 140, 8, 160}));
}

TEST_F(InterpreterTest, KeepsVariablesFromCallToCallAndViewsInTheirStorage) {
  const char *text = R"(
    heddle.variable @whole weight : tensor<4xf32>
    heddle.variable @part weight : tensor<2xf32> in @whole from 1
    func.func @f(%x: tensor<2xf32>) {
      %0 = heddle.read @part : tensor<2xf32>
      %1 = arith.addf %0, %x : tensor<2xf32>
      heddle.write @part, %1 : tensor<2xf32>
      return
    })";
  ASSERT_TRUE(succeeded(call(text, row({1, 2})))) << problems;
  ASSERT_TRUE(succeeded(interpreter->call(module->lookupSymbol<func::FuncOp>("f"), row({10, 20}))));
  EXPECT_EQ(interpreter->getVariable(interpreter->findVariable("whole")).numbers, (std::vector<double>{0, 11, 22, 0}));
}

TEST_F(InterpreterTest, FollowsAViewOfAView) {
  const char *text = R"(
    heddle.variable @whole weight : tensor<4x2xf32>
    heddle.variable @half weight : tensor<3x2xf32> in @whole from 1
    heddle.variable @row weight : tensor<1x2xf32> in @half from 2
    func.func @f(%x: tensor<1x2xf32>) -> tensor<3x2xf32> {
      heddle.write @row, %x : tensor<1x2xf32>
      %0 = heddle.read @half : tensor<3x2xf32>
      return %0 : tensor<3x2xf32>
    })";
  Array x({1, 2});
  x.numbers = {5, 6};
  auto results = call(text, x);
  ASSERT_TRUE(succeeded(results)) << problems;
  EXPECT_EQ((*results)[0].numbers, (std::vector<double>{0, 0, 0, 0, 5, 6}));
  EXPECT_EQ(interpreter->getVariable(interpreter->findVariable("row")).numbers, x.numbers);
  EXPECT_EQ(interpreter->getVariable(interpreter->findVariable("whole")).numbers,
            (std::vector<double>{0, 0, 0, 0, 0, 0, 5, 6}));
}

TEST_F(InterpreterTest, TakesASetBitAsMinusOneWhereItIsSigned) {
  const char *text = R"(
    func.func @f(%x: tensor<4xi1>, %y: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
      %0 = arith.sitofp %x : tensor<4xi1> to tensor<4xf32>
      %1 = arith.extsi %x : tensor<4xi1> to tensor<4xi32>
      %2 = arith.maxsi %x, %y : tensor<4xi1>
      %3 = arith.minsi %x, %y : tensor<4xi1>
      %4 = arith.cmpi slt, %x, %y : tensor<4xi1>
      return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xi32>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
    })";
  auto results = call(text, {row({0, 0, 1, 1}), row({0, 1, 0, 1})});
  ASSERT_TRUE(succeeded(results)) << problems;
  EXPECT_EQ((*results)[0].numbers, (std::vector<double>{0, 0, -1, -1}));
  EXPECT_FALSE(std::signbit((*results)[0](0)));
  EXPECT_EQ((*results)[1].numbers, (std::vector<double>{0, 0, -1, -1}));
  EXPECT_FALSE(std::signbit((*results)[1](0)));
  EXPECT_EQ((*results)[2].numbers, (std::vector<double>{0, 0, 0, 1}));
  EXPECT_EQ((*results)[3].numbers, (std::vector<double>{0, 1, 1, 1}));
  EXPECT_EQ((*results)[4].numbers, (std::vector<double>{0, 0, 1, 0}));
}

TEST_F(InterpreterTest, RunsWholeNumbersInTheirBits) {
  const char *text = R"(
    func.func @f(%x: tensor<3xi32>, %y: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>, tensor<3xi1>) {
      %0 = arith.muli %x, %y : tensor<3xi32>
      %1 = arith.shrui %x, %y : tensor<3xi32>
      %2 = arith.cmpi ult, %x, %y : tensor<3xi32>
      return %0, %1, %2 : tensor<3xi32>, tensor<3xi32>, tensor<3xi1>
    })";
  auto results = call(text, {row({65536, -1, -3}), row({65536, 31, 1})});
  ASSERT_TRUE(succeeded(results)) << problems;
  EXPECT_EQ((*results)[0].numbers, (std::vector<double>{0, -31, -3}));
  EXPECT_EQ((*results)[1].numbers, (std::vector<double>{0, 1, 2147483646}));
  EXPECT_EQ((*results)[2].numbers, (std::vector<double>{0, 0, 0}));
}

const char *kMaskedAttention = R"(
  heddle.size @n max 8
  heddle.size @s max 2
  heddle.size @l max 8 longest "length"
  #n = #heddle.dims<"n">
  #s = #heddle.dims<"s">
  func.func @f(%v: tensor<?x1xf32, #n> {heddle.name = "v"}, %at: tensor<?xi32, #s> {heddle.name = "at"},
               %length: tensor<?xi32, #s> {heddle.name = "length"})
      -> (tensor<?x1xf32, #n> {heddle.name = "y"}, tensor<?x1xf32, #n> {heddle.name = "e"}) {
    %y, %e = heddle.attention %v, %v, %v queries(%at, %length) keys(%at, %length) score {
    ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
      %zero = arith.constant 0.0 : f32
      %constant = arith.constant SCORE : f32
      %product = arith.mulf %score, %zero : f32
      %sum = arith.addf %product, %constant : f32
      heddle.yield %sum : f32
    } mask {
    ^bb0(%query: i32, %key: i32):
      %last = arith.constant 6 : i32
      %counts = arith.cmpi sle, %key, %last : i32
      heddle.yield %counts : i1
    } {heads = 1 : i64, scale = 1.0 : f32, query_size = "l", key_size = "l"}
      : (tensor<?x1xf32, #n>, tensor<?x1xf32, #n>, tensor<?x1xf32, #n>, tensor<?xi32, #s>, tensor<?xi32, #s>,
         tensor<?xi32, #s>, tensor<?xi32, #s>) -> (tensor<?x1xf32, #n>, tensor<?x1xf32, #n>)
    return %y, %e : tensor<?x1xf32, #n>, tensor<?x1xf32, #n>
  })";

std::string maskedAttention(StringRef score) {
  std::string text = kMaskedAttention;
  return text.replace(text.find("SCORE"), 5, score.str());
}

TEST_F(InterpreterTest, RunsConstantsOfRegionsWithoutPairs) {
  Array none(ArrayRef<int64_t>{0, 1}), noSequences(ArrayRef<int64_t>{0}), values(ArrayRef<int64_t>{2, 1});
  FailureOr<SmallVector<Array>> results = call(maskedAttention("1.0"), {none, noSequences, noSequences});
  ASSERT_TRUE(succeeded(results)) << problems;
  EXPECT_EQ((*results)[0].size(), 0);
  results = call(maskedAttention("1.0"), {values, row({0, 0}), row({0, 0})});
  ASSERT_TRUE(succeeded(results)) << problems;
  EXPECT_EQ((*results)[0].numbers, (std::vector<double>{0, 0}));
}

TEST_F(InterpreterTest, WeighsLargeScoresByTheirSum) {
  Array values(ArrayRef<int64_t>{7, 1});
  for (int64_t i = 0; i < 7; ++i)
    values(i) = static_cast<double>(i);
  FailureOr<SmallVector<Array>> results = call(maskedAttention("-1.0e+30"), {values, row({0}), row({7})});
  ASSERT_TRUE(succeeded(results)) << problems;
  for (double mean : (*results)[0].numbers)
    EXPECT_NEAR(mean, 3, 1e-12);
  results = call(maskedAttention("0xFF800000"), {values, row({0}), row({7})});
  ASSERT_TRUE(succeeded(results)) << problems;
  EXPECT_EQ((*results)[0].numbers, std::vector<double>(7, 0));
  EXPECT_EQ((*results)[1].numbers, std::vector<double>(7, -INFINITY));
}

TEST_F(InterpreterTest, TellsOfInputsThatDoNotFit) {
  const char *text = R"(
    heddle.size @n max 3
    func.func @f(%x: tensor<?xf32, #heddle.dims<"n">> {heddle.name = "x"}, %y: tensor<?xf32, #heddle.dims<"n">> {heddle.name = "y"}) {
      return
    })";
  EXPECT_TRUE(succeeded(call(text, {row({1, 2}), row({1, 2})})));
  EXPECT_TRUE(failed(call(text, {row({1, 2}), row({1})})));
  EXPECT_NE(problems.find("input \"y\" is a 'tensor<?xf32, #heddle.dims<\"n\">>', got the shape [1]"),
            std::string::npos)
      << problems;
  problems.clear();
  EXPECT_TRUE(failed(call(text, {row({1, 2, 3, 4}), row({1, 2, 3, 4})})));
  EXPECT_NE(problems.find("size 'n' is 4 in this call, and 3 at most"), std::string::npos) << problems;
  problems.clear();
  EXPECT_TRUE(failed(call(text, row({1, 2}))));
  EXPECT_NE(problems.find("takes 2 inputs, got 1"), std::string::npos) << problems;
}

TEST_F(InterpreterTest, TellsOfIndicesThatChooseNothing) {
  const char *text = R"(
    heddle.size @n max 3
    func.func @f(%x: tensor<?xi32, #heddle.dims<"n">>, %t: tensor<4xf32>) -> tensor<?xf32, #heddle.dims<"n">> {
      %0 = heddle.embedding %x, %t : tensor<?xi32, #heddle.dims<"n">>, tensor<4xf32> -> tensor<?xf32, #heddle.dims<"n">>
      return %0 : tensor<?xf32, #heddle.dims<"n">>
    })";
  EXPECT_TRUE(succeeded(call(text, {row({3, 0}), row({1, 2, 3, 4})})));
  EXPECT_TRUE(failed(call(text, {row({3, 4}), row({1, 2, 3, 4})})));
  EXPECT_NE(problems.find("takes row 4 of 4"), std::string::npos) << problems;
}

TEST_F(InterpreterTest, TellsOfStepsThatBeginBeforeTheFirstRow) {
  const char *text = R"(
    func.func @f(%start: tensor<1xi32>, %x: tensor<2x3xf32>, %all: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<4x3xf32>) {
      STEPS
    })";
  const std::pair<const char *, const char *> cases[] = {{"'heddle.step_rows' op begins at row -1 of 4", R"(
      %0 = heddle.step_rows %all at %start : tensor<4x3xf32> to tensor<2x3xf32>
      return %0, %all : tensor<2x3xf32>, tensor<4x3xf32>)"},
                                                         {"'heddle.insert_rows' op begins at row -1 of 4", R"(
      %0 = heddle.insert_rows %x into %all at %start : tensor<2x3xf32> into tensor<4x3xf32>
      return %x, %0 : tensor<2x3xf32>, tensor<4x3xf32>)"}};
  for (auto [problem, steps] : cases) {
    std::string whole = text;
    whole.replace(whole.find("STEPS"), 5, steps);
    EXPECT_TRUE(succeeded(call(whole, {row({3}), Array({2, 3}), Array({4, 3})}))) << problems;
    EXPECT_TRUE(failed(call(whole, {row({-1}), Array({2, 3}), Array({4, 3})})));
    EXPECT_NE(problems.find(problem), std::string::npos) << problems;
  }
}

TEST_F(InterpreterTest, TellsOfFirstPlacesThatAreNoRows) {
  const char *text = R"(
    func.func @f(%x: tensor<2xi32>, %first: tensor<3x1xi32>, %rows: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %0 = heddle.sum_equal %x, %first, %rows : tensor<2xi32>, tensor<3x1xi32>, tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    })";
  auto first = [](ArrayRef<double> numbers) {
    Array array({3, 1});
    llvm::copy(numbers, array.numbers.begin());
    return array;
  };
  Array rows({2, 2});
  rows.numbers = {1, 2, 3, 4};
  auto results = call(text, {row({2, 2}), first({-1, -1, 0}), rows});
  ASSERT_TRUE(succeeded(results)) << problems;
  EXPECT_EQ((*results)[0].numbers, (std::vector<double>{4, 6, 0, 0}));
  for (double place : {-1.0, 2.0}) {
    problems.clear();
    EXPECT_TRUE(failed(call(text, {row({2, 2}), first({-1, -1, place}), rows})));
    EXPECT_NE(problems.find("has index 2 first in row " + std::to_string(int(place)) + " of 2"), std::string::npos)
        << problems;
  }
}

TEST_F(InterpreterTest, TellsOfOpsWithoutAMeaning) {
  const char *text = R"(
    heddle.variable @w weight : tensor<1xf32>
    func.func @f() {
      %0 = heddle.read @w : tensor<1xf32>
      heddle.accumulate %0
      return
    })";
  EXPECT_TRUE(failed(call(text, {})));
  EXPECT_NE(problems.find(
                "'heddle.accumulate' has no meaning in the reference interpreter: the module is to be differentiated"),
            std::string::npos)
      << problems;
}

} // namespace
