// Tests every differentiable op: runs the gradients that autodiff makes in the reference interpreter and compares them
// with differences of the loss. An op without a check fails by its name.
#include "test/compiler/Reference/GradientChecks.h"

#include "compiler/Graph/Autodiff/ArithGradients.h"
#include "compiler/Graph/Autodiff/Passes.h"
#include "compiler/Graph/Autodiff/ScanGradient.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace heddle::test {
namespace {

using mlir::heddle::reference::Array;
using mlir::heddle::reference::Interpreter;

// Odd extents, extents of one, an empty sequence, and one even case. The number of columns is always heads times a
// head's width.
const std::vector<Shape> kShapes = {
    {{1}, {1}, 1, 1, 1},
    {{3}, {5}, 1, 1, 1},
    {{1, 1, 1}, {3, 1, 2}, 1, 1, 5},
    {{2, 3}, {1, 4}, 3, 1, 1},
    {{5, 1, 3}, {2, 3, 1}, 3, 3, 3},
    {{4}, {7}, 2, 1, 7},
    {{2, 0, 3}, {4, 1, 2}, 4, 2, 2},
};

const Checks &checks() {
  static const Checks all = [] {
    Checks made;
    addElementwiseChecks(made);
    addPairChecks(made);
    addRoutingChecks(made);
    addSequenceChecks(made);
    addSumChecks(made);
    return made;
  }();
  return all;
}

class Gradients : public testing::TestWithParam<std::string> {
protected:
  Gradients() {
    mlir::DialectRegistry registry;
    registry.insert<mlir::heddle::HeddleDialect, mlir::func::FuncDialect>();
    mlir::heddle::registerArithGradients(registry);
    mlir::heddle::registerScanGradient(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  // Returns the loss with the current weights.
  static double lossOf(Interpreter &interpreter, mlir::func::FuncOp entry, const Program &program) {
    auto outputs = interpreter.call(entry, program.inputs());
    EXPECT_TRUE(mlir::succeeded(outputs));
    return mlir::succeeded(outputs) ? outputs->front()(0) : NAN;
  }

  mlir::MLIRContext context;
};

// Fourth-order differences: the error is proportional to the step's fourth power.
double difference(const std::function<double(double)> &at) {
  constexpr double step = 1e-3;
  return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step);
}

// The rules' constants are f32.
constexpr double kTolerance = 1e-7;

TEST_P(Gradients, AreDifferences) {
  for (const Shape &shape : kShapes) {
    SCOPED_TRACE(shape.describe());
    Program program(shape);
    checks().at(GetParam())(program);
    std::string text = program.text();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    mlir::PassManager passes(&context);
    passes.addPass(mlir::heddle::createDifferentiatePass());
    ASSERT_TRUE(mlir::succeeded(passes.run(*module))) << text;
    auto entry = module->lookupSymbol<mlir::func::FuncOp>("f");
    Interpreter interpreter(*module);
    auto reset = [&] {
      for (const auto &[name, value] : program.weights())
        interpreter.setVariable(interpreter.findVariable(name), value);
    };
    reset();
    ASSERT_TRUE(std::isfinite(lossOf(interpreter, entry, program)));
    std::map<std::string, Array> gradients;
    for (const auto &[name, value] : program.weights())
      gradients[name] = interpreter.getVariable(interpreter.findVariable("grad." + name));
    for (const auto &[name, value] : program.weights()) {
      const Array &gradient = gradients.at(name);
      double scale = 0;
      for (double number : gradient.numbers)
        scale = std::max(scale, std::abs(number));
      if (program.isIgnored(name)) {
        EXPECT_EQ(scale, 0) << name;
        continue;
      }
      for (int64_t i = 0; i < value.size(); ++i) {
        double expected = difference([&](double step) {
          reset();
          Array changed = value;
          changed(i) += step;
          interpreter.setVariable(interpreter.findVariable(name), changed);
          return lossOf(interpreter, entry, program);
        });
        EXPECT_NEAR(gradient(i), expected, kTolerance * (1 + scale)) << "element " << i << " of " << name;
      }
    }
  }
}

std::vector<std::string> namesOfChecks() {
  std::vector<std::string> names;
  for (const auto &[name, check] : checks())
    names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Gradients, testing::ValuesIn(namesOfChecks()), [](const auto &info) {
  std::string name = info.param;
  std::ranges::replace(name, '.', '_');
  return name;
});

TEST_F(Gradients, AreCheckedForEveryDifferentiableOp) {
  std::set<std::string> differentiable;
  for (mlir::RegisteredOperationName op : context.getRegisteredOperations())
    if (op.hasInterface<mlir::heddle::DifferentiableOpInterface>())
      differentiable.insert(op.getStringRef().str());
  EXPECT_GT(differentiable.size(), 30u);
  for (const std::string &name : differentiable)
    EXPECT_TRUE(checks().count(name)) << name << " has a gradient rule and no check";
  for (const auto &[name, check] : checks())
    EXPECT_TRUE(differentiable.count(name)) << name << " has a check and no gradient rule";
}

} // namespace
} // namespace heddle::test
