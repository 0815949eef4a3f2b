// Artifacts for several targets, from hand-written plans: what each target has for itself, and what all must share. The
// targets and their backend belong to the test.
#include "compiler/Program/Emit/Emit.h"
#include "compiler/Target/Backend.h"
#include "dialects/Heddle/Heddle.h"
#include "dialects/Plan/Plan.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Parser/Parser.h"
#include "runtime/artifact/Artifact.h"

#include <gtest/gtest.h>

namespace {

using namespace mlir;

constexpr mlir::heddle::TargetProfile profileOf(StringLiteral name, int64_t lanes) {
  return {.name = name, .summary = "", .lanes = lanes};
}
constexpr mlir::heddle::TargetProfile kProfiles[] = {profileOf("other:0", 4), profileOf("other:1", 8),
                                                     profileOf("other:2", 16)};

// A kernel is a module with the kernel's name. Its code is the first letter of the name and the target's lanes.
class OtherBackend final : public mlir::heddle::Backend {
public:
  StringRef getName() const override { return "other"; }
  ArrayRef<mlir::heddle::TargetProfile> getProfiles() const override { return kProfiles; }
  ArrayRef<StringLiteral> getKernelDialects() const override { return {}; }
  void registerDialects(DialectRegistry &) const override {}
  void registerPasses() const override {}
  void buildLowering(OpPassManager &, const mlir::heddle::TargetProfile &) const override {}
  LogicalResult serialize(Operation *kernel, const mlir::heddle::TargetProfile &profile,
                          mlir::heddle::KernelCode &code) const override {
    if (code.name == "bad")
      return kernel->emitError("the backend's error");
    code.lanes = static_cast<uint32_t>(profile.lanes);
    code.words = {static_cast<uint32_t>(code.name[0]), code.lanes};
    return success();
  }
  bool hasAssembler() const override { return true; }
  LogicalResult assemble(StringRef assembler, const mlir::heddle::TargetProfile &, Location,
                         mlir::heddle::KernelCode &code) const override {
    code.binary = (assembler + " " + code.name).str();
    return success();
  }
};

// Registers the backend once for all tests.
[[maybe_unused]] const bool registered = [] {
  static const OtherBackend backend;
  mlir::heddle::registerBackend(backend);
  return true;
}();

class EmitTest : public testing::Test {
protected:
  EmitTest() {
    DialectRegistry registry;
    registry.insert<mlir::heddle::HeddleDialect, tile::TileDialect, plan::PlanDialect>();
    context.appendDialectRegistry(registry);
  }

  // Emits an artifact with a target for each module. Returns the error's text if that fails.
  std::string emit(std::initializer_list<const char *> texts, StringRef assembler = {}) {
    std::vector<OwningOpRef<ModuleOp>> modules;
    std::vector<mlir::heddle::PlannedTarget> targets;
    for (const char *text : texts) {
      modules.push_back(parseSourceString<ModuleOp>(text, &context));
      if (!modules.back())
        return "the test's module is wrong";
      targets.push_back({&kProfiles[targets.size()], *modules.back()});
    }
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
    FailureOr<mlir::heddle::Artifact> emitted = mlir::heddle::emitArtifact(targets, assembler);
    if (failed(emitted))
      return message;
    std::vector<std::byte> bytes(emitted->bytes.size());
    std::memcpy(bytes.data(), emitted->bytes.data(), bytes.size());
    auto loaded = ::heddle::Artifact::fromBytes(std::move(bytes), "emitted");
    if (!loaded)
      return loaded.message();
    artifact = std::move(*loaded);
    return "";
  }

