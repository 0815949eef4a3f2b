// How ranks know of each other: who is there, what each of them does, and who is not there any more. Each rank has a
// connection to rank 0 and tells it every quarter of a second where it is. What a rank computes takes other ways
// (Collectives.h).
//
// A rank whose process ends, or that stands still while others wait for it, ends all others: rank 0 prints one message,
// which names the rank and says what it did last, and every process exits with 1. Where rank 0 itself is gone, rank 1
// prints it. What a rank does for itself (read text, write a checkpoint) may take as long as it takes.
#pragma once

#include "runtime/ranks/Channel.h"
#include "runtime/ranks/Launcher.h"
#include "runtime/ranks/Secret.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace heddle {

struct MeetingOptions {
  RankPlace place;
  double timeout = 120;                              // seconds that a rank may stand still while others wait for it
  std::function<bool()> interrupted = {};            // whether the process was told to stop; asked while ranks gather
  std::function<void(std::string_view)> report = {}; // prints the message of the end
};

class Meeting {
public:
  static constexpr int kTogether = 5;

private:
  // Together: working, and perhaps waiting for others unseen.
  enum class Doing : uint8_t { Busy, Working, Together, Waiting };
  struct State {
    uint64_t changes = 0; // a number that grows as the rank gets on
    uint64_t waits = 0;   // how often it has waited for others
    Doing doing = Doing::Busy;
    uint64_t step = 0;
    std::string place = "starting";
  };

public:
  // Waits until all ranks have come. `listener` is rank 0's where it was opened before; `address` is where it listens,
  // where the rendezvous does not say.
  static Result<std::unique_ptr<Meeting>> join(MeetingOptions options, std::unique_ptr<Listener> listener = nullptr,
                                               const std::string &address = {});
  // Leaves. Rank 0 waits until all others have.
  ~Meeting();

  uint32_t rank() const { return options.place.rank; }
  uint32_t ranks() const { return options.place.ranks; }
  // Which of the ranks on this machine it is.
  uint32_t localRank() const { return ownLocalRank; }

  // What this rank does from now on, for messages: "computing". Saying it counts as getting on.
  void at(std::string_view what);
  // The same, of work in which devices wait for each other, which nobody sees: a rank that does not say so is the one
  // that the others wait for. Where all say it, a device or a connection may stand still, or the work be long: it may
  // take kTogether times as long as else.
  void together(std::string_view what);
  // The same, of work whose length nobody knows: "writing a checkpoint". Until it says something else, no other rank
  // takes it to stand still. This is a rank's state at first.
  void busy(std::string_view what);
  // Sets the step that this rank is at, which messages name, too.
  void atStep(uint64_t step);
  // While one lives, this rank waits for others; then it does what it did before.
  class Waiting {
  public:
    Waiting(Meeting &meeting, std::string_view what) : meeting(meeting), before(meeting.change(what, Doing::Waiting)) {}
    ~Waiting() { meeting.restore(before); }
    Waiting(const Waiting &) = delete;

  private:
    Meeting &meeting;
    State before;
  };

  // The sums over all ranks of a few numbers, added in the order of the ranks. All ranks call it in the same order.
  Result<std::vector<double>> sum(const std::vector<double> &values, std::string_view what);
  // Replaces a few bytes by those of rank 0. All ranks call it in the same order.
  Status broadcast(std::span<std::byte> bytes, std::string_view what);

  // This rank cannot go on: all ranks end, with this message from rank 0.
  [[noreturn]] void fail(std::string_view message);

private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    std::unique_ptr<Channel> channel; // null of rank 0 itself
    bool joined = false, left = false;
    uint32_t pid = 0;
    std::string host;
    State state;
    Clock::time_point heard, changed;
    std::vector<std::vector<double>> sums; // what it gave to sums that are not complete
  };

  // Who has connected to rank 0 and has not shown yet which rank it is, or was told that it is none of ours.
  struct Stranger {
    std::unique_ptr<Channel> channel;
    Clock::time_point came;
    Digest challenge; // a number that no other has got
  };

  explicit Meeting(MeetingOptions options) : options(std::move(options)) {}
  State change(std::string_view place, Doing doing); // the state before
  void restore(const State &before);                 // what it did then, as a sign of life
  State ownState();
  static std::string pack(const State &state);
  static State unpack(std::string_view body);
  std::string describe(uint32_t rank, const Peer &peer) const;
  static std::string describe(const State &state);
  std::string missing() const;
  bool isDue(Clock::time_point since, int times = 1) const;
  [[noreturn]] void finish(const std::string &message, bool prints);

  // Rank 0.
  void serve();
  void poll();
  void welcomeStrangers();
  void greet(Stranger &stranger);
  void seat(Stranger &stranger, const Message &hello);
  void hear(uint32_t rank);
  void take(uint32_t rank, const Message &message);
  void welcome();
  void addUp();
  void watch();
  void end(const std::string &message);
  void tellAll(const Message &message);
  void callThread();

  // The others.
  Status gather(const std::string &address);
  void follow();
  void introduce(const Message &message);
  void hearFirst(const Message &message);
  [[noreturn]] void lose(const std::string &how);

  MeetingOptions options;
  std::unique_ptr<Listener> listener;
  std::vector<Stranger> strangers;
  int impostors = 0;       // strangers that do not know the secret
  std::vector<Peer> peers; // rank 0: all; others: rank 0 alone
  Digest challenge{};      // of another rank to rank 0
  bool isSeated = false;   // rank 0 has shown another rank that it knows the secret
  Clock::time_point begun, told;
  int wake = -1; // of rank 0's thread

  std::mutex mutex; // of all below
  std::condition_variable changed;
  State own;
  bool complete = false, leaving = false;
  uint32_t ownLocalRank = 0;
  std::atomic_flag isEnding;
  std::vector<std::vector<double>> given; // rank 0's own
  std::vector<std::vector<double>> results;
  std::thread thread;
};

} // namespace heddle
