#include "tools/heddle-run/report/EventFile.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::run;
using heddle::test::TemporaryFolder;

namespace {

// The example of RFC 3720, appendix B.4.
TEST(EventFile, Crc32c) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string ascending, descending;
  for (int i = 0; i < 32; ++i) {
    ascending += char(i);
    descending += char(31 - i);
  }
  EXPECT_EQ(crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(crc32c(descending), 0x113fdb5cu);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
}

TEST(EventFile, EachTrainingHasAFile) {
  TemporaryFolder folder;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(EventFile::create(folder.path() / "new/events", 0).ok());
  int files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder.path() / "new/events"))
    files += entry.path().filename().string().starts_with("events.out.tfevents.");
  EXPECT_EQ(files, 3);
  EXPECT_FALSE(EventFile::create(folder.write("file", ""), 0).ok());
}

} // namespace