  MLIRContext context;
  std::shared_ptr<const ::heddle::Artifact> artifact;
};

TEST_F(EmitTest, targetsThatPlanAlikeShareTheModulesEntries) {
  const char *plan = "heddle.size @n max 8\nplan.entry @e arena 64 {}";
  ASSERT_EQ(emit({plan, plan}), "");
  for (const auto *target : *artifact->module().targets())
    EXPECT_EQ(target->entries(), nullptr);
}

TEST_F(EmitTest, targetsThatPlanOtherwiseHaveTheirOwn) {
  const char *input = R"(heddle.size @n max 8
    plan.entry @e arena 64 { plan.input "x" : tensor<?xi32, #heddle.dims<"n">> at 0 bytes 32 })";
  const char *elsewhere = R"(heddle.size @n max 8
    heddle.size @chunk max 4 of @n from 4
    plan.entry @e arena 128 { plan.input "x" : tensor<?xi32, #heddle.dims<"n">> at 96 bytes 32 })";
  ASSERT_EQ(emit({input, elsewhere, input}), "");
  const auto &module = artifact->module();
  const auto &targets = *module.targets();
  EXPECT_EQ(targets.Get(0)->entries(), nullptr);
  EXPECT_EQ(targets.Get(2)->entries(), nullptr);
  ASSERT_NE(targets.Get(1)->entries(), nullptr);
  EXPECT_EQ(targets.Get(0)->arena_bytes(), 64u);
  EXPECT_EQ(targets.Get(1)->arena_bytes(), 128u);
  EXPECT_EQ(module.entries()->Get(0)->inputs()->Get(0)->arena_offset(), 0u);
  EXPECT_EQ(targets.Get(1)->entries()->Get(0)->inputs()->Get(0)->arena_offset(), 96u);
  ASSERT_EQ(module.sizes()->size(), 2u) << "those of all targets";
  EXPECT_EQ(module.sizes()->Get(1)->of_size(), 0);
}

TEST_F(EmitTest, blocksOfTheArenaAreWritten) {
  const char *one = "heddle.size @n max 8\nplan.entry @e arena 768 {}";
  const char *several = "heddle.size @n max 8\nplan.entry @e arena 768 blocks [512, 256] {}";
  ASSERT_EQ(emit({several, one}), "");
  const auto &module = artifact->module();
  EXPECT_EQ(module.schema_version(), 1u) << "older builds allocate the blocks together";
  ASSERT_NE(module.entries()->Get(0)->blocks(), nullptr);
  EXPECT_EQ(module.entries()->Get(0)->blocks()->size(), 2u);
  EXPECT_EQ(module.entries()->Get(0)->blocks()->Get(1), 256u);
  EXPECT_EQ(module.targets()->Get(0)->arena_bytes(), 768u);
  ASSERT_NE(module.targets()->Get(1)->entries(), nullptr) << "its plan is another one";
  EXPECT_EQ(module.targets()->Get(1)->entries()->Get(0)->blocks(), nullptr);
  std::string many = "plan.entry @e arena 1048832 blocks [256";
  for (int i = 0; i < 4096; ++i)
    many += ", 256";
  many += "] {}";
  EXPECT_EQ(emit({many.c_str()}), "the arena of entry 'e' has 4097 blocks; 4096 are the most: raise --max-allocation");
}

TEST_F(EmitTest, conditionsAndLimitsAreWritten) {
  const char *plan = R"(heddle.size @n max 8
    heddle.variable @v cache : tensor<4xi32> {heddle.limit = 6 : i64}
    plan.entry @e arena 512 {
      plan.input "x" : tensor<?xi32, #heddle.dims<"n">> at 0 bytes 32
      plan.input "y" : tensor<?x4xi32, #heddle.dims<"n">> at 256 bytes 128
      plan.segments <at <"n", 0> first <-3 plus[<"x" times 2 from 1>]> count <1> of <"", 9>
        list "y" of <"n", 0>>
    })";
  ASSERT_EQ(emit({plan}), "");
  const auto &module = artifact->module();
  EXPECT_EQ(module.variables()->Get(0)->value_limit(), 6);
  ASSERT_EQ(module.entries()->Get(0)->segments()->size(), 1u);
  const auto &segments = *module.entries()->Get(0)->segments()->Get(0);
  EXPECT_EQ(segments.places()->size(), 0);
  const auto &addend = *segments.first()->addends()->Get(0);
  EXPECT_EQ(addend.input(), 0u);
  EXPECT_EQ(addend.coefficient(), 2);
  EXPECT_EQ(addend.from(), 1);
  EXPECT_EQ(segments.first()->constant(), -3);
  EXPECT_EQ(segments.count()->constant(), 1);
  EXPECT_EQ(segments.rows()->extent(), 9);
  EXPECT_EQ(segments.list(), 1);
  EXPECT_EQ(segments.listed()->size(), 0);
  const char *none = R"(plan.entry @e arena 64 {
    plan.segments <at <"", 4> first <0 plus[<"x" times 1 from 0>]> count <1> of <"", 9>> })";
  EXPECT_EQ(emit({none}), "there is no input 'x'");
}

