#include "runtime/text/ByteStream.h"
#include "runtime/text/LineBlocks.h"
#include "runtime/text/Lines.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <zlib.h>
#include <zstd.h>

#include <chrono>
#include <fcntl.h>
#include <future>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace heddle;
using heddle::test::TemporaryFolder;
using Strings = std::vector<std::string>;

namespace {

std::string gzip(const std::string &text) {
  std::string out(compressBound(text.size()) + 64, '\0');
  z_stream state{};
  deflateInit2(&state, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  state.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
  state.avail_in = uInt(text.size());
  state.next_out = reinterpret_cast<Bytef *>(out.data());
  state.avail_out = uInt(out.size());
  EXPECT_EQ(deflate(&state, Z_FINISH), Z_STREAM_END);
  out.resize(state.total_out);
  deflateEnd(&state);
  return out;
}

std::string zstd(const std::string &text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string makeLines(int count, int seed) {
  std::mt19937 random{uint32_t(seed)};
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += std::to_string(i);
    for (uint32_t words = random() % 12; words > 0; --words)
      text += " w" + std::to_string(random() % 1000);
    text += '\n';
  }
  return text;
}

TEST(Compressed, LinesAreThoseOfTheText) {
  TemporaryFolder folder;
  std::string text = makeLines(60'000, 1); // several portions of a reader
  Strings expected = readLines(folder.write("plain", text)).value();
  ASSERT_EQ(expected.size(), 60'000u);
  EXPECT_EQ(readLines(folder.write("a.gz", gzip(text))).value(), expected);
  EXPECT_EQ(readLines(folder.write("a.zst", zstd(text))).value(), expected);
  EXPECT_EQ(readLines(folder.write("misnamed.txt", zstd(text))).value(), expected);
  EXPECT_EQ(readLines(folder.write("empty.gz", gzip(""))).value(), Strings());
  EXPECT_EQ(readLines(folder.write("empty.zst", zstd(""))).value(), Strings());
}

// Files like those of `cat a.gz b.gz` and of parallel compressors.
TEST(Compressed, PartsFollowEachOther) {
  TemporaryFolder folder;
  for (auto compress : {gzip, zstd})
    EXPECT_EQ(readLines(folder.write("f", compress("one\nt") + compress("") + compress("wo\nthree"))).value(),
              (Strings{"one", "two", "three"}));
}

TEST(Compressed, DamageIsAnError) {
  TemporaryFolder folder;
  std::string text = makeLines(20'000, 2);
  for (auto compress : {gzip, zstd}) {
    std::string whole = compress(text);
    for (size_t size : {whole.size() - 1, whole.size() / 2, size_t(10)}) {
      auto lines = readLines(folder.write("cut", whole.substr(0, size)));
      ASSERT_FALSE(lines.ok()) << size << " of " << whole.size();
      EXPECT_NE(lines.message().find("ends early"), std::string::npos) << lines.message();
    }
    std::string broken = whole;
    for (size_t i = broken.size() / 2; i < broken.size() / 2 + 50; ++i)
      broken[i] = char(~broken[i]);
    auto lines = readLines(folder.write("broken", broken));
    EXPECT_FALSE(lines.ok());
  }
}

TEST(Lines, AFileWithoutLinesIsNoText) {
  TemporaryFolder folder;
  auto lines = readLines(folder.write("zeros.gz", gzip(std::string(70 << 20, 'x'))));
  ASSERT_FALSE(lines.ok());
  EXPECT_NE(lines.message().find("longer than 64 MiB"), std::string::npos) << lines.message();
}

class LineBlocksTest : public testing::Test {
protected:
  Result<LineBlocks> open(const std::filesystem::path &source, const std::filesystem::path &target) {
    return LineBlocks::open(source, target, folder.path());
  }

  // Reads all lines, block after block.
  static ParallelText readAll(const LineBlocks &blocks) {
    ParallelText all;
    for (size_t i = 0; i < blocks.blocks(); ++i) {
      EXPECT_EQ(blocks.firstLineOf(i), all.source.size() + 1);
      ParallelText part = blocks.read(i).value();
      EXPECT_EQ(part.source.size(), blocks.linesOf(i));
      all.source.insert(all.source.end(), part.source.begin(), part.source.end());
      all.target.insert(all.target.end(), part.target.begin(), part.target.end());
    }
    return all;
  }

  TemporaryFolder folder;
};

TEST_F(LineBlocksTest, BlocksAreTheLines) {
  bool held = rc::check([this] {
    int count = *rc::gen::inRange(0, 400);
    std::string end = *rc::gen::element<std::string>("", "\n", "\r\n"), text[2];
    for (std::string &side : text) {
      if (count != 0 && *rc::gen::arbitrary<bool>())
        side = "\xef\xbb\xbf";
      for (int i = 0; i < count; ++i)
        side += *rc::gen::element<std::string>("", "a", "eins zwei", " \t", "\xc3\xa4") +
                (i + 1 < count ? *rc::gen::element<std::string>("\n", "\r\n")
                 : end.empty() ? "x"
                               : end);
    }
    auto a = folder.write("a", text[0]), b = folder.write("b", text[1]);
    ParallelText expected = readParallelText(a, b).value();
    LineBlocks plain = std::move(open(a, b)).value();
    RC_ASSERT(plain.lines() == uint64_t(count));
    ParallelText got = readAll(plain);
    RC_ASSERT(got.source == expected.source);
    RC_ASSERT(got.target == expected.target);

    // The compressed files are the same corpus, and leave no visible copy.
    LineBlocks packed =
        std::move(open(folder.write("a.gz", gzip(text[0])), folder.write("b.zst", zstd(text[1])))).value();
    got = readAll(packed);
    RC_ASSERT(got.source == expected.source);
    RC_ASSERT(got.target == expected.target);
    RC_ASSERT(packed.fingerprint() == plain.fingerprint());
  });
  EXPECT_TRUE(held);
  size_t files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder.path()))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 4u);
}

TEST_F(LineBlocksTest, FingerprintSeesOrderAndPlace) {
  auto print = [&](std::string_view source, std::string_view target) {
    return open(folder.write("s", source), folder.write("t", target))->fingerprint();
  };
  std::string first = print("a\nb\n", "c\nd\n");
  EXPECT_EQ(first, print("a\nb", "c\r\nd\n"));
  EXPECT_NE(first, print("b\na\n", "c\nd\n"));
  EXPECT_NE(first, print("c\nd\n", "a\nb\n"));
  EXPECT_NE(print("ab\n\n", "c\nd\n"), print("a\nb\n", "c\nd\n"));
}

TEST_F(LineBlocksTest, UnequalFilesNameBothCounts) {
  for (bool packed : {false, true}) {
    std::string three = "a\nb\nc\n", one = "a\n";
    auto blocks = open(folder.write("s", packed ? gzip(three) : three), folder.write("t", packed ? zstd(one) : one));
    ASSERT_FALSE(blocks.ok());
    EXPECT_NE(blocks.message().find("has 3 lines"), std::string::npos) << blocks.message();
    EXPECT_NE(blocks.message().find("has 1;"), std::string::npos) << blocks.message();
  }
}

TEST_F(LineBlocksTest, AChangedFileIsSeen) {
  auto path = folder.write("s", makeLines(1'000, 3));
  LineBlocks blocks = std::move(open(path, folder.write("t", makeLines(1'000, 4)))).value();
  ASSERT_TRUE(blocks.read(5).ok());
  std::filesystem::resize_file(path, 2'000);
  auto lines = blocks.read(blocks.blocks() - 1);
  ASSERT_FALSE(lines.ok());
  EXPECT_NE(lines.message().find("has changed"), std::string::npos) << lines.message();
}

// Neither the list of blocks nor the memory for reading them grows with the file.
TEST_F(LineBlocksTest, MemoryIsConstant) {
  const uint64_t lines = 9'000'000; // more than twice 65,536 blocks of 64 lines
  auto path = folder.path() / "s";
  {
    std::ofstream out(path, std::ios::binary);
    std::string portion = makeLines(100'000, 5);
    for (uint64_t i = 0; i < lines / 100'000; ++i)
      out << portion;
  }
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  LineBlocks blocks = std::move(open(path, path)).value();
  EXPECT_EQ(blocks.lines(), lines);
  EXPECT_EQ(blocks.linesPerBlock(), 256u);
  EXPECT_EQ(blocks.read(40).value().source[16], blocks.read(40).value().target[16]);
  for (size_t i = 0; i < blocks.blocks(); i += 100) {
    ParallelText text = blocks.read(i).value();
    // Each line begins with its number within the portion.
    ASSERT_TRUE(text.source[0].starts_with(std::to_string((blocks.firstLineOf(i) - 1) % 100'000)));
  }
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 16 * 1024)
      << "KiB for a file of " << std::filesystem::file_size(path) / 1024;
}

// A pipe without a writer is an error; a slow writer is not.
TEST(Lines, APipeWithoutAWriter) {
  TemporaryFolder folder;
  std::filesystem::path alone = folder.path() / "alone", slow = folder.path() / "slow";
  ASSERT_EQ(::mkfifo(alone.c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(slow.c_str(), 0600), 0);
  std::thread writer([&] {
    int file = ::open(slow.c_str(), O_WRONLY);
    std::this_thread::sleep_for(std::chrono::milliseconds(3300));
    EXPECT_EQ(::write(file, "late\n", 5), 5);
    ::close(file);
  });
  auto reader = std::async(std::launch::async, [&] { return LineReader::open(slow); });
  auto nobody = LineReader::open(alone);
  ASSERT_FALSE(nobody.ok());
  EXPECT_NE(nobody.message().find("is a pipe that no program has written to for 3 seconds"), std::string::npos)
      << nobody.message();
  auto late = reader.get();
  ASSERT_TRUE(late.ok()) << late.message();
  std::string line;
  EXPECT_TRUE(late->next(line));
  EXPECT_EQ(line, "late");
  EXPECT_FALSE(late->next(line));
  EXPECT_TRUE(late->status().ok());
  writer.join();
}

} // namespace
