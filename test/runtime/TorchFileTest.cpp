// Files of torch.save: the zip archive and the pickle in it.
#include "runtime/core/TorchFile.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>

namespace heddle {
namespace {

using test::TemporaryFolder;

template <typename T> std::string le(T value) {
  std::string bytes(sizeof(T), 0);
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// A zip archive of files, neither compressed nor with checksums.
std::string zip(const std::vector<std::pair<std::string, std::string>> &files, uint16_t method = 0) {
  std::string all, directory;
  for (const auto &[name, bytes] : files) {
    std::string numbers = le(uint16_t(0)) + le(method) + le(uint32_t(0)) + le(uint32_t(0)) +
                          le(uint32_t(bytes.size())) + le(uint32_t(bytes.size())) + le(uint16_t(name.size())) +
                          le(uint16_t(0));
    directory += "PK\x01\x02" + le(uint16_t(20)) + le(uint16_t(20)) + numbers + std::string(10, 0) +
                 le(uint32_t(all.size())) + name;
    all += "PK\x03\x04" + le(uint16_t(20)) + numbers + name + bytes;
  }
  std::string end = "PK\x05\x06" + std::string(4, 0) + le(uint16_t(files.size())) + le(uint16_t(files.size())) +
                    le(uint32_t(directory.size())) + le(uint32_t(all.size())) + std::string(2, 0);
  return all + directory + end;
}

std::string text(std::string_view value) { return "X" + le(uint32_t(value.size())) + std::string(value); }
std::string whole(uint16_t value) { return "M" + le(value); }

// The pickle's operations for a tensor of a storage with 6 numbers.
std::string tensor(std::string_view type, std::string_view key, uint16_t offset, std::string_view size,
                   std::string_view strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + std::string(type) + "Storage\n" +
         text(key) + text("cpu") + whole(6) + "tQ" + whole(offset) + std::string(size) + std::string(strides) +
         "\x89"
         "ccollections\nOrderedDict\n)RtR";
}

std::string pickleOf(const std::string &items) {
  return "\x80\x02"
         "ccollections\nOrderedDict\n)R(" +
         items + "u.";
}

std::string tuple(uint16_t a, uint16_t b) { return whole(a) + whole(b) + "\x86"; }

std::string archiveOf(const std::string &pickle) {
  std::string floats, halves;
  for (float number : {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}) {
    floats += le(number);
    halves += le(uint16_t(std::bit_cast<uint32_t>(number) >> 16));
  }
  return zip(
      {{"model/data.pkl", pickle}, {"model/data/0", floats}, {"model/data/1", halves}, {"model/byteorder", "little"}});
}

const std::string kTwo = text("a.weight") + tensor("Float", "0", 2, tuple(2, 2), tuple(2, 1)) + text("b") +
                         tensor("BFloat16", "1", 0, whole(6) + "\x85", whole(1) + "\x85");

class TorchFile : public testing::Test {
protected:
  std::string errorOf(const std::string &bytes) const {
    Result<TorchReader> reader = TorchReader::open(folder.write("model.bin", bytes));
    return reader.ok() ? "none" : reader.error().message;
  }
  std::string errorOfPickle(const std::string &pickle) const { return errorOf(archiveOf(pickle)); }
  void expectError(const std::string &error, std::string_view part) const {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  }

  TemporaryFolder folder;
};

TEST_F(TorchFile, HasTensors) {
  Result<TorchReader> reader = TorchReader::open(folder.write("model.bin", archiveOf(pickleOf(kTwo))));
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  ASSERT_EQ(reader->entries().size(), 2u);
  auto read = [&](const char *name) {
    Result<HostTensor> tensor = reader->read(*reader->find(name));
    EXPECT_TRUE(tensor.ok());
    std::span<const float> numbers = tensor->values<float>();
    return std::vector<float>(numbers.begin(), numbers.end());
  };
  EXPECT_EQ(reader->find("a.weight")->shape, (Shape{2, 2}));
  EXPECT_EQ(read("a.weight"), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(read("b"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(reader->find("c"), nullptr);
}

TEST_F(TorchFile, OtherTypesAreNotRead) {
  std::string items = text("a") + tensor("Int", "0", 0, whole(6) + "\x85", whole(1) + "\x85");
  Result<TorchReader> reader = TorchReader::open(folder.write("model.bin", archiveOf(pickleOf(items))));
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  Result<HostTensor> tensor = reader->read(*reader->find("a"));
  ASSERT_FALSE(tensor.ok());
  expectError(tensor.error().message, "numbers of type Int");
}

TEST_F(TorchFile, OnlyTensorsThatAreReadAreInRowOrder) {
  std::string items = text("a") + tensor("Float", "0", 0, tuple(2, 3), tuple(1, 2)) + text("b") +
                      tensor("Float", "0", 0, tuple(3, 0), tuple(7, 7)) + text("c") +
                      tensor("Float", "0", 0, tuple(1, 2), tuple(9, 1));
  Result<TorchReader> reader = TorchReader::open(folder.write("model.bin", archiveOf(pickleOf(items))));
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  Result<HostTensor> tensor = reader->read(*reader->find("a"));
  ASSERT_FALSE(tensor.ok());
  expectError(tensor.error().message, "has 'a' in another order than row by row");
  EXPECT_TRUE(reader->read(*reader->find("b")).ok());
  EXPECT_TRUE(reader->read(*reader->find("c")).ok());
}

TEST_F(TorchFile, TablesAreLimited) {
  std::string one = tensor("Float", "0", 0, tuple(1, 2), tuple(2, 1));
  EXPECT_EQ(errorOfPickle(pickleOf(text(std::string(1024, 'a')) + one)), "none");
  expectError(errorOfPickle(pickleOf(text(std::string(1025, 'a')) + one)), "names of at most 1024");
  expectError(errorOfPickle(pickleOf(text("a") + one + text("a") + one)), "has two entries 'a'");
  for (char code : {'N', '(', ')'})
    expectError(errorOfPickle("\x80\x02" + std::string(1'000'001, code)), "more than 1000000 values");
}

TEST_F(TorchFile, NothingIsExecuted) {
  std::string mark = (folder / "executed").string();
  std::string call = "cos\nsystem\n" + text("touch " + mark) + "\x85R";
  expectError(errorOfPickle("\x80\x02" + call + "."),
              "a reference to 'os.system', which a table of tensors does not need");
  expectError(errorOfPickle(pickleOf(text("a") + call)), "'os.system'");
  expectError(errorOfPickle("\x80\x04" + text("os") + text("system") + "\x93."), "'os.system'");
  expectError(errorOfPickle("\x80\x02"
                            "cbuiltins\neval\n" +
                            text("1") + "\x85R."),
              "'builtins.eval'");
  EXPECT_FALSE(std::filesystem::exists(mark));
  for (const char *code : {"i", "o", "\x81", "\x92", "P", "\x82", "\x97", "I", "S", "V", "d", "l"})
    expectError(errorOfPickle("\x80\x02(" + std::string(code) + "os\nsystem\n."), "has the operation ");
  expectError(errorOfPickle(pickleOf("") + "x"), "holds no table of tensors"); // what follows the end is not read
  expectError(errorOfPickle("\x80\x02"
                            "ctorch._utils\n_rebuild_tensor_v2\n)R."),
              "with other arguments");
}

TEST_F(TorchFile, DamagedFiles) {
  std::string good = archiveOf(pickleOf(kTwo));
  EXPECT_EQ(errorOf(good), "none");
  expectError(errorOf("\x80\x02}."), "is not a zip archive");
  expectError(errorOf(good.substr(0, good.size() - 30)), "download it again");
  expectError(errorOf(zip({{"model/other", "x"}})), "without data.pkl");
  expectError(errorOf(zip({{"model/data.pkl", pickleOf(kTwo)}}, 8)), "compressed or encrypted");
  expectError(errorOf(zip({{"model/data.pkl", pickleOf(kTwo)}, {"model/byteorder", "big"}})), "big-endian");
  expectError(errorOf(zip({{"model/data.pkl", pickleOf(kTwo)}})), "lacks the numbers of the tensor 'a.weight'");
  auto shaped = [&](uint16_t offset, const std::string &size, const std::string &strides) {
    return errorOfPickle(pickleOf(text("a") + tensor("Float", "0", offset, size, strides)));
  };
  expectError(shaped(3, tuple(2, 2), tuple(2, 1)), "has fewer numbers than the tensor 'a'");
  expectError(shaped(0, whole(2) + "\x85", tuple(1, 2)), "in no form that torch.save writes");
  expectError(errorOfPickle("\x80\x02R."), "an operation lacks its operands");
  expectError(errorOfPickle("\x80\x02h\x01."), "recalls a value");
  expectError(errorOfPickle("\x80\x02X\xff\xff\xff\xff."), "ends within an operation");
}

TEST_F(TorchFile, Mutations) {
  std::string good = archiveOf(pickleOf(kTwo));
  std::mt19937 random(48);
  for (int i = 0; i < 20'000; ++i) {
    std::string bad = good;
    for (uint32_t changes = 1 + random() % 4; changes > 0; --changes)
      bad[random() % bad.size()] = char(random());
    if (random() % 8 == 0)
      bad.resize(random() % bad.size());
    Result<TorchReader> reader = TorchReader::open(folder.write("model.bin", bad));
    if (!reader)
      continue;
    for (const auto &[name, entry] : reader->entries())
      if (Result<HostTensor> tensor = reader->read(entry); tensor.ok())
        EXPECT_LE(tensor->bytes().size(), 2 * bad.size());
  }
}

} // namespace
} // namespace heddle
