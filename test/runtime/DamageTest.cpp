// Artifacts that are damaged at every byte, or are other files: errors, and no harm.
#include "runtime/schema/Constants.h"
#include "runtime/schema/Seal.h"
#include "test/runtime/BrokenArtifacts.h"
#include "test/runtime/TemporaryFolder.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace heddle {
namespace {

using namespace heddle::test;

// Reads everything that a session and heddle-inspect read.
size_t touch(const Artifact &artifact) {
  std::unique_ptr<schema::ModuleT> all(artifact.module().UnPack());
  size_t sum = artifact.description().size();
  for (const schema::Target *target : *artifact.module().targets())
    for (uint32_t i = 0; i < target->kernels()->size(); ++i)
      for (uint32_t word : artifact.code(*target, i).words)
        sum += word & 1;
  for (const schema::Variable *variable : *artifact.module().variables())
    sum += maximumShape(artifact.module(), *variable->type()).size();
  return sum + all->entries.size();
}

void expectNoHarm(std::vector<std::byte> bytes, size_t &accepted) {
  auto artifact = Artifact::fromBytes(std::move(bytes), "x.heddle");
  if (!artifact)
    return;
  ++accepted;
  EXPECT_GT(touch(**artifact), 0u);
}

TEST(DamageTest, everyTruncationIsRefused) {
  std::vector<std::byte> good = buildAdder();
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(verdict({good.begin(), good.begin() + static_cast<ptrdiff_t>(size)}), "accepted") << size;
}

TEST(DamageTest, everyFlippedByteOfASealedFileIsRefused) {
  std::vector<std::byte> good = buildAdder();
  const auto *data = reinterpret_cast<const uint8_t *>(good.data());
  auto field = static_cast<size_t>(schema::sealField(data) - data);
  for (size_t at = 0; at < good.size(); ++at)
    for (uint8_t mask : {0x01, 0x80, 0xff}) {
      std::vector<std::byte> bad = good;
      bad[at] ^= std::byte(mask);
      EXPECT_NE(verdict(std::move(bad)), "accepted") << "byte " << at << (at - field < 8 ? ", in the seal" : "");
    }
}

// An adder without a seal, with conditions on calls, and with its code packed or not.
std::vector<std::byte> unsealed(bool packs) {
  return test::changed(buildAdder(), [&](schema::ModuleT &m) {
    test::addSegments(m);
    if (packs)
      for (auto &target : m.targets)
        test::packCode(*target);
  });
}

class UnsealedTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Code, UnsealedTest, testing::Bool(),
                         [](const auto &info) { return info.param ? "packed" : "own"; });

TEST_P(UnsealedTest, flippedBytesDoNoHarm) {
  std::vector<std::byte> good = unsealed(GetParam());
  size_t accepted = 0;
  for (size_t at = 0; at < good.size(); ++at)
    for (uint8_t mask : {0x01, 0x04, 0x10, 0x80, 0xff}) {
      std::vector<std::byte> bad = good;
      bad[at] ^= std::byte(mask);
      expectNoHarm(std::move(bad), accepted);
    }
  RecordProperty("accepted", static_cast<int>(accepted)); // e.g. changed names, or numbers that may have any value
}

TEST_P(UnsealedTest, randomWordsDoNoHarm) {
  std::vector<std::byte> good = unsealed(GetParam());
  std::mt19937 random(7);
  const uint32_t interesting[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0, 8, 0x10000};
  size_t accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bad = good;
    for (unsigned words = 1 + random() % 4; words; --words) {
      uint32_t word = random() % 2 ? interesting[random() % std::size(interesting)] : static_cast<uint32_t>(random());
      std::memcpy(&bad[random() % (bad.size() / 4) * 4], &word, 4);
    }
    expectNoHarm(std::move(bad), accepted);
  }
}

TEST(DamageTest, foreignFilesGetAnErrorOfOneParagraph) {
  test::TemporaryFolder folder;
  for (const std::string &content : {std::string(), std::string("HDL1"), std::string(4096, '\0'),
                                     std::string("\x7f"
                                                 "ELF",
                                                 4),
                                     std::string("[model]\nd_model = 512\n"), std::string(100000, 'x')}) {
    test::spit(folder / "f.heddle", content);
    auto artifact = Artifact::load(folder / "f.heddle");
    ASSERT_FALSE(artifact.ok());
    EXPECT_EQ(artifact.message().find('\n'), std::string::npos);
    EXPECT_NE(artifact.message().find("heddle-compile"), std::string::npos) << artifact.message();
  }
  EXPECT_EQ(Artifact::load(folder / "absent").error().kind, ErrorKind::NotFound);
  EXPECT_FALSE(Artifact::load(folder.path()).ok());
}

TEST(DamageTest, K3_refusesSharedCode) {
  // 200 kernels share the same megabyte: a small file that would take long to read.
  flatbuffers::FlatBufferBuilder fb;
  std::vector<uint32_t> words = test::testKernel("add");
  words.insert(words.begin() + 5, 1 << 18, 1u << 16); // OpNop, one word each
  auto shared = fb.CreateVector(words);
  std::vector<flatbuffers::Offset<schema::Kernel>> kernels;
  for (int i = 0; i < 200; ++i) {
    auto name = fb.CreateString("k" + std::to_string(i));
    kernels.push_back(schema::CreateKernel(fb, name, 8, shared));
  }
  std::vector targets{schema::CreateTargetDirect(fb, "vulkan:portable", &kernels, 0)};
  std::vector<flatbuffers::Offset<schema::Size>> sizes;
  std::vector<flatbuffers::Offset<schema::Variable>> variables;
  std::vector<flatbuffers::Offset<schema::Entry>> entries;
  schema::FinishModuleBuffer(
      fb, schema::CreateModuleDirect(fb, schema::kSchemaVersion, "", "", &sizes, &variables, &entries, &targets));
  const auto *begin = reinterpret_cast<const std::byte *>(fb.GetBufferPointer());
  EXPECT_NE(verdict({begin, begin + fb.GetSize()}).find("share their code"), std::string::npos);
}

} // namespace
} // namespace heddle
