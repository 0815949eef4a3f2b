#include "runtime/text/Lines.h"

#include "runtime/core/Log.h"
#include "runtime/text/LineBlocks.h"
#include "runtime/tokenizers/Tokenizer.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace heddle;
using heddle::test::TemporaryFolder;
using Strings = std::vector<std::string>;

namespace {

TEST(Lines, EndsOfLines) {
  TemporaryFolder folder;
  auto lines = [&](std::string_view text) { return readLines(folder.write("f", text)).value(); };
  EXPECT_EQ(lines(""), Strings());
  EXPECT_EQ(lines("a\n\nb"), (Strings{"a", "", "b"}));
  EXPECT_EQ(lines("a\r\nb\r\n"), (Strings{"a", "b"}));
  EXPECT_EQ(lines("\xef\xbb\xbfone\ntwo\n"), (Strings{"one", "two"}));
}

TEST(Lines, MissingFile) {
  TemporaryFolder folder;
  auto lines = readLines(folder.path() / "none");
  ASSERT_FALSE(lines.ok());
  EXPECT_NE(lines.message().find("No such file"), std::string::npos) << lines.message();
  EXPECT_FALSE(readLines(folder.path()).ok()) << "a folder is no text file";
}

// Files that are not text are errors that name their kind. A page of HTML may be text.
TEST(Lines, FilesOfOtherKinds) {
  using namespace std::string_view_literals;
  TemporaryFolder folder;
  const std::pair<std::string_view, const char *> files[] = {
      {"\xff\xfeo\0n\0e\0\n\0"sv, "is text in UTF-16"},
      {"\xfe\xff\0o\0n"sv, "is text in UTF-16"},
      {"\xff\xfe\0\0o\0\0\0"sv, "is text in UTF-32"},
      {"\xfd"
       "7zXZ\0abc"sv,
       "is a file compressed with xz"},
      {"BZh91AY&SY\x01\x02", "is a file compressed with bzip2"},
      {"PK\x03\x04\x14", "is a zip archive"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", "is a git-lfs pointer"}};
  for (auto [bytes, kind] : files) {
    auto lines = readLines(folder.write("f", bytes));
    ASSERT_FALSE(lines.ok()) << kind;
    EXPECT_NE(lines.message().find(kind), std::string::npos) << lines.message();
    EXPECT_FALSE(LineBlocks::open(folder.path() / "f", folder.path(), BlockBegin::AnyLine).ok());
    EXPECT_FALSE(Tokenizer::load(folder.path() / "f").ok());
  }
  EXPECT_EQ(readLines(folder.write("f", "BZh is a word\nPK")).value(), (Strings{"BZh is a word", "PK"}));
  EXPECT_EQ(readLines(folder.write("f", "a\n\xff\xfe\n")).value().size(), 2u) << "a mark elsewhere is no mark";
  std::vector<std::string> said;
  setLogSink([&](LogLevel, std::string_view text) { said.emplace_back(text); });
  EXPECT_EQ(readLines(folder.write("f", "<!DOCTYPE html>\n<p>\n")).value().size(), 2u);
  setLogSink(nullptr);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("is a page of HTML"), std::string::npos);
}

TEST(Lines, ParallelFilesAreOfOneLength) {
  TemporaryFolder folder;
  auto text = readParallelText(folder.write("a", "1\n2\n3\n"), folder.write("b", "1\n2\n"));
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.message().find("3 lines"), std::string::npos) << text.message();
  EXPECT_NE(text.message().find("has 2;"), std::string::npos) << text.message();
}

} // namespace
