// Runs heddle-inspect as a user would.
#include "test/runtime/ArtifactBuilder.h"
#include "test/runtime/TemporaryFolder.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace heddle {
namespace {

struct Outcome {
  int exitCode = -1;
  std::string output; // stdout and stderr
};

class InspectTest : public testing::Test {
protected:
  void SetUp() override {
    std::vector<std::byte> bytes = test::buildAdder();
    test::spit(folder / "a.heddle", {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  }

  Outcome inspect(const std::string &arguments) {
    std::string command = std::string(HEDDLE_INSPECT) + " 2>&1 " + arguments;
    // NOLINTNEXTLINE(bugprone-command-processor): the command is the test's own
    FILE *pipe = popen(("cd '" + folder.path().string() + "' && " + command).c_str(), "r");
    Outcome run;
    char buffer[4096];
    while (size_t count = fread(buffer, 1, sizeof buffer, pipe))
      run.output.append(buffer, count);
    int status = pclose(pipe);
    run.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return run;
  }

  test::TemporaryFolder folder;
};

TEST_F(InspectTest, printsWhatThereIs) {
  Outcome run = inspect("a.heddle");
  EXPECT_EQ(run.exitCode, 0);
  for (const char *part : {"vulkan:software", "f32[n<=1000]", "the largest of `lengths`", "values < 10",
                           "optimizer-state", "architecture", "8 lanes"})
    EXPECT_NE(run.output.find(part), std::string::npos) << part << " in\n" << run.output;
}

TEST_F(InspectTest, cutsLongValues) {
  std::string value;
  for (int i = 0; i < 100; ++i)
    value += "\xc3\xb6"; // ö
  std::vector<std::byte> bytes = test::changed(
      test::buildAdder(), [&](schema::ModuleT &module) { module.description = R"({"a": ")" + value + R"("})"; });
  test::spit(folder / "long.heddle", {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  Outcome run = inspect("long.heddle");
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_NE(run.output.find("\"" + value.substr(0, 118) + " ... (202 bytes; --json prints all)\n"), std::string::npos)
      << run.output;
  EXPECT_EQ(nlohmann::json::parse(inspect("long.heddle --json").output)["description"]["a"], value);
}

TEST_F(InspectTest, compilesPipelines) {
  const char *driver = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json";
  if (access(driver, R_OK))
    driver = "/usr/share/vulkan/icd.d/radeon_icd.json"; // Mesa 25's name
  if (access(driver, R_OK))
    GTEST_SKIP() << "Mesa's driver for AMD is not there";
  setenv("VK_ICD_FILENAMES", driver, 1);
  setenv("RADV_FORCE_FAMILY", "NAVI21", 1);
  // Mesa 25 says that the device is not there, and goes on.
  Outcome run = inspect("a.heddle --pipelines --json 2> said.txt");
  EXPECT_EQ(run.exitCode, 0);
  auto json = nlohmann::json::parse(run.output, nullptr, false);
  ASSERT_TRUE(json.is_object()) << run.output;
  EXPECT_GE(json["kernels"].size(), 2u);
  for (const nlohmann::json &kernel : json["kernels"]) {
    EXPECT_GT(kernel["driver"]["Code size"], 0) << kernel;
    EXPECT_EQ(kernel["driver"]["Spilled VGPRs"], 0) << kernel;
    EXPECT_GT(kernel["workgroup"], 0) << kernel;
  }
  run = inspect("a.heddle --pipelines --target vulkan:portable");
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_NE(run.output.find("NAVI21"), std::string::npos) << run.output;
  EXPECT_EQ(run.output.find("vulkan:software"), std::string::npos) << run.output;
  run = inspect("a.heddle --pipelines --kernel none");
  EXPECT_EQ(run.exitCode, 1);
  EXPECT_NE(run.output.find("has no kernel 'none'"), std::string::npos) << run.output;
  unsetenv("RADV_FORCE_FAMILY");
  unsetenv("VK_ICD_FILENAMES");
}

TEST_F(InspectTest, printsJson) {
  Outcome run = inspect("a.heddle --json");
  EXPECT_EQ(run.exitCode, 0);
  auto json = nlohmann::json::parse(run.output, nullptr, false);
  ASSERT_TRUE(json.is_object()) << run.output;
  EXPECT_EQ(json["entries"][0]["name"], "add");
  EXPECT_EQ(json["entries"][0]["inputs"][0]["shape"][0], "n");
  EXPECT_EQ(json["entries"][1]["costs"][0]["launches"], 2);
  EXPECT_EQ(json["entries"][1]["costs"][0]["bytes"], "12*n");
  EXPECT_EQ(json["entries"][4]["costs"][0]["flops"], "1*m*longest");
  EXPECT_EQ(json["entries"][4]["costs"][0]["bytes"], "12*pairs(1, lengths)");
  EXPECT_EQ(json["variables"][0]["shape"][0], 1000);
  EXPECT_EQ(json["targets"][1]["name"], "vulkan:portable");
  EXPECT_EQ(json["targets"][0]["kernels"][0]["launches"], 5);
  EXPECT_EQ(json["targets"][0]["arena_bytes"], 16000);
  EXPECT_EQ(json["targets"][0]["arena_blocks"], nlohmann::json({16000}));
}

TEST_F(InspectTest, printsAndWritesKernels) {
  Outcome run = inspect("a.heddle --kernel=add");
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_NE(run.output.find("chain, launch 1: grid ceil(n/8)*1 1 1, after a barrier"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("    FLOPs 1*n\n    of them the model's 0\n    bytes 12*n\n"), std::string::npos)
      << run.output;
  EXPECT_EQ(inspect("a.heddle --kernel=add -o add.spv").exitCode, 0);
  std::vector<uint32_t> code = test::testKernel("add");
  EXPECT_EQ(test::slurp(folder / "add.spv"),
            std::string(reinterpret_cast<const char *>(code.data()), code.size() * sizeof(uint32_t)));
}

#if defined(__x86_64__)
TEST_F(InspectTest, disassemblesCodeForProcessors) {
  std::vector<std::byte> bytes = test::buildAdder({.targets = {"cpu:x86-64-v3"}});
  test::spit(folder / "c.heddle", {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  const std::string path = getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  Outcome run = inspect("c.heddle --kernel=add");
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_NE(run.output.find("chain, launch 1: grid"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("there is no objdump that knows i386:x86-64"), std::string::npos) << run.output;
  if (std::system("objdump --version > /dev/null 2>&1") != 0) // NOLINT: the command is the test's own
    GTEST_SKIP() << "there is no objdump";
  run = inspect("c.heddle --kernel=add");
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_NE(run.output.find("  0:\tmovabs $0x"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("jmp    *%rax\n"), std::string::npos) << run.output;
}
#endif

TEST_F(InspectTest, writesAllKernels) {
  EXPECT_EQ(inspect("a.heddle --kernels all").exitCode, 0);
  EXPECT_EQ(inspect("a.heddle --kernel=add -o add.spv").exitCode, 0);
  EXPECT_EQ(test::slurp(folder / "all" / "add.spirv"), test::slurp(folder / "add.spv"));
  EXPECT_EQ(inspect("a.heddle --kernels all --target vulkan:portable").exitCode, 0);
  EXPECT_EQ(inspect("a.heddle --kernels all --target nonsense").exitCode, 1);
  EXPECT_EQ(inspect("a.heddle --kernels ''").exitCode, 2);
  EXPECT_EQ(inspect("a.heddle --kernels all --json").exitCode, 2);
  EXPECT_EQ(inspect("a.heddle --kernels a.heddle").exitCode, 1);
}

TEST_F(InspectTest, saysWhatCudaCodeHolds) {
  std::vector<std::byte> bytes = test::buildAdder({.targets = {"cuda:sm_80", "vulkan:portable"}, .ownEntries = true});
  std::unique_ptr<schema::ModuleT> module(schema::GetModule(bytes.data())->UnPack());
  module->seal = 0;
  schema::KernelT &kernel = *module->targets[0]->kernels[0];
  kernel.binary = {0x7f, 'E', 'L', 'F', 0};
  kernel.registers = 17;
  kernel.spill_bytes = 12;
  kernel.shared_bytes = 2048;
  kernel.persistent = true;
  module->targets[1]->entries[1]->launches.pop_back(); // a plan of its own, with one launch less
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishModuleBuffer(builder, schema::Module::Pack(builder, module.get()));
  test::spit(folder / "c.heddle", {reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()});
  const std::string ptx = test::slurp(std::string(HEDDLE_TEST_SOURCES) + "/add.ptx");

  Outcome run = inspect("c.heddle");
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_NE(run.output.find("64 lanes     5 launches, 1.0 KiB of PTX, 5 bytes of cubin, 17 registers, spills 12 bytes, "
                            "shared 2.0 KiB, persistent\n"),
            std::string::npos)
      << run.output;
  auto json = nlohmann::json::parse(inspect("c.heddle --json").output, nullptr, false);
  ASSERT_TRUE(json.is_object());
  const auto &first = json["targets"][0]["kernels"][0], &second = json["targets"][1]["kernels"][0];
  EXPECT_EQ(first["code_bytes"], ptx.size());
  EXPECT_EQ(first["binary_bytes"], 5);
  EXPECT_EQ(first["registers"], 17);
  EXPECT_EQ(first["spill_bytes"], 12);
  EXPECT_EQ(first["shared_bytes"], 2048);
  EXPECT_EQ(first["persistent"], true);
  EXPECT_EQ(first["launches"], 5);
  EXPECT_EQ(second["launches"], 4) << "of the target's own plan";
  EXPECT_FALSE(second.contains("registers"));

  run = inspect("c.heddle --kernel=add --target=cuda:sm_80");
  EXPECT_NE(run.output.find("chain, launch 1: grid"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find(ptx), std::string::npos) << run.output;
  run = inspect("c.heddle --kernel=add --target=vulkan:portable");
  EXPECT_EQ(run.output.find("chain, launch 1: grid"), std::string::npos) << run.output;
  EXPECT_EQ(inspect("c.heddle --kernel=add -o add.ptx").exitCode, 0);
  EXPECT_EQ(test::slurp(folder / "add.ptx"), ptx);
}

TEST_F(InspectTest, printsPackedCodeAndConditions) {
  std::vector<std::byte> bytes = test::changed(test::buildAdder(), [](schema::ModuleT &m) {
    test::addSegments(m).first->constant = 5;
    m.entries[4]->segments[0]->count->addends[0] = schema::Addend(1, 2, 3);
    m.variables[3]->value_limit = 7;
    test::packCode(*m.targets[0]);
  });
  test::spit(folder / "p.heddle", {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  Outcome run = inspect("p.heddle");
  for (const char *part :
       {"    needs 2*lengths[3..] rows from index + 5 of n\n", "  values < 7\n", " in the file), arena"})
    EXPECT_NE(run.output.find(part), std::string::npos) << part << " in\n" << run.output;
  auto json = nlohmann::json::parse(inspect("p.heddle --json").output, nullptr, false);
  ASSERT_TRUE(json.is_object());
  std::vector<uint32_t> code = test::testKernel("add");
  EXPECT_EQ(json["targets"][0]["code_bytes"], code.size() * sizeof(uint32_t));
  EXPECT_LT(json["targets"][0]["packed_bytes"], json["targets"][0]["code_bytes"]);
  EXPECT_EQ(json["entries"][4]["segments"][0], "2*lengths[3..] rows from index + 5 of n");
  EXPECT_EQ(json["variables"][3]["value_limit"], 7);
  EXPECT_EQ(inspect("p.heddle --kernel=add -o packed.spv").exitCode, 0);
  EXPECT_EQ(test::slurp(folder / "packed.spv"),
            std::string(reinterpret_cast<const char *>(code.data()), code.size() * sizeof(uint32_t)));
}

TEST_F(InspectTest, saysWhatIsWrong) {
  Outcome run = inspect("a.heddle --kernel=sub");
  EXPECT_EQ(run.exitCode, 1);
  EXPECT_NE(run.output.find("has no kernel 'sub'"), std::string::npos) << run.output;
  for (const char *flags : {"", " --json", " --kernel=add", " --pipelines"}) {
    run = inspect(std::string("a.heddle --target nonsense") + flags);
    EXPECT_EQ(run.exitCode, 1) << flags;
    EXPECT_NE(run.output.find("no target 'nonsense'; it has vulkan:software, vulkan:portable"), std::string::npos)
        << run.output;
  }
  run = inspect("a.heddle --target vulkan:software --json");
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_NE(run.output.find("--target needs --kernel, --kernels or --pipelines"), std::string::npos) << run.output;
  run = inspect("a.heddle --kernel ''");
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_NE(run.output.find("--kernel names no kernel"), std::string::npos) << run.output;
  EXPECT_EQ(inspect("a.heddle --kernel=add -o ''").exitCode, 2);
  const std::string before = test::slurp(folder / "a.heddle");
  EXPECT_EQ(inspect("a.heddle --kernel=add -o a.heddle").exitCode, 1);
  EXPECT_EQ(test::slurp(folder / "a.heddle"), before);
  EXPECT_EQ(inspect("b.heddle").exitCode, 1);
  EXPECT_EQ(inspect("").exitCode, 2);
  EXPECT_EQ(inspect("a.heddle --jsno").exitCode, 2);
  EXPECT_EQ(inspect("a.heddle -o x").exitCode, 2);
  EXPECT_EQ(inspect("--help").exitCode, 0);
}

} // namespace
} // namespace heddle
