// The meeting connects the ranks and watches them. Each rank has a connection to rank 0 and reports its state every
// quarter of a second. Tensors travel by other means (Collectives.h).
//
// If a rank's process ends, or if a rank hangs while others wait for it, all ranks end: rank 0 prints a single message,
// which names the rank and its last state, and every process exits with 1. If rank 0 itself is gone, rank 1 prints the
// message. Work that concerns only one rank (reading text, writing a checkpoint) may take any time.
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
  double timeout = 120;                              // seconds without progress while others wait for the rank
  std::function<bool()> interrupted = {};            // true if the process was told to stop; asked while ranks join
  std::function<void(std::string_view)> report = {}; // prints the final message
  std::string quotaGroup = {};                       // ProcessorQuota::group; at most 64 bytes count
};

class Meeting {
public:
  static constexpr int kTogether = 5;

private:
  // Together: working, and perhaps waiting for other ranks inside the device.
  enum class Doing : uint8_t { Busy, Working, Together, Waiting };
  struct State {
    uint64_t changes = 0; // grows with the rank's progress
    uint64_t waits = 0;   // the number of times that it has waited for others
    Doing doing = Doing::Busy;
    uint64_t step = 0;
    std::string place = "starting";
  };

public:
  // Waits until all ranks have joined. `listener` is rank 0's listener, if it is open already. `address` is the address
  // of rank 0, if the rendezvous does not tell it.
  static Result<std::unique_ptr<Meeting>> join(MeetingOptions options, std::unique_ptr<Listener> listener = nullptr,
                                               const std::string &address = {});
  // Leaves the meeting. Rank 0 waits until all others have left.
  ~Meeting();

  uint32_t rank() const { return options.place.rank; }
  uint32_t ranks() const { return options.place.ranks; }
  // This rank's number among the ranks on the same machine.
  uint32_t localRank() const { return ownLocalRank; }
  // The number of ranks on the same machine that may run on this rank's processors, itself included. A launcher that
  // binds ranks to processors of their own makes it 1.
  uint32_t sharers() const { return ownSharers; }
  // The number of ranks on the same machine in this rank's `quotaGroup`, itself included.
  uint32_t quotaSharers() const { return ownQuotaSharers; }

  // Sets what this rank does from now on, for messages: "computing". Each call counts as progress.
  void at(std::string_view what);
  // The same for work in which devices wait for each other, which the meeting cannot see. If a rank is not in this
  // state while the others are, they wait for that rank. If all ranks are, a device or a connection may hang, or the
  // work may just be long: the timeout is then kTogether times as long.
  void together(std::string_view what);
  // The same for work of unknown length: "writing a checkpoint". Until the next change of state, the timeout does not
  // apply to this rank. This is the initial state.
  void busy(std::string_view what);
  // Sets this rank's step, which messages also name.
  void atStep(uint64_t step);
  // While an object lives, this rank waits for others. The destructor restores the previous state.
  class Waiting {
  public:
    Waiting(Meeting &meeting, std::string_view what) : meeting(meeting), before(meeting.change(what, Doing::Waiting)) {}
    ~Waiting() { meeting.restore(before); }
    Waiting(const Waiting &) = delete;

  private:
    Meeting &meeting;
    State before;
  };

  // Returns the sums of a few numbers over all ranks, added in the order of the ranks. All ranks must call this in the
  // same order.
  Result<std::vector<double>> sum(const std::vector<double> &values, std::string_view what);
  // Replaces a few bytes by those of rank 0. All ranks must call this in the same order.
  Status broadcast(std::span<std::byte> bytes, std::string_view what);

  // Ends all ranks because this one cannot continue. Rank 0 prints the message.
  [[noreturn]] void fail(std::string_view message);

private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    std::unique_ptr<Channel> channel; // null for rank 0 itself
    bool joined = false, left = false;
    uint32_t pid = 0;
    std::string host;
    std::string processors; // a bit for each that it may run on; empty: unknown
    std::string quotaGroup;
    State state;
    Clock::time_point heard, changed;
    std::vector<std::vector<double>> sums; // its numbers for sums that are not complete
  };

  // A connection to rank 0 that has not proved yet which rank it is, or that was refused.
  struct Stranger {
    std::unique_ptr<Channel> channel;
    Clock::time_point came;
    Digest challenge; // a random number, used only for this connection
  };

  explicit Meeting(MeetingOptions options) : options(std::move(options)) {}
  State change(std::string_view place, Doing doing); // returns the previous state
  void restore(const State &before);                 // restores `place` and `doing`; counts as progress
  State ownState();
  static std::string pack(const State &state);
  static State unpack(std::string_view body);
  std::string describe(uint32_t rank, const Peer &peer) const;
  static std::string describe(const State &state);
  std::string missing() const;
  bool isDue(Clock::time_point since, int times = 1) const;
  [[noreturn]] void finish(const std::string &message, bool prints);

  // Functions of rank 0.
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

  // Functions of the other ranks.
  Status gather(const std::string &address);
  void follow();
  void introduce(const Message &message);
  void hearFirst(const Message &message);
  [[noreturn]] void lose(const std::string &how);

  MeetingOptions options;
  std::string ownProcessors; // as Peer::processors
  std::unique_ptr<Listener> listener;
  std::vector<Stranger> strangers;
  int impostors = 0;       // number of strangers that did not know the secret
  std::vector<Peer> peers; // on rank 0: all ranks; on others: only rank 0
  Digest challenge{};      // from another rank to rank 0
  bool isSeated = false;   // rank 0 has proved to this rank that it knows the secret
  Clock::time_point begun, told;
  int wake = -1; // an eventfd that wakes rank 0's thread

  std::mutex mutex; // guards all members below
  std::condition_variable changed;
  State own;
  bool complete = false, leaving = false;
  uint32_t ownLocalRank = 0, ownSharers = 1, ownQuotaSharers = 1;
  std::atomic_flag isEnding;
  std::vector<std::vector<double>> given; // rank 0's own numbers for sums
  std::vector<std::vector<double>> results;
  std::thread thread;
};

} // namespace heddle
