#include "runtime/text/InputLines.h"

#include "runtime/core/Log.h"

#include <gtest/gtest.h>

#include <csignal>
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

TEST_F(InputLinesTest, ALineThatIsCutIsToldOf) {
  std::vector<std::string> said;
  setLogSink([&](LogLevel, std::string_view text) { said.emplace_back(text); });
  InputLines input(ends[0]);
  std::thread writer([&] {
    write("short\n" + std::string(2 * InputLines::kLongestLine, 'x') + "\nshort\n");
    close();
  });
  for (int i = 0; i < 3; ++i)
    next(input, 1);
  writer.join();
  setLogSink(nullptr);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], "line 2 of the standard input is longer than 1 MiB: the rest of it is left out");
}

TEST_F(InputLinesTest, OtherEncodings) {
  using namespace std::string_literals;
  {
    InputLines input(ends[0]);
    write("\xef\xbb\xbfone\n\xef\xbb\xbftwo\n");
    EXPECT_EQ(next(input, 2), (Lines{"one", "\xef\xbb\xbftwo"})) << "a byte order mark is no text";
  }
  InputLines input(ends[0]);
  write("\xff\xfeo\0\n\0"s);
  auto lines = input.next(1);
  ASSERT_FALSE(lines.ok());
  EXPECT_NE(lines.message().find("the standard input is text in UTF-16"), std::string::npos) << lines.message();
}

TEST_F(InputLinesTest, WholeLines) {
  InputLines input(ends[0], InputLines::LongLines::Whole);
  std::thread writer([&] {
    write("a\n" + std::string(3 * InputLines::kLongestLine, 'x') + "\nb\n" + std::string(1'500'000, 'y'));
    close();
  });
  EXPECT_EQ(next(input, 1), (Lines{"a"}));
  EXPECT_EQ(next(input, 1), (Lines{std::string(3 * InputLines::kLongestLine, 'x')}));
  EXPECT_EQ(next(input, 2), (Lines{"b", std::string(1'500'000, 'y')}));
  writer.join();
}

TEST_F(InputLinesTest, AWholeLineHasALimit) {
  InputLines input(ends[0], InputLines::LongLines::Whole);
  std::thread writer([&] {
    std::string portion(1 << 20, 'x');
    ::signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i <= InputLines::kLongestWholeLine; i += portion.size())
      write(portion);
    close();
  });
  auto line = input.next(1);
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.message(), "line 1 of the standard input is longer than 64 MiB; divide it into several lines.");
  char rest[1 << 16];
  while (::read(ends[0], rest, sizeof rest) > 0)
    ;
  writer.join();
}

} // namespace
