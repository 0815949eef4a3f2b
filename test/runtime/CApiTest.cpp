// The C API through the shared library: calls, variables, checkpoints, and errors of the caller.
#include "runtime/c/heddle.h"

#include "runtime/core/Safetensors.h"
#include "test/runtime/ArtifactBuilder.h"
#include "test/runtime/GgufBytes.h"
#include "test/runtime/TemporaryFolder.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace heddle {
namespace {

using Values = std::vector<float>;

class CApiTest : public testing::Test {
protected:
  void SetUp() override {
    std::vector<std::byte> bytes = test::buildAdder();
    heddle_options options{sizeof(heddle_options), "vulkan", nullptr, 0};
    ASSERT_EQ(heddle_open_bytes(bytes.data(), bytes.size(), &options, &session), HEDDLE_OK) << heddle_error_message();
  }
  void TearDown() override { heddle_close(session); }

  static heddle_tensor tensor(const char *name, const Values &values, const int64_t &extent) {
    return {name, HEDDLE_F32, 1, &extent, values.data()};
  }

  // Checks the status, and that its message begins or continues with these words.
  static void expect(heddle_status actual, heddle_status expected, std::string_view words) {
    EXPECT_EQ(actual, expected) << heddle_error_message();
    EXPECT_NE(std::string_view(heddle_error_message()).find(words), std::string_view::npos) << heddle_error_message();
  }

