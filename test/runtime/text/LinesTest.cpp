#include "runtime/text/Lines.h"
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

TEST(Lines, ParallelFilesAreOfOneLength) {
  TemporaryFolder folder;
  auto text = readParallelText(folder.write("a", "1\n2\n3\n"), folder.write("b", "1\n2\n"));
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.message().find("3 lines"), std::string::npos) << text.message();
  EXPECT_NE(text.message().find("has 2;"), std::string::npos) << text.message();
}

} // namespace
