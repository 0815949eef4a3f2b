#include "test/compiler/Target/Vulkan/KernelRunner.h"

#include "compiler/Target/Vulkan/LowerToSpirv.h"
#include "compiler/Target/Vulkan/VulkanLowering.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

namespace heddle::test {

Matrix<float> numbers(int64_t rows, int64_t columns, uint32_t seed) {
  Matrix<float> matrix(rows, columns);
  uint32_t state = seed * 2654435761u + 1;
  for (float &value : matrix.values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
  }
  return matrix;
}

std::string fill(std::string text, std::initializer_list<std::pair<const char *, std::string>> values) {
  for (const auto &[name, value] : values)
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size()))
      text.replace(at, std::string(name).size(), value);
  return text;
}

Code compile(const std::string &text, bool texelLoads) {
  mlir::DialectRegistry registry;
  registry
      .insert<mlir::arith::ArithDialect, mlir::gpu::GPUDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
              mlir::scf::SCFDialect, mlir::spirv::SPIRVDialect, mlir::vector::VectorDialect, mlir::tile::TileDialect>();
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return {};
  mlir::PassManager passes(&context);
  mlir::heddle::buildVulkanLowering(passes, texelLoads);
  if (mlir::failed(passes.run(*module)))
    return {};
  llvm::SmallVector<uint32_t> words;
  mlir::spirv::ModuleOp kernel = *module->getOps<mlir::spirv::ModuleOp>().begin();
  if (mlir::failed(mlir::heddle::serializeKernel(kernel, words)))
    return {};
  auto texels = mlir::heddle::getTexelArguments(kernel);
  auto floats = kernel->getAttrOfType<mlir::IntegerAttr>(mlir::heddle::kTexelFloatsName);
  return {{words.begin(), words.end()}, {texels.begin(), texels.end()}, floats ? uint32_t(floats.getInt()) : 4};
}

void run(const std::string &text, std::vector<Argument> arguments, hal::WorkgroupCount grid, bool texelLoads) {
  Code code = compile(text, texelLoads);
  ASSERT_FALSE(code.words.empty()) << text;
  auto device = hal::openDevice("vulkan");
  ASSERT_TRUE(device.ok()) << device.message();
  std::vector<std::unique_ptr<hal::Buffer>> buffers;
  std::vector<hal::Argument> places;
  for (const Argument &argument : arguments) {
    auto buffer = (*device)->allocate("an argument", argument.bytes.size());
    ASSERT_TRUE(buffer.ok()) << buffer.message();
    auto written = (*device)->write(**buffer, 0, argument.bytes);
    ASSERT_TRUE(written.ok()) << written.message();
    places.push_back({buffer->get(), 0, argument.bytes.size()});
    buffers.push_back(std::move(buffer).value());
  }
  hal::KernelSource source;
  source.name = "the kernel";
  source.code = code.words;
  source.texels = code.texels;
  source.texelFloats = code.texelFloats;
  auto kernels = (*device)->load(std::span(&source, 1));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  hal::Launch launch{kernels->front().get(), places, 0, false};
  auto program = (*device)->record(std::span(&launch, 1), 1, false);
  ASSERT_TRUE(program.ok()) << program.message();
  auto submitted = (*program)->submit({}, std::span(&grid, 1));
  ASSERT_TRUE(submitted.ok()) << submitted.message();
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto read = (*device)->read(*buffers[i], 0, arguments[i].bytes);
    ASSERT_TRUE(read.ok()) << read.message();
  }
  EXPECT_EQ(hal::validationMessageCount(), 0u) << "messages of Vulkan's validation layers";
}

} // namespace heddle::test