  heddle_session *session = nullptr;
};

TEST_F(CApiTest, callsAnEntry) {
  Values a = {1, 2, 3}, b = {10, 20, 30};
  int64_t extent = 3;
  heddle_tensor inputs[] = {tensor("b", b, extent), tensor("a", a, extent)};
  heddle_outputs *outputs = nullptr;
  ASSERT_EQ(heddle_call(session, "add", inputs, 2, &outputs), HEDDLE_OK) << heddle_error_message();
  ASSERT_EQ(heddle_output_count(outputs), 1u);
  heddle_tensor sum{};
  ASSERT_EQ(heddle_output_named(outputs, "sum", &sum), HEDDLE_OK);
  ASSERT_EQ(sum.rank, 1u);
  ASSERT_EQ(sum.shape[0], 3);
  const auto *values = static_cast<const float *>(sum.data);
  EXPECT_EQ(Values(values, values + 3), (Values{11, 22, 33}));
  expect(heddle_output_named(outputs, "product", &sum), HEDDLE_NOT_FOUND, "no output 'product'");
  expect(heddle_output_at(outputs, 1, &sum), HEDDLE_INVALID_ARGUMENT, "no output number 1");
  heddle_free_outputs(outputs);
}

TEST_F(CApiTest, runsWithoutWaitingAndReadsLater) {
  Values a = {1, 2};
  int64_t extent = 2;
  heddle_tensor input = tensor("a", a, extent);
  ASSERT_EQ(heddle_init(session, 1), HEDDLE_OK) << heddle_error_message();
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(heddle_run(session, "accumulate", &input, 1), HEDDLE_OK) << heddle_error_message();
  ASSERT_EQ(heddle_wait(session), HEDDLE_OK);
  heddle_variable total{};
  total.struct_size = sizeof(total);
  ASSERT_EQ(heddle_variable_named(session, "total", &total), HEDDLE_OK);
  EXPECT_EQ(total.kind, HEDDLE_OPTIMIZER_STATE);
  ASSERT_EQ(total.rank, 1u);
  Values values(size_t(total.shape[0]));
  ASSERT_EQ(heddle_read_variable(session, "total", values.data(), values.size() * 4), HEDDLE_OK)
      << heddle_error_message();
  EXPECT_EQ(values[0], 3);
  EXPECT_EQ(values[1], 6);
  ASSERT_EQ(heddle_run(session, "chain", &input, 1), HEDDLE_OK) << heddle_error_message();
  heddle_outputs *outputs = nullptr;
  ASSERT_EQ(heddle_read_outputs(session, &outputs), HEDDLE_OK) << heddle_error_message();
  EXPECT_EQ(heddle_output_count(outputs), 2u);
  heddle_free_outputs(outputs);
}

TEST_F(CApiTest, describesTheModel) {
  ASSERT_GE(heddle_entry_count(session), 1u);
  EXPECT_EQ(heddle_entry_name(session, heddle_entry_count(session)), nullptr);
  size_t count = 0;
  ASSERT_EQ(heddle_port_count(session, "add", HEDDLE_INPUT, &count), HEDDLE_OK);
  ASSERT_EQ(count, 2u);
  heddle_port port{};
  port.struct_size = sizeof(port);
  ASSERT_EQ(heddle_port_at(session, "add", HEDDLE_INPUT, 0, &port), HEDDLE_OK);
  ASSERT_EQ(port.rank, 1u);
  EXPECT_STREQ(port.dimensions[0].size, "n");
  EXPECT_EQ(port.dimensions[0].extent, 1000);
  EXPECT_STREQ(heddle_session_target(session), "vulkan:software");
  EXPECT_EQ(std::string(heddle_session_device(session)).rfind("vulkan:", 0), 0u);
  size_t devices = 0;
  ASSERT_EQ(heddle_device_count(&devices), HEDDLE_OK);
  ASSERT_GE(devices, 1u);
  heddle_device device{};
  device.struct_size = sizeof(device);
  EXPECT_EQ(heddle_device_at(0, &device), HEDDLE_OK);
  EXPECT_NE(std::string(device.name), "");
}

// Loads weights by the names under which the model was published, from a safetensors file, a folder and a GGUF file.
TEST_F(CApiTest, loadsPublishedFiles) {
  std::vector<std::byte> bytes = test::changed(test::buildAdder(), [](schema::ModuleT &module) {
    module.description =
        R"({"architecture": "adder", "tensors": {"weight": {"from": ["model.norm.weight"], "gguf": {"from": ["output_norm.weight"]}, "shape": [1000]}}})";
  });
  heddle_options options{sizeof(heddle_options), "vulkan", nullptr, 0};
  heddle_session *published = nullptr;
  ASSERT_EQ(heddle_open_bytes(bytes.data(), bytes.size(), &options, &published), HEDDLE_OK) << heddle_error_message();
  test::TemporaryFolder folder;
  Values weight(1000);
  std::iota(weight.begin(), weight.end(), 0.0f);
  auto write = [&](const char *file, const char *name, int64_t extent) {
    auto writer = SafetensorsWriter::create(folder.path() / file, {{name, ElementType::F32, {extent}}});
    ASSERT_TRUE(writer->write(std::as_bytes(std::span(weight).first(size_t(extent)))).ok());
    ASSERT_TRUE(writer->commit().ok());
  };
  write("model.safetensors", "model.norm.weight", 1000);
  std::string_view raw(reinterpret_cast<const char *>(weight.data()), weight.size() * sizeof(float));
  folder.write(
      "model.gguf",
      test::GgufBytes().text("general.architecture", "llama").tensor("output_norm.weight", {1000}, 0, raw).file());
  std::string said;
  auto loads = [&](const std::string &path) {
    Values none(1000, -1), back(1000);
    int64_t extent = 1000;
    heddle_tensor value = tensor("weight", none, extent);
    EXPECT_EQ(heddle_write_variable(published, &value), HEDDLE_OK);
    heddle_status status = heddle_load(published, path.c_str(), HEDDLE_WEIGHTS_ONLY);
    said = heddle_error_message();
    EXPECT_EQ(heddle_read_variable(published, "weight", back.data(), back.size() * 4), HEDDLE_OK);
    EXPECT_EQ(back, status == HEDDLE_OK ? weight : none) << path;
    return status;
  };
  std::string file = (folder.path() / "model.safetensors").string();
  EXPECT_EQ(loads(file), HEDDLE_OK) << heddle_error_message();
  EXPECT_EQ(loads((folder.path() / "model.gguf").string()), HEDDLE_OK) << heddle_error_message();
  folder.write("config.json", "{}");
  EXPECT_EQ(loads(folder.path().string()), HEDDLE_OK) << heddle_error_message();
  EXPECT_EQ(loads(file), HEDDLE_OK) << heddle_error_message();
  expect(heddle_load(published, file.c_str(), HEDDLE_TRAINING_STATE), HEDDLE_INVALID_ARGUMENT, "load the weights only");
  expect(heddle_load(session, folder.path().c_str(), HEDDLE_WEIGHTS_ONLY), HEDDLE_INVALID_ARGUMENT,
         "not compiled from one");
  write("other.safetensors", "model.norm.weight", 999);
  EXPECT_EQ(loads((folder.path() / "other.safetensors").string()), HEDDLE_INVALID_ARGUMENT);
  EXPECT_NE(said.find("compiled from another model"), std::string::npos) << said;
  heddle_close(published);
}

TEST_F(CApiTest, savesAndLoads) {
  test::TemporaryFolder folder;
  std::string path = (folder.path() / "all.safetensors").string();
  ASSERT_EQ(heddle_prepare(session, nullptr, 0), HEDDLE_OK);
  const char *entries[] = {"accumulate", "lookup"};
  ASSERT_EQ(heddle_prepare(session, entries, 2), HEDDLE_OK) << heddle_error_message();
  expect(heddle_save(session, path.c_str(), HEDDLE_WEIGHTS_ONLY), HEDDLE_INVALID_ARGUMENT, "has no value yet");
  Values weight(1000, 0.5f);
  int64_t extent = 1000;
  heddle_tensor value = tensor("weight", weight, extent);
  ASSERT_EQ(heddle_write_variable(session, &value), HEDDLE_OK) << heddle_error_message();
  ASSERT_EQ(heddle_save(session, path.c_str(), HEDDLE_WEIGHTS_ONLY), HEDDLE_OK) << heddle_error_message();
  expect(heddle_save(session, path.c_str(), HEDDLE_TRAINING_STATE), HEDDLE_INVALID_ARGUMENT, "has no value yet");
  Values others(1000, 7);
  value.data = others.data();
  ASSERT_EQ(heddle_write_variable(session, &value), HEDDLE_OK);
  ASSERT_EQ(heddle_load(session, path.c_str(), HEDDLE_WEIGHTS_ONLY), HEDDLE_OK) << heddle_error_message();
  Values back(1000);
  ASSERT_EQ(heddle_read_variable(session, "weight", back.data(), back.size() * 4), HEDDLE_OK);
  EXPECT_EQ(back, weight);
  expect(heddle_save(session, path.c_str(), 0), HEDDLE_INVALID_ARGUMENT, "bits of heddle_kind");
  expect(heddle_save(session, path.c_str(), 1u << 20), HEDDLE_INVALID_ARGUMENT, "bits of heddle_kind");
  expect(heddle_load(session, "/nowhere/at/all", HEDDLE_WEIGHTS_ONLY), HEDDLE_NOT_FOUND, "/nowhere/at/all");
  heddle_memory memory{};
  memory.struct_size = sizeof(memory);
  ASSERT_EQ(heddle_session_memory(session, &memory), HEDDLE_OK);
  EXPECT_EQ(memory.weights, 4000u);
}

TEST_F(CApiTest, tellsOfMistakes) {
  heddle_outputs *outputs = nullptr;
  Values a = {1};
  int64_t extent = 1, negative = -1, huge = int64_t(1) << 62;
  heddle_tensor input = tensor("a", a, extent);
  expect(heddle_call(session, "multiply", &input, 1, &outputs), HEDDLE_NOT_FOUND, "multiply");
  expect(heddle_call(session, "add", &input, 1, &outputs), HEDDLE_INVALID_ARGUMENT, "'b' is missing");
  expect(heddle_call(nullptr, "add", &input, 1, &outputs), HEDDLE_INVALID_ARGUMENT, "session is NULL");
  expect(heddle_call(session, nullptr, &input, 1, &outputs), HEDDLE_INVALID_ARGUMENT, "name is NULL");
  expect(heddle_call(session, "add", nullptr, 1, &outputs), HEDDLE_INVALID_ARGUMENT, "list of inputs is NULL");
  input.shape = &negative;
  expect(heddle_call(session, "chain", &input, 1, &outputs), HEDDLE_INVALID_ARGUMENT, "shape that no memory has");
  input.shape = &huge;
  expect(heddle_call(session, "chain", &input, 1, &outputs), HEDDLE_INVALID_ARGUMENT, "shape that no memory has");
  input.shape = nullptr;
  expect(heddle_call(session, "chain", &input, 1, &outputs), HEDDLE_INVALID_ARGUMENT, "shape is NULL");
  input.shape = &extent;
  input.data = nullptr;
  expect(heddle_call(session, "chain", &input, 1, &outputs), HEDDLE_INVALID_ARGUMENT, "data is NULL");
  input.data = a.data();
  input.type = heddle_element_type(9);
  expect(heddle_call(session, "chain", &input, 1, &outputs), HEDDLE_INVALID_ARGUMENT, "neither HEDDLE_F32");
  input = tensor(nullptr, a, extent);
  expect(heddle_call(session, "chain", &input, 1, &outputs), HEDDLE_INVALID_ARGUMENT, "no name");
  EXPECT_EQ(outputs, nullptr);
  expect(heddle_read_variable(session, "weight", a.data(), 4), HEDDLE_INVALID_ARGUMENT, "takes 4000 bytes");
  expect(heddle_read_variable(session, "bias", a.data(), 4), HEDDLE_NOT_FOUND, "bias");
  heddle_port port{};
  expect(heddle_port_at(session, "add", HEDDLE_INPUT, 0, &port), HEDDLE_INVALID_ARGUMENT, "struct_size is 0");
  port.struct_size = sizeof(port);
  expect(heddle_port_at(session, "add", HEDDLE_INPUT, 2, &port), HEDDLE_INVALID_ARGUMENT, "no port number 2");
  expect(heddle_port_at(session, "add", heddle_direction(5), 0, &port), HEDDLE_INVALID_ARGUMENT, "direction 5");
  heddle_session *other = nullptr;
  expect(heddle_open("/nowhere.heddle", nullptr, &other), HEDDLE_NOT_FOUND, "/nowhere.heddle");
  expect(heddle_open_bytes("no artifact", 11, nullptr, &other), HEDDLE_MALFORMED, "artifact in memory");
  heddle_options options{sizeof(heddle_options), "vulkan:99", nullptr, 0};
  std::vector<std::byte> bytes = test::buildAdder();
  EXPECT_NE(heddle_open_bytes(bytes.data(), bytes.size(), &options, &other), HEDDLE_OK);
  EXPECT_EQ(other, nullptr);
  options = {0, "vulkan:99", nullptr, 0};
  expect(heddle_open_bytes(bytes.data(), bytes.size(), &options, &other), HEDDLE_INVALID_ARGUMENT, "struct_size is 0");
  expect(heddle_open_bytes(bytes.data(), SIZE_MAX, nullptr, &other), HEDDLE_INVALID_ARGUMENT, "larger than any memory");
  heddle_variable variable{};
  variable.struct_size = sizeof(variable);
  expect(heddle_variable_at(nullptr, 0, &variable), HEDDLE_INVALID_ARGUMENT, "session is NULL");
  expect(heddle_load(session, "nowhere", HEDDLE_FROZEN), HEDDLE_NOT_FOUND, "no variable of the kinds");
  heddle_close(nullptr);
  heddle_free_outputs(nullptr);
}

// A program compiled with an older header has smaller structures: nothing may be written past their ends.
TEST_F(CApiTest, writesNoMoreThanTheCallerKnows) {
  heddle_memory memory;
  std::memset(&memory, 0x5a, sizeof(memory));
  memory.struct_size = offsetof(heddle_memory, gradients);
  ASSERT_EQ(heddle_session_memory(session, &memory), HEDDLE_OK);
  EXPECT_EQ(memory.optimizer_state, 0u);
  EXPECT_EQ(memory.gradients, 0x5a5a5a5a5a5a5a5aull);
  struct {
    heddle_memory known;
    uint64_t added;
  } newer;
  newer.known.struct_size = sizeof(newer);
  newer.added = 1;
  ASSERT_EQ(heddle_session_memory(session, &newer.known), HEDDLE_OK);
  EXPECT_EQ(newer.added, 0u);
}

TEST_F(CApiTest, messagesAreTheThreads) {
  expect(heddle_open("/first.heddle", nullptr, &session), HEDDLE_NOT_FOUND, "/first.heddle");
  std::thread([] { EXPECT_STREQ(heddle_error_message(), ""); }).join();
  expect(HEDDLE_NOT_FOUND, HEDDLE_NOT_FOUND, "/first.heddle");
  EXPECT_GE(heddle_api_version(), uint32_t(HEDDLE_API_VERSION));
}

// A forked process has none of the device's threads: it cannot open another model, and must not touch the parent's.
TEST_F(CApiTest, forksOpenNoModels) {
  pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10); // rather than wait for ever
    std::vector<std::byte> bytes = test::buildAdder();
    heddle_options options{sizeof(heddle_options), "vulkan", nullptr, 0};
    heddle_session *other = nullptr;
    heddle_status status = heddle_open_bytes(bytes.data(), bytes.size(), &options, &other);
    heddle_close(session);
    ::_exit(status == HEDDLE_UNSUPPORTED && !other ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  Values a = {1}, b = {10};
  int64_t extent = 1;
  heddle_tensor inputs[] = {tensor("a", a, extent), tensor("b", b, extent)};
  heddle_outputs *outputs = nullptr;
  EXPECT_EQ(heddle_call(session, "add", inputs, 2, &outputs), HEDDLE_OK) << heddle_error_message();
  heddle_free_outputs(outputs);
}

} // namespace
} // namespace heddle
