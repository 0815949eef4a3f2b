// Results, tensors, files, .npy and safetensors.
#include "runtime/core/Environment.h"
#include "runtime/core/File.h"
#include "runtime/core/Json.h"
#include "runtime/core/Narrow.h"
#include "runtime/core/Npy.h"
#include "runtime/core/Safetensors.h"
#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"
#include "runtime/core/Threads.h"
#include "runtime/published/PublishedWeights.h"
#include "test/runtime/TemporaryFolder.h"

#include <bit>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle {
namespace {

using test::slurp;
using test::spit;
using test::TemporaryFolder;

Result<int> half(int value) {
  if (value % 2)
    return makeError(ErrorKind::InvalidArgument, value, " is odd.");
  return value / 2;
}

Result<int> quarter(int value) {
  HEDDLE_ASSIGN(int once, half(value));
  HEDDLE_ASSIGN(int twice, half(once));
  return twice;
}

TEST(ResultTest, carriesValuesAndErrors) {
  EXPECT_EQ(*quarter(12), 3);
  Result<int> failed = quarter(6);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.message(), "3 is odd.");
  EXPECT_EQ(failed.error().kind, ErrorKind::InvalidArgument);
  EXPECT_EQ(std::move(failed).error().within("dividing").message, "dividing: 3 is odd.");
}

TEST(ResultTest, movesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

TEST(ThreadsTest, takesAsManyAsTheEnvironmentSays) {
  const char *before = std::getenv("HEDDLE_THREADS");
  std::string kept = before ? before : "";
  unsetenv("HEDDLE_THREADS");
  unsigned all = hostThreads();
  EXPECT_GE(all, 1u);
  setenv("HEDDLE_THREADS", "3", 1);
  EXPECT_EQ(hostThreads(), 3u);
  for (const char *wrong : {"", "0", "-1", "2x", "1025", "99999999999999999999"}) {
    setenv("HEDDLE_THREADS", wrong, 1);
    EXPECT_EQ(hostThreads(), all) << wrong;
  }
  unsetenv("HEDDLE_THREADS");
  EXPECT_EQ(shareOf(7), 7u);
  processesThatShare = 3;
  EXPECT_EQ(shareOf(7), 2u);
  EXPECT_EQ(shareOf(2), 1u);
  EXPECT_EQ(shareOf(12, 2), 2u) << "each rank has a quota of its own";
  EXPECT_EQ(shareOf(12, 6), 4u) << "the quota allows more than a third of the cores";
  processesInQuota = 3;
  EXPECT_EQ(shareOf(12, 6), 2u) << "the ranks have a quota together";
  EXPECT_EQ(shareOf(12, 2), 1u);
  processesInQuota = 1;
  EXPECT_EQ(hostThreads(), std::max(1u, all / 3));
  setenv("HEDDLE_THREADS", "5", 1);
  EXPECT_EQ(hostThreads(), 5u) << "the environment's number is not divided";
  processesThatShare = 1;
  before ? setenv("HEDDLE_THREADS", kept.c_str(), 1) : unsetenv("HEDDLE_THREADS");
}

TEST(EnvironmentTest, refusesValuesThatMeanNothing) {
  for (auto [name, right, wrong] : {std::tuple<const char *, std::vector<const char *>, std::vector<const char *>>{
                                        "HEDDLE_THREADS", {"", "1", "1024"}, {"abc", "0", "-1", "2x", "1025"}},
                                    {"HEDDLE_VALIDATION", {"", "0", "1"}, {"yes", "2"}},
                                    {"HEDDLE_PERF_MAP", {"", "0", "1"}, {"true", " 1"}},
                                    {"HEDDLE_SEPARATE_VALUES", {"", "0", "1"}, {"on"}}}) {
    const char *before = std::getenv(name);
    std::string kept = before ? before : "";
    for (const char *value : right) {
      setenv(name, value, 1);
      EXPECT_TRUE(checkEnvironment().ok()) << name << "=" << value;
    }
    for (const char *value : wrong) {
      setenv(name, value, 1);
      Status status = checkEnvironment();
      ASSERT_FALSE(status.ok()) << name << "=" << value;
      EXPECT_NE(status.message().find(str(name, "=", value)), std::string::npos) << status.message();
    }
    before ? setenv(name, kept.c_str(), 1) : unsetenv(name);
  }
}

TEST(TensorTest, countsElementsWithoutOverflow) {
  EXPECT_EQ(elementCount(Shape{2, 3}), 6);
  EXPECT_EQ(elementCount(Shape{}), 1);
  EXPECT_EQ(elementCount(Shape{0, 5}), 0);
  EXPECT_EQ(elementCount(Shape{-1}), std::nullopt);
  EXPECT_EQ(elementCount(Shape{int64_t(1) << 32, int64_t(1) << 31}), std::nullopt);
  EXPECT_EQ(elementCount(Shape{0, std::numeric_limits<int64_t>::max(), 2}), std::nullopt);
}

TEST(TensorTest, refusesValuesThatDoNotFitTheShape) {
  std::vector<float> values(5);
  EXPECT_FALSE(HostTensor::create<float>({2, 3}, values).ok());
}

TEST(TensorTest, describesBytes) {
  EXPECT_EQ(describeBytes(1), "1 byte");
  EXPECT_EQ(describeBytes(1023), "1023 bytes");
  EXPECT_EQ(describeBytes(1536), "1.5 KiB");
  EXPECT_EQ(describeBytes(uint64_t(3) << 30), "3.0 GiB");
}

TEST(FileTest, atomicFileLeavesTheOldOneUntilCommitted) {
  TemporaryFolder folder;
  spit(folder / "f", "old");
  {
    auto file = AtomicFile::create(folder / "f");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write(std::as_bytes(std::span("new", 3))).ok());
  }
  EXPECT_EQ(slurp(folder / "f"), "old");
  {
    auto file = AtomicFile::create(folder / "f");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write(std::as_bytes(std::span("new", 3))).ok());
    ASSERT_TRUE(file->commit().ok());
  }
  EXPECT_EQ(slurp(folder / "f"), "new");
  EXPECT_EQ(folder.fileCount(), 1u);
}

