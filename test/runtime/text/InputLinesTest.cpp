#include "runtime/text/InputLines.h"

#include <gtest/gtest.h>

#include <thread>
#include <unistd.h>

using namespace heddle;
using Lines = std::vector<std::string>;

namespace {

class InputLinesTest : public testing::Test {
protected:
  InputLinesTest() { EXPECT_EQ(::pipe(ends), 0); }
  ~InputLinesTest() override {
    ::close(ends[0]);
    close();
  }

  void write(const std::string &text) {
    for (size_t done = 0; done < text.size();)
      done += size_t(::write(ends[1], text.data() + done, text.size() - done));
  }
  void close() {
    if (ends[1] >= 0)
      ::close(ends[1]);
    ends[1] = -1;
  }
  Lines next(InputLines &input, size_t limit, InputLines::Wait wait = InputLines::Wait::ForOne) {
    auto lines = input.next(limit, wait);
    EXPECT_TRUE(lines.ok());
    return *lines;
  }

  int ends[2];
};

TEST_F(InputLinesTest, TakesWhatIsThere) {
  InputLines input(ends[0]);
  write("one\r\n\ntwo\nthr");
  EXPECT_EQ(next(input, 2), (Lines{"one", ""}));
  EXPECT_EQ(next(input, 9), (Lines{"two"}));
  EXPECT_EQ(next(input, 9, InputLines::Wait::No), Lines());
  EXPECT_FALSE(input.ended());
  write("ee");
  close();
  EXPECT_EQ(next(input, 9), (Lines{"three"}));
  EXPECT_EQ(next(input, 9), Lines());
  EXPECT_TRUE(input.ended());
}

TEST_F(InputLinesTest, EndWithoutWaiting) {
  InputLines input(ends[0]);
  close();
  EXPECT_EQ(next(input, 9, InputLines::Wait::No), Lines());
  EXPECT_TRUE(input.ended());
}

TEST_F(InputLinesTest, EndlessLinesAreCut) {
  InputLines input(ends[0]);
  std::thread writer([&] {
    write(std::string(3 * InputLines::kLongestLine, 'x') + "\nshort\n" +
          std::string(InputLines::kLongestLine + 5, 'y'));
    close();
  });
  EXPECT_EQ(next(input, 1), (Lines{std::string(InputLines::kLongestLine, 'x')}));
  EXPECT_EQ(next(input, 1), (Lines{"short"}));
  Lines last = next(input, 1);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].substr(0, InputLines::kLongestLine), std::string(InputLines::kLongestLine, 'y'));
  writer.join();
}

} // namespace