TEST_F(EmitTest, sizesOfOneNameMustBeTheSame) {
  EXPECT_EQ(
      emit({"heddle.size @n max 8", "heddle.size @n max 16"}),
      "targets other:0 and other:1 make the size 'n' differently, and an artifact has a single table of sizes; compile "
      "an artifact for each of them");
}

TEST_F(EmitTest, variablesMustBeTheSame) {
  const char *one = "heddle.variable @w weight : tensor<8xf32>", *other = "heddle.variable @w weight : tensor<4xf32>";
  const char *message = "targets other:0 and other:1 keep different variables, and an artifact has a single table of "
                        "variables; compile an artifact for each of them";
  EXPECT_EQ(emit({one, one}), "");
  EXPECT_EQ(emit({one, other}), message);
  EXPECT_EQ(emit({one, ""}), message);
}

TEST_F(EmitTest, kernelsAreWhatTheirBackendMakes) {
  const char *plan = R"(#one = #tile.grid<"", 1, 1>
    module @first {} module @second {}
    plan.entry @e arena 64 {
      plan.launch @second grid [#one, #one, #one] [#plan.binding<arena "", 0, 4>]
      plan.launch @first grid [#one, #one, #one] [#plan.binding<arena "", 0, 4>]
    })";
  ASSERT_EQ(emit({plan, plan}, "tool"), "");
  const auto &module = artifact->module();
  for (flatbuffers::uoffset_t i : {0, 1}) {
    const auto &target = *module.targets()->Get(i);
    ASSERT_EQ(target.kernels()->size(), 2u);
    EXPECT_EQ(target.kernels()->Get(0)->name()->str(), "second");
    EXPECT_EQ(target.kernels()->Get(1)->lanes(), i ? 8u : 4u);
    const ::heddle::KernelCode &code = artifact->code(target, 1);
    EXPECT_EQ(std::vector(code.words.begin(), code.words.end()), (std::vector<uint32_t>{'f', i ? 8u : 4u}));
    EXPECT_EQ(std::string(code.binary.begin(), code.binary.end()), "tool first");
  }
  ASSERT_EQ(emit({plan}), "");
  EXPECT_TRUE(artifact->code(*artifact->module().targets()->Get(0), 0).binary.empty());
}

TEST_F(EmitTest, aBackendsErrorEndsTheEmission) {
  EXPECT_EQ(emit({R"(#one = #tile.grid<"", 1, 1>
    module @bad {}
    plan.entry @e arena 64 { plan.launch @bad grid [#one, #one, #one] [#plan.binding<arena "", 0, 4>] })"}),
            "the backend's error");
  EXPECT_EQ(emit({R"(#one = #tile.grid<"", 1, 1>
    module @first {}
    plan.entry @e arena 64 { plan.launch @second grid [#one, #one, #one] [#plan.binding<arena "", 0, 4>] })"}),
            "target other:0 has no kernel 'second'");
}

TEST(TargetsTest, areFoundByName) {
  std::string message;
  EXPECT_EQ(mlir::heddle::lookupTargetProfile("other:1", message), &kProfiles[1]);
  EXPECT_EQ(mlir::heddle::lookupTargetProfile("other:7", message), nullptr);
  EXPECT_EQ(message, "there is no target 'other:7'; did you mean 'other:0'?");
  EXPECT_EQ(mlir::heddle::lookupTargetProfile("something else", message), nullptr);
  EXPECT_EQ(message, "there is no target 'something else'; this build has other:0, other:1, other:2");
}

TEST(TargetsDeathTest, needABackendAndANameOfTheirOwn) {
  static constexpr mlir::heddle::TargetProfile strange = profileOf("strange:0", 4), second = profileOf("other:1", 4);
  EXPECT_DEATH(mlir::heddle::registerTarget(strange), "target 'strange:0' has no backend");
  EXPECT_DEATH(mlir::heddle::registerTarget(second), "there are two targets 'other:1'");
  static const OtherBackend again;
  EXPECT_DEATH(mlir::heddle::registerBackend(again), "there are two backends 'other'");
}

} // namespace