TEST(FileTest, refusesWhatIsNoFile) {
  TemporaryFolder folder;
  EXPECT_EQ(readFile(folder / "absent", 10).error().kind, ErrorKind::NotFound);
  EXPECT_FALSE(readFile(folder.path(), 10).ok());
  spit(folder / "f", "12345678901");
  EXPECT_FALSE(readFile(folder / "f", 10).ok());
  EXPECT_FALSE(AtomicFile::create(folder / "no" / "folder").ok());

  // Something that is no regular file is written in place: as root, a rename would replace /dev/null.
  std::filesystem::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(writeFile(pipe, "text").ok());
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  char read[4];
  EXPECT_EQ(::read(reader, read, sizeof read), 4);
  ::close(reader);
}

TEST(NpyTest, roundTrips) {
  TemporaryFolder folder;
  std::vector<Shape> shapes = {{}, {0}, {5}, {2, 3}, {1, 2, 3, 4}};
  for (const Shape &shape : shapes) {
    std::vector<float> values(static_cast<size_t>(*elementCount(shape)));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = 0.5f * static_cast<float>(i);
    auto tensor = HostTensor::create<float>(shape, values);
    ASSERT_TRUE(tensor.ok());
    ASSERT_TRUE(writeNpy(folder / "t.npy", *tensor).ok());
    auto back = readNpy(folder / "t.npy");
    ASSERT_TRUE(back.ok()) << back.message();
    EXPECT_EQ(back->shape(), shape);
    EXPECT_TRUE(std::ranges::equal(back->values<float>(), values));
    // NumPy's own files align their data to 64 bytes.
    EXPECT_EQ((slurp(folder / "t.npy").size() - values.size() * 4) % 64, 0u);
  }
  HostTensor integers = HostTensor::vector<int32_t>({-1, 7, 1 << 30});
  ASSERT_TRUE(writeNpy(folder / "i.npy", integers).ok());
  EXPECT_TRUE(std::ranges::equal(readNpy(folder / "i.npy")->values<int32_t>(), integers.values<int32_t>()));
}

