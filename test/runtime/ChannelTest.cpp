// How ranks send messages to each other.
#include "runtime/ranks/Channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace heddle {
namespace {

// A stopped process reads nothing. The process that watches it must go on.
TEST(ChannelTest, sendingDoesNotWaitForTheOtherEnd) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Channel sender(ends[0]), receiver(ends[1]);
  const uint32_t count = 10'000;
  for (uint32_t i = 0; i < count; ++i)
    ASSERT_TRUE(sender.send({1, Writer().add(i).add(std::string_view("computing")).text}));
  EXPECT_TRUE(sender.hasUnsent());
  uint32_t next = 0;
  while (next < count) {
    ASSERT_TRUE(receiver.receive());
    std::optional<Message> message = receiver.take();
    ASSERT_TRUE(message || sender.hasUnsent()) << "after " << next;
    for (; message; message = receiver.take())
      ASSERT_EQ(Reader(message->body).number<uint32_t>(), next++);
    ASSERT_TRUE(sender.flush());
  }
  EXPECT_FALSE(sender.hasUnsent());
}

TEST(ChannelTest, bothInternetProtocolsReachAListener) {
  for (const char *host : {"127.0.0.1", "::1"}) {
    Rendezvous rendezvous{Rendezvous::Tcp, host, {}, uint16_t(20000 + ::getpid() % 12000)};
    auto listener = Listener::open(rendezvous, {});
    if (!listener.ok() && std::string_view(host) == "::1")
      GTEST_SKIP() << "this machine has no IPv6";
    ASSERT_TRUE(listener.ok()) << listener.message();
    std::string secret;
    auto channel = connectTo(rendezvous, {}, secret);
    ASSERT_TRUE(channel.ok()) << channel.message();
    ASSERT_TRUE(*channel) << host;
    EXPECT_TRUE((*listener)->accept()) << host;
  }
}

TEST(ChannelTest, rankZeroListensWhereItIsTold) {
  std::string secret;
  auto place = [](const std::string &host) {
    static int count = 0;
    return Rendezvous{Rendezvous::Tcp, host, {}, uint16_t(20000 + (::getpid() * 7 + ++count) % 12000)};
  };
  // inet_pton does not accept the last two as addresses, but as names they resolve to a loopback address.
  for (const char *host : {"127.0.0.1", "localhost", "127.1", "0x7f000001"}) {
    Rendezvous own = place(host), other = own;
    auto listener = Listener::open(own, {});
    ASSERT_TRUE(listener.ok()) << listener.message();
    EXPECT_TRUE((*listener)->isLoopback()) << host;
    EXPECT_TRUE(*connectTo(own, {}, secret)) << host;
    other.host = "127.0.0.2";
    EXPECT_FALSE(*connectTo(other, {}, secret)) << host;
  }
  // An address of another machine (RFC 5737), and an invalid name.
  auto elsewhere = Listener::open(place("192.0.2.1"), {});
  EXPECT_NE(elsewhere.message().find("cannot listen at 192.0.2.1:"), std::string::npos) << elsewhere.message();
  Rendezvous nowhere = place(std::string(300, 'a'));
  auto listener = Listener::open(nowhere, {});
  EXPECT_NE(listener.message().find("which has no address"), std::string::npos) << listener.message();
  auto channel = connectTo(nowhere, {}, secret);
  EXPECT_NE(channel.message().find("which has no address"), std::string::npos) << channel.message();
}

// A stranger may send without end. A rank keeps at most the largest message of it.
TEST(ChannelTest, whatIsReadIsBounded) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Channel sender(ends[0]), receiver(ends[1]);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(sender.send({1, std::string(1000, 'x')}));
  size_t taken = 0;
  for (int i = 0; i < 1000 && taken < 100; ++i) {
    ASSERT_TRUE(receiver.receive(1000));
    size_t atOnce = 0;
    for (; receiver.take(1000); ++taken)
      ++atOnce;
    EXPECT_LE(atOnce, 6u); // 4096 bytes more than a message
    sender.flush();
  }
  EXPECT_EQ(taken, 100u);
  ASSERT_TRUE(sender.send({1, std::string(1001, 'x')}));
  ASSERT_TRUE(receiver.receive(1000));
  EXPECT_EQ(receiver.take(1000)->kind, 0);
}

TEST(ChannelTest, terminalsAreToldNothing) {
  EXPECT_EQ(printable("rank 1: no memory.\nMore"), "rank 1: no memory.\nMore");
  EXPECT_EQ(printable("Gr\u00fc\u00dfe, \u4f60\u597d"), "Gr\u00fc\u00dfe, \u4f60\u597d");
  EXPECT_EQ(printable("\x1b]0;title\a\r\x7f"), "\\x1b]0;title\\x07\\x0d\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b\xc2\x9b"
                                       "1m\x9b",
                                       8)),
            "a\\x00b\\xc2\\x9b1m\\x9b");
}

} // namespace
} // namespace heddle
