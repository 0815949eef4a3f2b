// How ranks meet, add up numbers, and end together.
#include "runtime/ranks/Meeting.h"
#include "runtime/ranks/Channel.h"
#include "runtime/ranks/Secret.h"
#include "test/runtime/TemporaryFolder.h"

#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace heddle {
namespace {

constexpr const char *kSecret = "what the ranks of these tests share";

MeetingOptions optionsOf(uint32_t rank, uint32_t ranks, const Rendezvous &rendezvous, double timeout = 20) {
  std::string secret = rendezvous.kind == Rendezvous::Tcp ? kSecret : "";
  return {{rank, ranks, rendezvous, "test", secret}, timeout, {}, {}, {}};
}

Rendezvous fresh(Rendezvous::Kind kind, const test::TemporaryFolder &folder) {
  static int count = 0;
  if (kind == Rendezvous::Local)
    return {kind, {}, str("heddle-test.", ::getpid(), ".", ++count)};
  return {kind, {}, (folder.path() / str("meeting", ++count)).string()};
}

TEST(MeetingTest, sumsAreThoseOfAllRanksInTheirOrder) {
  test::TemporaryFolder folder;
  for (Rendezvous::Kind kind : {Rendezvous::Local, Rendezvous::File}) {
    Rendezvous rendezvous = fresh(kind, folder);
    constexpr uint32_t count = 5;
    std::vector<std::vector<double>> results(count);
    std::vector<uint32_t> local(count);
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < count; ++rank)
      threads.emplace_back([&, rank] {
        auto meeting = Meeting::join(optionsOf(rank, count, rendezvous));
        ASSERT_TRUE(meeting.ok()) << meeting.message();
        local[rank] = (*meeting)->localRank();
        for (int round = 0; round < 200; ++round) {
          auto sum = (*meeting)->sum({0.1 * rank, double(round)}, "the test");
          ASSERT_TRUE(sum.ok()) << sum.message();
          ASSERT_EQ((*sum)[1], double(count * round));
          results[rank] = *sum;
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    for (uint32_t rank = 0; rank < count; ++rank) {
      EXPECT_EQ(results[rank][0], 0.0 + 0.1 + 0.1 * 2 + 0.1 * 3 + 0.1 * 4);
      EXPECT_EQ(local[rank], rank); // all are on this machine
    }
  }
}

// Ranks on processors of their own, as launchers bind them, share them with nobody.
TEST(MeetingTest, ranksKnowWhoSharesTheirProcessors) {
  cpu_set_t all;
  CPU_ZERO(&all);
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  std::vector<size_t> processors;
  for (size_t i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &all))
      processors.push_back(i);
  auto sharers = [&](std::vector<std::vector<size_t>> bound) {
    test::TemporaryFolder folder;
    Rendezvous rendezvous = fresh(Rendezvous::Local, folder);
    std::vector<uint32_t> result(bound.size());
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < bound.size(); ++rank)
      threads.emplace_back([&, rank] {
        cpu_set_t set; // of this thread alone
        CPU_ZERO(&set);
        for (size_t processor : bound[rank])
          CPU_SET(processor, &set);
        ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
        auto meeting = Meeting::join(optionsOf(rank, uint32_t(bound.size()), rendezvous));
        ASSERT_TRUE(meeting.ok()) << meeting.message();
        result[rank] = (*meeting)->sharers();
      });
    for (std::thread &thread : threads)
      thread.join();
    return result;
  };
  EXPECT_EQ(sharers({processors, processors, processors}), (std::vector<uint32_t>{3, 3, 3}));
  if (processors.size() < 2)
    GTEST_SKIP() << "there is one processor";
  EXPECT_EQ(sharers({{processors[0]}, {processors[1]}}), (std::vector<uint32_t>{1, 1}));
  EXPECT_EQ(sharers({{processors[0]}, {processors[1]}, {processors[1]}, {processors[0], processors[1]}}),
            (std::vector<uint32_t>{2, 3, 3, 4}));
}

// Ranks in containers of one machine have a quota each, and ranks of one container divide its quota.
TEST(MeetingTest, ranksKnowWhoSharesTheirQuota) {
  const std::vector<std::string> groups = {"30:1", "30:1", "30:2", std::string(100, 'x')};
  test::TemporaryFolder folder;
  Rendezvous rendezvous = fresh(Rendezvous::Local, folder);
  std::vector<uint32_t> sharers(groups.size());
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < groups.size(); ++rank)
    threads.emplace_back([&, rank] {
      MeetingOptions options = optionsOf(rank, uint32_t(groups.size()), rendezvous);
      options.quotaGroup = groups[rank];
      auto meeting = Meeting::join(std::move(options));
      ASSERT_TRUE(meeting.ok()) << meeting.message();
      sharers[rank] = (*meeting)->quotaSharers();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(sharers, (std::vector<uint32_t>{2, 2, 1, 1}));
}

// The output of each process, and how it ended, in a run in which one process fails.
struct Ended {
  std::vector<std::string> printed;
  std::vector<int> statuses;
  double seconds = 0; // until the last process ended
};

Ended runRanks(uint32_t count, const Rendezvous &rendezvous, double timeout,
               const std::function<void(Meeting &, uint32_t)> &work, const test::TemporaryFolder &folder) {
  std::vector<pid_t> children;
  auto fileOf = [&](uint32_t rank) { return (folder.path() / str("said", rank)).string(); };
  auto begin = std::chrono::steady_clock::now();
  for (uint32_t rank = 0; rank < count; ++rank) {
    pid_t child = ::fork();
    if (child == 0) {
      MeetingOptions options = optionsOf(rank, count, rendezvous, timeout);
      options.report = [&](std::string_view message) { std::ofstream(fileOf(rank)) << message; };
      auto meeting = Meeting::join(options);
      if (!meeting.ok())
        ::_exit(3);
      work(**meeting, rank);
      meeting->reset();
      ::_exit(0);
    }
    children.push_back(child);
  }
  Ended ended;
  for (uint32_t rank = 0; rank < count; ++rank) {
    int status = 0;
    ::waitpid(children[rank], &status, 0);
    ended.statuses.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  }
  ended.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (uint32_t rank = 0; rank < count; ++rank) {
    std::ifstream file(fileOf(rank));
    ended.printed.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    std::remove(fileOf(rank).c_str());
  }
  return ended;
}

TEST(MeetingTest, aRankThatIsKilledEndsTheOthersWithOneMessage) {
  test::TemporaryFolder folder;
  for (uint32_t victim = 0; victim < 4; ++victim) {
    Ended ended = runRanks(
        4, fresh(Rendezvous::Local, folder), 20,
        [&](Meeting &meeting, uint32_t rank) {
          meeting.atStep(17);
          meeting.at("computing");
          for (int round = 0; round < 20; ++round)
            (void)meeting.sum({1}, "round");
          std::this_thread::sleep_for(std::chrono::milliseconds(400)); // until all know each other's state
          if (rank == victim)
            ::raise(SIGKILL);
          (void)meeting.sum({1}, "the last sum");
        },
        folder);
    uint32_t teller = victim == 0 ? 1 : 0;
    EXPECT_NE(ended.printed[teller].find(str("rank ", victim, " of 4 (process ")), std::string::npos)
        << ended.printed[teller];
    EXPECT_NE(ended.printed[teller].find("has ended unexpectedly, at step 17"), std::string::npos)
        << ended.printed[teller];
    for (uint32_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(ended.statuses[rank], rank == victim ? -SIGKILL : 1) << rank;
      EXPECT_EQ(ended.printed[rank].empty(), rank != teller) << rank << ": " << ended.printed[rank];
    }
    EXPECT_LT(ended.seconds, 5);
  }
}

TEST(MeetingTest, aRankThatStandsStillEndsTheOthers) {
  test::TemporaryFolder folder;
  for (bool stops : {false, true}) { // the whole process, or only its computing thread
    Ended ended = runRanks(
        3, fresh(Rendezvous::Local, folder), 2,
        [&](Meeting &meeting, uint32_t rank) {
          meeting.at("computing");
          std::this_thread::sleep_for(std::chrono::milliseconds(400)); // until rank 0 knows
          if (rank == 2 && stops) {
            // Another process continues this one at the end, so that the test can wait for it.
            pid_t self = ::getpid();
            if (::fork() == 0) {
              ::usleep(4'000'000);
              ::kill(self, SIGCONT);
              ::_exit(0);
            }
            ::raise(SIGSTOP);
          }
          if (rank == 2)
            std::this_thread::sleep_for(std::chrono::seconds(4));
          (void)meeting.sum({1}, "a sum");
        },
        folder);
    EXPECT_NE(ended.printed[0].find("rank 2 of 3"), std::string::npos) << ended.printed[0];
    EXPECT_NE(ended.printed[0].find(stops ? "has said nothing" : "has stood still"), std::string::npos)
        << ended.printed[0];
    EXPECT_NE(ended.printed[0].find("computing"), std::string::npos) << ended.printed[0];
    EXPECT_EQ(ended.statuses[0], 1);
    EXPECT_EQ(ended.statuses[1], 1);
  }
}

// There is a time limit only for work that others wait for.
TEST(MeetingTest, aRankMayTakeItsTimeForItself) {
  test::TemporaryFolder folder;
  Ended ended = runRanks(
      3, fresh(Rendezvous::Local, folder), 2,
      [&](Meeting &meeting, uint32_t rank) {
        meeting.at("computing");
        if (rank == 0)
          meeting.busy("writing a checkpoint");
        if (rank == 0)
          std::this_thread::sleep_for(std::chrono::seconds(4));
        (void)meeting.sum({1}, "a sum");
        if (rank == 2)
          std::this_thread::sleep_for(std::chrono::seconds(4)); // it computes again
        (void)meeting.sum({1}, "another sum");
      },
      folder);
  EXPECT_GT(ended.seconds, 5);
  EXPECT_NE(ended.printed[0].find("rank 2 of 3"), std::string::npos) << ended.printed[0];
  EXPECT_NE(ended.printed[0].find("has stood still"), std::string::npos) << ended.printed[0];
  EXPECT_NE(ended.printed[0].find("computing"), std::string::npos) << ended.printed[0];
}

// If devices wait for each other, the ranks cannot see which one is late. All get more time, but a rank that takes no
// part is named.
TEST(MeetingTest, ranksWhoseDevicesWaitForEachOther) {
  test::TemporaryFolder folder;
  Ended ended = runRanks(
      3, fresh(Rendezvous::Local, folder), 1,
      [&](Meeting &meeting, uint32_t) {
        for (int step = 0; step < 2; ++step) {
          meeting.together("computing");
          std::this_thread::sleep_for(std::chrono::milliseconds(1500));
          (void)meeting.sum({1}, "a sum");
        }
      },
      folder);
  EXPECT_EQ(ended.statuses, (std::vector<int>{0, 0, 0})) << ended.printed[0];

  // Rank 1 gathers more often than the others wait, by itself and while busy. This does not count as being ahead.
  ended = runRanks(
      3, fresh(Rendezvous::Local, folder), 1,
      [&](Meeting &meeting, uint32_t rank) {
        meeting.together("computing");
        for (int turn = 0; turn < 5; ++turn) {
          if (rank == 1)
            meeting.busy("writing a checkpoint");
          (void)meeting.sum({1}, "a gathering");
        }
        meeting.together("computing");
        if (rank == 2)
          meeting.at("starting the step");
        std::this_thread::sleep_for(std::chrono::seconds(8));
      },
      folder);
  EXPECT_NE(ended.printed[0].find("rank 2 of 3"), std::string::npos) << ended.printed[0];
  EXPECT_NE(ended.printed[0].find("starting the step"), std::string::npos) << ended.printed[0];
  EXPECT_LT(ended.seconds, 3);

  ended = runRanks(
      2, fresh(Rendezvous::Local, folder), 1,
      [&](Meeting &meeting, uint32_t) {
        meeting.together("computing");
        std::this_thread::sleep_for(std::chrono::seconds(8));
      },
      folder);
  EXPECT_NE(ended.printed[0].find("all ranks have waited for each other"), std::string::npos) << ended.printed[0];
  EXPECT_GT(ended.seconds, 4);
  EXPECT_LT(ended.seconds, 7);
}

// A second training run at the same place ends, and the first one goes on.
TEST(MeetingTest, aNewcomerEndsNoTrainingThatRuns) {
  test::TemporaryFolder folder;
  Rendezvous rendezvous = fresh(Rendezvous::Local, folder);
  std::string said = (folder.path() / "newcomer").string();
  Ended ended = runRanks(
      2, rendezvous, 20,
      [&](Meeting &meeting, uint32_t rank) {
        (void)meeting.sum({1}, "the first sum");
        if (rank == 1) {
          pid_t child = ::fork();
          if (child == 0) {
            MeetingOptions options = optionsOf(1, 2, rendezvous);
            options.report = [&](std::string_view message) { std::ofstream(said) << message; };
            (void)Meeting::join(options);
            ::_exit(0);
          }
          int status = 0;
          ::waitpid(child, &status, 0);
          if (!WIFEXITED(status) || WEXITSTATUS(status) != 1)
            ::_exit(4);
        }
        auto sum = meeting.sum({1}, "the last sum");
        if (!sum.ok() || (*sum)[0] != 2)
          ::_exit(5);
      },
      folder);
  EXPECT_EQ(ended.statuses, (std::vector<int>{0, 0}));
  EXPECT_EQ(ended.printed, (std::vector<std::string>{"", ""}));
  std::ifstream file(said);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_NE(text.find("another training of 2 ranks"), std::string::npos) << text;
}

TEST(MeetingTest, aRankThatDoesNotComeIsNamed) {
  test::TemporaryFolder folder;
  Rendezvous rendezvous = fresh(Rendezvous::Local, folder);
  Ended ended = runRanks(1, rendezvous, 20, [](Meeting &, uint32_t) {}, folder); // a single rank needs no others
  EXPECT_EQ(ended.statuses[0], 0);
  pid_t child = ::fork();
  std::string said = (folder.path() / "alone").string();
  if (child == 0) {
    MeetingOptions options = optionsOf(0, 3, rendezvous, 1);
    options.report = [&](std::string_view message) { std::ofstream(said) << message; };
    (void)Meeting::join(options);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  std::ifstream file(said);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_NE(text.find("ranks 1, 2 of 3 have not come to where ranks meet within the --timeout of 1 s"),
            std::string::npos)
      << text;
}

// A file left by an earlier training run may name a port that now belongs to another program.
TEST(MeetingTest, anotherProgramIsNoRank) {
  test::TemporaryFolder folder;
  Rendezvous rendezvous = fresh(Rendezvous::File, folder);
  auto other = Listener::open({Rendezvous::Mpi, {}, {}}, {});
  ASSERT_TRUE(other.ok()) << other.message();
  std::ofstream(rendezvous.path) << (*other)->address();
  pid_t child = ::fork();
  std::string said = (folder.path() / "alone").string();
  if (child == 0) {
    MeetingOptions options = optionsOf(1, 2, rendezvous, 1);
    options.report = [&](std::string_view message) { std::ofstream(said) << message; };
    (void)Meeting::join(options);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  std::ifstream file(said);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_NE(text.find("rank 0 of 2 has not welcomed rank 1"), std::string::npos) << text;
}

TEST(MeetingTest, aRankThatFailsSaysWhyForAll) {
  test::TemporaryFolder folder;
  for (uint32_t failing : {0u, 1u}) {
    Ended ended = runRanks(
        2, fresh(Rendezvous::Local, folder), 20,
        [&](Meeting &meeting, uint32_t rank) {
          if (rank == failing)
            meeting.fail("the text is gone.");
          (void)meeting.sum({1}, "a sum");
        },
        folder);
    EXPECT_NE(ended.printed[0].find("the text is gone."), std::string::npos) << ended.printed[0];
    EXPECT_EQ(ended.printed[0].starts_with("rank 1 of 2 (process "), failing == 1);
    EXPECT_EQ(ended.printed[1], "");
    EXPECT_EQ(ended.statuses, (std::vector<int>{1, 1}));
  }
}

Rendezvous freshPort() {
  static int count = 0;
  return {Rendezvous::Tcp, "127.0.0.1", {}, uint16_t(20000 + (::getpid() * 13 + ++count) % 12000)};
}

// A stranger that claims to be a rank without knowing the secret gets no seat, and disturbs nobody.
TEST(MeetingTest, strangersGetNoSeat) {
  test::TemporaryFolder folder;
  Rendezvous rendezvous = freshPort();
  std::atomic<bool> isAnswered = false, isRefused = false;
  std::thread strangers([&] {
    std::string secret;
    std::vector<std::unique_ptr<Channel>> silent;
    auto connect = [&] {
      std::unique_ptr<Channel> channel;
      while (!channel) {
        channel = std::move(*connectTo(rendezvous, {}, secret));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return channel;
    };
    for (int i = 0; i < 100; ++i) // more than rank 0 keeps
      silent.push_back(connect());
    std::vector<std::unique_ptr<Channel>> loud;
    auto say = [&](const Message &message) {
      loud.push_back(connect());
      loud.back()->send(message);
    };
    auto hello = [](uint32_t version, uint32_t rank, uint32_t ranks) {
      Writer writer;
      writer.add(version).add(rank).add(ranks).add(uint32_t(1));
      if (version > 2)
        writer.text += std::string(32, 'q');
      writer.add(std::string_view("\x1b[2Jelsewhere"));
      if (version > 3)
        writer.add(std::string_view("\x03"));
      if (version > 4)
        writer.add(std::string_view("30:1"));
      return Message{1, writer.text};
    };
    auto signedHello = [&](uint32_t rank, uint32_t ranks) {
      Message message = hello(5, rank, ranks);
      message.body += std::string(32, 's');
      return message;
    };
    for (uint32_t rank : {0u, 1u, 7u})
      for (uint32_t ranks : {2u, 3u}) {
        say(hello(2, rank, ranks)); // as earlier builds sent it
        say(hello(3, rank, ranks));
        say(hello(4, rank, ranks));
        say(hello(5, rank, ranks));
        say(signedHello(rank, ranks));
      }
    say({1, ""});
    say({200, std::string(900, '\0')});
    say({1, std::string(100'000, 'x')});
    std::unique_ptr<Channel> channel = connect();
    channel->send(signedHello(1, 2));
    for (int i = 0; i < 2000 && !isRefused; ++i) {
      channel->receive();
      while (std::optional<Message> message = channel->take()) {
        isAnswered = isAnswered || message->kind == 10; // Challenge
        isRefused = isRefused || message->kind == 12;   // WrongSecret
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  // Rank 1 comes after the strangers.
  pid_t first = ::fork();
  std::string said = (folder.path() / "said").string();
  auto run = [&](uint32_t rank) {
    MeetingOptions options = optionsOf(rank, 2, rendezvous);
    options.report = [&](std::string_view message) { std::ofstream(said) << message; };
    auto meeting = Meeting::join(options);
    if (!meeting.ok())
      ::_exit(3);
    auto sum = (*meeting)->sum({1}, "a sum");
    bool isRight = sum.ok() && (*sum)[0] == 2;
    meeting->reset();
    ::_exit(isRight ? 0 : 4);
  };
  if (first == 0)
    run(0);
  strangers.join();
  pid_t second = ::fork();
  if (second == 0)
    run(1);
  for (pid_t child : {second, first}) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status)) << test::slurp(said);
    EXPECT_EQ(WEXITSTATUS(status), 0) << test::slurp(said);
  }
  EXPECT_TRUE(isAnswered);
  EXPECT_TRUE(isRefused);
}

// Ranks reject a rank 0 that does not know the secret, and rank 0 rejects such ranks.
TEST(MeetingTest, bothSidesShowThatTheyKnowTheSecret) {
  test::TemporaryFolder folder;
  Rendezvous rendezvous = freshPort();
  auto start = [&](uint32_t rank, const std::string &secret) {
    pid_t child = ::fork();
    if (child != 0)
      return child;
    MeetingOptions options = optionsOf(rank, 2, rendezvous, 1.5);
    options.place.secret = secret;
    options.report = [&](std::string_view message) { test::spit(folder.path() / str("said", rank), message); };
    auto meeting = Meeting::join(options);
    ::_exit(meeting.ok() ? 0 : 3);
  };
  auto end = [&](pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 1);
  };
  pid_t first = start(0, "one secret of sixteen bytes"), other = start(1, "another secret of sixteen bytes");
  end(other);
  end(first);
  std::string said = test::slurp(folder.path() / "said1");
  EXPECT_NE(said.find("rank 1 of 2 does not know the secret"), std::string::npos) << said;
  said = test::slurp(folder.path() / "said0");
  EXPECT_NE(said.find("Processes that do not know the ranks' secret have."), std::string::npos) << said;

  // An impostor of rank 0 cannot send numbers to a rank, or end it with a message of its own.
  rendezvous = freshPort();
  auto listener = Listener::open(rendezvous, {});
  ASSERT_TRUE(listener.ok()) << listener.message();
  other = start(1, kSecret);
  std::unique_ptr<Channel> channel;
  while (!channel) {
    channel = (*listener)->accept();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::string digest(32, 'd');
  channel->send({9, "\x1b[2Jread this"});    // Refusal
  channel->send({2, std::string(12, '\0')}); // Welcome
  channel->send({10, digest});               // Challenge
  channel->send({11, digest});               // Seat
  end(other);
  said = test::slurp(folder.path() / "said1");
  EXPECT_NE(said.find("it is not rank 0"), std::string::npos) << said;
}

// With file:, ranks share a secret file that only this user can read.
TEST(MeetingTest, aFileHasASecretOfItsOwn) {
  test::TemporaryFolder folder;
  Rendezvous rendezvous = fresh(Rendezvous::File, folder);
  std::string before;
  for (int meeting = 0; meeting < 2; ++meeting) {
    pid_t first = ::fork();
    if (first == 0) {
      (void)Meeting::join(optionsOf(0, 2, rendezvous));
      ::_exit(0);
    }
    while (!std::filesystem::exists(rendezvous.path))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::string text = test::slurp(rendezvous.path);
    EXPECT_GT(text.size(), 64u);
    EXPECT_NE(text, before);
    before = text;
    using std::filesystem::perms;
    EXPECT_EQ(std::filesystem::status(rendezvous.path).permissions(), perms::owner_read | perms::owner_write);
    EXPECT_TRUE(Meeting::join(optionsOf(1, 2, rendezvous)).ok());
    int status = 0;
    ::waitpid(first, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

} // namespace
} // namespace heddle