TEST(FileTest, aLimitOnTheSizeOfFilesIsAnErrorThatLeavesWhatWasThere) {
  TemporaryFolder folder;
  spit(folder / "f", "before");
  auto handler = std::signal(SIGXFSZ, SIG_IGN); // as cli::beginProgram() does
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = {4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  Status status = writeFile(folder / "f", std::string(10'000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("File too large. `ulimit -f`"), std::string::npos) << status.message();
  EXPECT_EQ(slurp(folder / "f"), "before");
  EXPECT_EQ(folder.fileCount(), 1u);
}

TEST(JsonTest, readsValues) {
  auto json =
      parseJson(R"({"a": [1, -2, 2.5, "\u00e9", true, null, {}, []], "b": {"c": {"a": 18446744073709551615}}})", "x");
  ASSERT_TRUE(json.ok()) << json.message();
  EXPECT_EQ(json->dump(), R"({"a":[1,-2,2.5,"é",true,null,{},[]],"b":{"c":{"a":18446744073709551615}}})");
  EXPECT_EQ(parseJson("7", "x").value(), 7);
  EXPECT_EQ(parseOrderedJson(R"({"b": 1, "a": {"d": 2, "c": 3}})", "x")->dump(), R"({"b":1,"a":{"d":2,"c":3}})");
  EXPECT_EQ(parseOrderedJson(R"({"b": 1, "b": 2})", "x").message(), parseJson(R"({"b": 1, "b": 2})", "x").message());
}

TEST(JsonTest, refusesWhatIsNotJsonOrNestsDeeply) {
  auto message = [](const std::string &text) {
    auto json = parseJson(text, "'a.json'");
    return json.ok() ? std::string("accepted") : json.message();
  };
  auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(message(nested(kDeepestNesting)), "accepted");
  for (const std::string &deep : {nested(kDeepestNesting + 1), nested(200'000), std::string(200'000, '[')})
    EXPECT_EQ(message(deep), "'a.json' is not usable JSON: its values nest more than 64 deep.");
  std::string objects;
  for (int i = 0; i < 200'000; ++i)
    objects += "{\"a\":";
  EXPECT_NE(message(objects).find("64 deep"), std::string::npos);
  EXPECT_NE(message(R"({"a": 1, "b": {"a": 1}, "a": 1})").find("'a' occurs twice"), std::string::npos);
  for (const char *text : {"", "{", "[1,]", "nul", "NaN", "{\"a\": 1} 2", "\"\xff\""})
    EXPECT_NE(message(text).find("'a.json' is not usable JSON: parse error"), std::string::npos) << message(text);
  EXPECT_EQ(message("1e999"), "'a.json' is not usable JSON: number overflow parsing '1e999'.");
}

std::string npy(const std::string &header, size_t dataBytes) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  return text + header + std::string(dataBytes, '\0');
}

TEST(NpyTest, refusesOtherFiles) {
  TemporaryFolder folder;
  auto message = [&](const std::string &content) {
    spit(folder / "x.npy", content);
    auto result = readNpy(folder / "x.npy");
    return result.ok() ? std::string("accepted") : result.message();
  };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  EXPECT_EQ(message(npy(good, 8)), "accepted");
  EXPECT_NE(message(""), "accepted");
  EXPECT_NE(message("PK\x03\x04 a zip file of some kind"), "accepted");
  EXPECT_NE(message(npy(good, 7)), "accepted");
  EXPECT_NE(message(npy(good, 9)), "accepted");
  EXPECT_NE(message(npy(good, 8).substr(0, 30)), "accepted");
  EXPECT_NE(message(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 16)).find("'<f8'"),
            std::string::npos);
  EXPECT_NE(message(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", 8)).find("Fortran"),
            std::string::npos);
  EXPECT_NE(message(npy("{'descr': '<f4', 'shape': (9223372036854775807, 9), 'fortran_order': False}", 8)), "accepted");
  EXPECT_NE(message(npy("{'descr': '<f4', 'shape': (-2,), 'fortran_order': False}", 8)), "accepted");
  EXPECT_NE(message(npy("{'descr': '<f4', 'shape': (", 8)), "accepted");
  EXPECT_NE(message(npy("{", 8)), "accepted");
}

std::string safetensors(const std::string &header, size_t dataBytes, uint64_t claimed = ~uint64_t(0)) {
  uint64_t length = claimed == ~uint64_t(0) ? header.size() : claimed;
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text + header + std::string(dataBytes, '\0');
}

TEST(SafetensorsTest, roundTrips) {
  TemporaryFolder folder;
  auto writer = SafetensorsWriter::create(
      folder / "m", {{"b", ElementType::F32, {2, 2}}, {"a", ElementType::I32, {3}}, {"e", {}, {0}}}, {{"step", "17"}});
  ASSERT_TRUE(writer.ok()) << writer.message();
  std::vector<float> b = {1, 2, 3, 4};
  std::vector<int32_t> a = {5, 6, 7};
  ASSERT_TRUE(writer->write(std::as_bytes(std::span(b))).ok());
  ASSERT_TRUE(writer->write(std::as_bytes(std::span(a))).ok());
  ASSERT_TRUE(writer->commit().ok());

  auto reader = SafetensorsReader::open(folder / "m");
  ASSERT_TRUE(reader.ok()) << reader.message();
  EXPECT_EQ(reader->metadata().at("step"), "17");
  ASSERT_EQ(reader->entries().size(), 3u);
  EXPECT_EQ(reader->entries()[0].name, "b");
  EXPECT_EQ(reader->entries()[0].offset % 8, 0u);
  EXPECT_TRUE(std::ranges::equal(reader->read("b")->values<float>(), b));
  EXPECT_TRUE(std::ranges::equal(reader->read("a")->values<int32_t>(), a));
  EXPECT_EQ(reader->read("e")->shape(), Shape{0});
  EXPECT_FALSE(reader->read("c").ok());
}

// Numbers given in 16 bits are written so and read as f32.
TEST(SafetensorsTest, writesNumbersOf16Bits) {
  using Stored = SafetensorsEntry::Stored;
  for (auto [stored, type] : {std::pair(Stored::BF16, NarrowType::BF16), {Stored::F16, NarrowType::F16}}) {
    TemporaryFolder folder;
    SafetensorsEntry narrow{"n", ElementType::F32, {3}};
    narrow.stored = stored;
    auto writer = SafetensorsWriter::create(folder / "m", {narrow, {"w", ElementType::F32, {1}}});
    ASSERT_TRUE(writer.ok()) << writer.message();
    std::vector<float> values = {1.5f, -0x1.02p-10f, 0}, other = {0.1f};
    ASSERT_TRUE(writer->write(narrowAll(type, values)).ok());
    ASSERT_TRUE(writer->write(std::as_bytes(std::span(other))).ok());
    ASSERT_TRUE(writer->commit().ok());
    auto reader = SafetensorsReader::open(folder / "m");
    ASSERT_TRUE(reader.ok()) << reader.message();
    EXPECT_EQ(reader->find("n")->stored, stored);
    EXPECT_TRUE(std::ranges::equal(reader->read("n")->values<float>(), values));
    EXPECT_TRUE(std::ranges::equal(reader->read("w")->values<float>(), other));
  }
}

TEST(NarrowTest, roundsToNearest) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (auto [value, rounded] : std::vector<std::pair<float, float>>{{0.0f, 0.0f},
                                                                    {-0.0f, -0.0f},
                                                                    {1.0f, 1.0f},
                                                                    {0x1.01p0f, 0x1.00p0f},
                                                                    {0x1.03p0f, 0x1.04p0f},
                                                                    {0x1.010002p0f, 0x1.02p0f},
                                                                    {-0x1.fffffep0f, -2.0f},
                                                                    {0x1.fffffep127f, infinity},
                                                                    {infinity, infinity},
                                                                    {-infinity, -infinity},
                                                                    {0x1p-149f, 0.0f}})
    EXPECT_EQ(std::bit_cast<uint32_t>(widenBF16(narrowBF16(value))), std::bit_cast<uint32_t>(rounded)) << value;
  EXPECT_TRUE(std::isnan(widenBF16(narrowBF16(std::bit_cast<float>(0x7F800001u)))));
  EXPECT_TRUE(std::isnan(widenBF16(narrowBF16(std::bit_cast<float>(0xFFFFFFFFu)))));
}

// Every 16-bit number survives. The midpoint of two neighbours rounds to the even one, and numbers beside the midpoint
// round to the nearer one.
TEST(NarrowTest, roundsToF16) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits)
    if (!std::isnan(widenF16(uint16_t(bits))))
      ASSERT_EQ(narrowF16(widenF16(uint16_t(bits))), bits);
  for (uint16_t bits = 0; bits < 0x7BFF; ++bits) {
    float middle = (widenF16(bits) + widenF16(bits + 1)) / 2;
    ASSERT_EQ(narrowF16(middle), bits + bits % 2) << middle;
    ASSERT_EQ(narrowF16(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(narrowF16(-std::nextafter(middle, 65504.0f)), 0x8000 | (bits + 1));
  }
  EXPECT_EQ(narrowF16(65519.996f), 0x7BFF);
  EXPECT_EQ(narrowF16(65520.0f), 0x7C00);
  EXPECT_TRUE(std::isnan(widenF16(narrowF16(std::numeric_limits<float>::quiet_NaN()))));
}

// This took 25 s when the time was quadratic in the number of tensors.
TEST(SafetensorsTest, readsManyTensorsQuickly) {
  TemporaryFolder folder;
  std::string header = "{";
  for (int i = 0; i < 100'000; ++i)
    header += str(i ? "," : "", "\"tensor.", i, "\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}");
  spit(folder / "many", safetensors(header + "}", 0));
  auto begin = std::chrono::steady_clock::now();
  auto reader = SafetensorsReader::open(folder / "many");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  ASSERT_TRUE(reader.ok()) << reader.message();
  EXPECT_EQ(reader->entries().size(), 100'000u);
}

TEST(SafetensorsTest, refusesHugeAndNestedHeaders) {
  TemporaryFolder folder;
  auto message = [&](const std::string &header) {
    spit(folder / "x", safetensors(header, 0));
    auto reader = SafetensorsReader::open(folder / "x");
    return reader.ok() ? std::string("accepted") : reader.message();
  };
  EXPECT_NE(message(std::string((16 << 20) + 1, ' ')).find("16777216 are the most"), std::string::npos);
  std::string nested = message("{\"a\":" + std::string(200'000, '['));
  EXPECT_NE(nested.find("x' is not usable JSON: its values nest"), std::string::npos) << nested;
}

// Files that were downloaded instead of the intended one are named in the error.
TEST(SafetensorsTest, namesWhatIsNoFileOfItsKind) {
  TemporaryFolder folder;
  const std::pair<const char *, const char *> files[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", "is a git-lfs pointer"},
      {" \n<!DOCTYPE html><html>", "is a page of HTML"},
      {"<HTML lang=\"en\">", "is a page of HTML"},
      {"PK\x03\x04 archive/data.pkl", "is a zip archive"},
      {"\x1f\x8b\x08 model", "is a file compressed with gzip"}};
  for (auto [bytes, kind] : files) {
    spit(folder / "m", bytes);
    std::string weights = SafetensorsReader::open(folder / "m").message(),
                text = readFile(folder / "m", 1000).message(), array = readNpy(folder / "m").message();
    EXPECT_NE(array.find(kind), std::string::npos) << array;
    EXPECT_NE(weights.find(kind), std::string::npos) << weights;
    EXPECT_NE(text.find(kind), std::string::npos) << text;
  }
  spit(folder / "m", "version 2\n<html>");
  EXPECT_TRUE(readFile(folder / "m", 1000).ok());
}

TEST(SafetensorsTest, commitsOnlyWholeFiles) {
  TemporaryFolder folder;
  auto writer = SafetensorsWriter::create(folder / "m", {{"a", ElementType::I32, {3}}});
  ASSERT_TRUE(writer.ok());
  EXPECT_FALSE(writer->commit().ok());
  EXPECT_FALSE(SafetensorsWriter::create(folder / "m", {{"a", {}, {3}}, {"a", {}, {3}}}).ok());
  auto metadata = SafetensorsWriter::create(folder / "m", {{"__metadata__", {}, {3}}});
  ASSERT_FALSE(metadata.ok());
  EXPECT_NE(metadata.message().find("no tensor can be called '__metadata__'"), std::string::npos) << metadata.message();
}

TEST(SafetensorsTest, refusesOtherFiles) {
  TemporaryFolder folder;
  auto accepted = [&](const std::string &content) {
    spit(folder / "x", content);
    return SafetensorsReader::open(folder / "x").ok();
  };
  auto tensor = [](const char *rest) { return std::string("{\"a\":{\"dtype\":\"F32\",") + rest + "}}"; };
  EXPECT_TRUE(accepted(safetensors("{}", 0)));
  EXPECT_TRUE(accepted(safetensors(tensor("\"shape\":[2],\"data_offsets\":[0,8]"), 8)));
  EXPECT_FALSE(accepted(""));
  EXPECT_FALSE(accepted("abc"));
  EXPECT_FALSE(accepted(safetensors("[]", 0)));
  EXPECT_FALSE(accepted(safetensors("{", 0)));
  EXPECT_FALSE(accepted(safetensors("{}", 0, 3)));
  EXPECT_FALSE(accepted(safetensors("{}", 0, uint64_t(1) << 63)));
  EXPECT_FALSE(accepted(safetensors("{}", 4))) << "bytes of no tensor";
  EXPECT_FALSE(accepted(safetensors(tensor("\"shape\":[2],\"data_offsets\":[0,8]"), 4)));
  EXPECT_FALSE(accepted(safetensors(tensor("\"shape\":[2],\"data_offsets\":[4,12]"), 12))) << "a gap";
  EXPECT_FALSE(accepted(safetensors(tensor("\"shape\":[2],\"data_offsets\":[8,0]"), 8)));
  EXPECT_FALSE(accepted(safetensors(tensor("\"shape\":[3],\"data_offsets\":[0,8]"), 8)));
  EXPECT_FALSE(accepted(safetensors(tensor("\"shape\":[-2],\"data_offsets\":[0,8]"), 8)));
  EXPECT_FALSE(accepted(safetensors(tensor("\"shape\":[2],\"data_offsets\":[0]"), 8)));
  EXPECT_FALSE(accepted(safetensors(tensor("\"shape\":[9223372036854775807,8],\"data_offsets\":[0,8]"), 8)));
  EXPECT_FALSE(accepted(safetensors("{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8)));
  EXPECT_FALSE(accepted(safetensors("{\"a\":7}", 0)));
  EXPECT_FALSE(accepted(safetensors("{\"__metadata__\":{\"a\":1}}", 0)));
  std::string one = "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}";
  EXPECT_FALSE(accepted(safetensors("{" + one + "," + one + "}", 4))) << "the same name twice";
}

TEST(SafetensorsTest, widensHalves) {
  TemporaryFolder folder;
  // 1.5, -2^-24 (the smallest magnitude), 65504 (the largest), -infinity; then 1.5 and -3.140625 in bfloat16.
  const uint16_t halves[] = {0x3e00, 0x8001, 0x7bff, 0xfc00, 0x3fc0, 0xc049};
  std::string file = safetensors("{\"h\":{\"dtype\":\"F16\",\"shape\":[2,2],\"data_offsets\":[0,8]},"
                                 "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[8,12]}}",
                                 sizeof halves);
  std::memcpy(file.data() + file.size() - sizeof halves, halves, sizeof halves);
  spit(folder / "x", file);
  auto reader = SafetensorsReader::open(folder / "x");
  ASSERT_TRUE(reader.ok()) << reader.message();
  auto expect = [&](const char *name, const Shape &shape, std::vector<float> values) {
    Result<HostTensor> tensor = reader->read(name);
    ASSERT_TRUE(tensor.ok()) << tensor.message();
    EXPECT_EQ(tensor->shape(), shape);
    EXPECT_TRUE(std::ranges::equal(tensor->values<float>(), values)) << name;
  };
  expect("h", {2, 2}, {1.5f, -0x1p-24f, 65504.0f, -INFINITY});
  expect("b", {2}, {1.5f, -3.140625f});
  float second = 0;
  ASSERT_TRUE(reader->read(*reader->find("h"), 4, std::as_writable_bytes(std::span(&second, 1))).ok());
  EXPECT_EQ(second, -0x1p-24f) << "a part of a tensor";
}

TEST(SafetensorsTest, passesOverOtherTypesWhereAsked) {
  TemporaryFolder folder;
  spit(folder / "x", safetensors("{\"i\":{\"dtype\":\"I64\",\"shape\":[1,2],\"data_offsets\":[0,16]},"
                                 "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[16,20]}}",
                                 20));
  EXPECT_FALSE(SafetensorsReader::open(folder / "x").ok());
  auto reader = SafetensorsReader::open(folder / "x", OtherTypes::PassOver);
  ASSERT_TRUE(reader.ok()) << reader.message();
  EXPECT_EQ(reader->entries().size(), 1u);
  EXPECT_TRUE(reader->read("a").ok());
  EXPECT_FALSE(reader->read("i").ok());
  ASSERT_TRUE(reader->passedOver("i"));
  EXPECT_EQ(reader->passedOver("i")->type, "I64");
  EXPECT_FALSE(reader->passedOver("a"));
}

TEST(SafetensorsTest, survivesRandomDamage) {
  TemporaryFolder folder;
  std::string good = safetensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                                 "\"b\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[24,28]}}",
                                 28);
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    std::string bad = good.substr(0, i % 4 ? good.size() : random() % good.size());
    for (unsigned flips = 1 + random() % 3; !bad.empty() && flips; --flips)
      bad[random() % bad.size()] = static_cast<char>(random());
    spit(folder / "x", bad);
    auto reader = SafetensorsReader::open(folder / "x");
    if (!reader)
      continue;
    for (const SafetensorsEntry &entry : reader->entries())
      EXPECT_TRUE(reader->read(entry.name).ok());
  }
}

TEST(PublishedWeights, AreLeadingRowsAfterOthers) {
  const float values[] = {0, 1, 2, 3, 4, 5};
  HostTensor tensor = std::move(HostTensor::create({3, 2}, std::span<const float>(values))).value();
  auto take = [&](Shape shape, int64_t skipped) {
    WeightOrigin origin{.names = {"a"}, .shape = std::move(shape), .leadingRows = true, .skippedRows = skipped};
    Result<std::optional<HostTensor>> weight = takeWeight(tensor, origin);
    EXPECT_TRUE(weight.ok());
    std::span<const float> numbers = *weight ? (*weight)->values<float>() : std::span<const float>();
    return std::vector<float>(numbers.begin(), numbers.end());
  };
  EXPECT_EQ(take({2, 2}, 0), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(take({2, 2}, 1), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(take({2, 2}, 2), std::vector<float>()) << "the tensor has too few rows";
  EXPECT_EQ(take({2}, 2), (std::vector<float>{4, 5}));
  EXPECT_EQ(take({2}, 3), std::vector<float>());
}

TEST(PublishedWeights, AreColumnsOneAfterAnother) {
  const float values[] = {0, 1, 2, 3, 4, 5};
  HostTensor tensor = std::move(HostTensor::create({3, 2}, std::span<const float>(values))).value();
  WeightOrigin origin{.names = {"a"}, .shape = {6}, .isFlat = true};
  Result<std::optional<HostTensor>> weight = takeWeight(tensor, origin);
  ASSERT_TRUE(weight.ok() && *weight);
  std::span<const float> numbers = (*weight)->values<float>();
  EXPECT_EQ(std::vector<float>(numbers.begin(), numbers.end()), (std::vector<float>{0, 2, 4, 1, 3, 5}));
  ASSERT_TRUE(putWeight(**weight, origin, tensor));
  EXPECT_EQ(tensor.values<float>()[4], 4);
  origin.shape = {5};
  weight = takeWeight(tensor, origin);
  EXPECT_FALSE(weight.ok() && *weight);
}

} // namespace
} // namespace heddle
