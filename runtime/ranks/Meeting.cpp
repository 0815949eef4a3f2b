#include "runtime/ranks/Meeting.h"

#include <algorithm>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace heddle {
namespace {

// The kinds of messages. A connection begins with Challenge (from rank 0), Hello, and Seat or WrongSecret. Only a Seat
// proves that the other end knows the secret; earlier messages are not trusted.
enum Kind : uint8_t {
  Hello = 1,
  Welcome,
  Place,
  Numbers,
  Sums,
  Failure,
  End,
  Bye,
  Refusal,
  Challenge,
  Seat,
  WrongSecret
};

constexpr auto kTurn = std::chrono::milliseconds(50);  // the longest pause between two checks
constexpr auto kTell = std::chrono::milliseconds(250); // the interval between a rank's reports
constexpr double kShare = 0.9;                         // part of the timeout after which ranks end, to be within it
constexpr uint32_t kHelloVersion = 5;
constexpr auto kPatience = std::chrono::seconds(10); // for a connection that has not proved its rank
constexpr size_t kLargestHello = 1024, kSpareStrangers = 64;

std::string packNumbers(const std::vector<double> &values) {
  Writer writer;
  for (double value : values)
    writer.add(value);
  return writer.text;
}

std::vector<double> unpackNumbers(std::string_view body) {
  Reader reader(body);
  std::vector<double> values;
  while (reader.left() >= sizeof(double))
    values.push_back(reader.number<double>());
  return values;
}

void add(Writer &writer, const Digest &digest) { writer.text.append(digest.begin(), digest.end()); }

Digest digestOf(Reader &reader) {
  Digest digest{};
  for (uint8_t &byte : digest)
    byte = reader.number<uint8_t>();
  return digest;
}

// Returns a proof that its sender knows the secret. The two sides use different words, so that a proof of one side
// cannot be sent back as a proof of the other.
Digest prove(const std::string &secret, const char *word, const Digest &question, std::string_view said) {
  return hmac(secret, str(word, std::string(question.begin(), question.end()), said));
}
constexpr const char *kOther = "heddle: a rank", *kFirst = "heddle: rank 0";

// Returns the affinity mask of this thread. Empty if it cannot be read, as on machines with more processors than a
// cpu_set_t has bits.
std::string processorMask() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0)
    return {};
  return {reinterpret_cast<const char *>(&set), sizeof set};
}

// Returns true if two masks may have a processor in common.
bool mayOverlap(std::string_view a, std::string_view b) {
  if (a.size() != b.size() || a.empty())
    return true;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] & b[i])
      return true;
  return false;
}

short eventsOf(Channel &channel) { return channel.hasUnsent() ? POLLIN | POLLOUT : POLLIN; }

} // namespace

//===-- A rank's state ------------------------------------------------------------------------------------------===//

void Meeting::at(std::string_view what) { change(what, Doing::Working); }

void Meeting::together(std::string_view what) { change(what, Doing::Together); }

void Meeting::busy(std::string_view what) { change(what, Doing::Busy); }

void Meeting::atStep(uint64_t step) {
  std::lock_guard lock(mutex);
  own.step = step;
  ++own.changes;
}

Meeting::State Meeting::change(std::string_view place, Doing doing) {
  std::lock_guard lock(mutex);
  State before = own;
  own.place = place;
  own.doing = doing;
  own.waits += doing == Doing::Waiting;
  ++own.changes;
  return before;
}

void Meeting::restore(const State &before) {
  std::lock_guard lock(mutex);
  own.place = before.place;
  own.doing = before.doing;
  ++own.changes;
}

Meeting::State Meeting::ownState() {
  std::lock_guard lock(mutex);
  return own;
}

std::string Meeting::pack(const State &state) {
  return Writer()
      .add(state.changes)
      .add(state.waits)
      .add(uint8_t(state.doing))
      .add(state.step)
      .add(std::string_view(state.place))
      .text;
}

Meeting::State Meeting::unpack(std::string_view body) {
  Reader reader(body);
  State state;
  state.changes = reader.number<uint64_t>();
  state.waits = reader.number<uint64_t>();
  state.doing = Doing(reader.number<uint8_t>());
  state.step = reader.number<uint64_t>();
  state.place = reader.words();
  return state;
}

// "at step 17, in sum 3 of 8 of 'parallel_train_step'"
std::string Meeting::describe(const State &state) {
  std::string where = state.step == 0 ? str("before the first step, ") : str("at step ", state.step, ", ");
  return where + (state.doing == Doing::Waiting ? "waiting in " : "") + state.place;
}

// "rank 2 of 4 (process 4711 on node17)"
std::string Meeting::describe(uint32_t rank, const Peer &peer) const {
  std::string text = str("rank ", rank, " of ", ranks());
  return peer.pid == 0 ? text : str(text, " (process ", peer.pid, " on ", peer.host, ")");
}

bool Meeting::isDue(Clock::time_point since, int times) const {
  return std::chrono::duration<double>(Clock::now() - since).count() > kShare * times * options.timeout;
}

void Meeting::finish(const std::string &message, bool prints) {
  if (isEnding.test_and_set()) // another thread is ending the process already
    while (true)
      ::pause();
  if (prints && options.report)
    options.report(printable(message));
  ::_exit(1);
}

//===-- Joining and leaving -------------------------------------------------------------------------------------===//

Result<std::unique_ptr<Meeting>> Meeting::join(MeetingOptions options, std::unique_ptr<Listener> listener,
                                               const std::string &address) {
  std::unique_ptr<Meeting> meeting(new Meeting(std::move(options)));
  meeting->begun = meeting->told = Clock::now();
  meeting->options.quotaGroup.resize(std::min<size_t>(meeting->options.quotaGroup.size(), 64));
  meeting->ownProcessors = processorMask(); // before threads start
  if (meeting->rank() != 0) {
    HEDDLE_CHECK(meeting->gather(address));
    meeting->thread = std::thread([self = meeting.get()] { self->follow(); });
  } else {
    meeting->listener = std::move(listener);
    if (!meeting->listener) {
      std::string said; // the secret to write into the file, if this meeting makes one of its own
      if (meeting->options.place.rendezvous.kind == Rendezvous::File && meeting->options.place.secret.empty())
        said = meeting->options.place.secret = hexadecimal(randomDigest());
      HEDDLE_ASSIGN(meeting->listener, Listener::open(meeting->options.place.rendezvous, said));
    }
    meeting->wake = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    meeting->peers.resize(meeting->ranks());
    meeting->peers[0].joined = true;
    meeting->peers[0].pid = uint32_t(::getpid());
    meeting->peers[0].host = hostName();
    meeting->peers[0].processors = meeting->ownProcessors;
    meeting->peers[0].quotaGroup = meeting->options.quotaGroup;
    meeting->thread = std::thread([self = meeting.get()] { self->serve(); });
  }
  std::unique_lock lock(meeting->mutex);
  meeting->changed.wait(lock, [&] { return meeting->complete; });
  lock.unlock();
  return meeting;
}

Meeting::~Meeting() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    leaving = true;
    callThread();
  }
  thread.join();
  if (wake >= 0)
    ::close(wake);
}

// Wakes rank 0's thread before its next turn.
void Meeting::callThread() {
  uint64_t one = 1;
  if (wake >= 0 && ::write(wake, &one, sizeof one) < 0)
    return; // it is awake already
}

// Names the ranks that have not joined: "rank 1 of 4 has", "ranks 1, 3 of 4 have".
std::string Meeting::missing() const {
  std::string list;
  size_t count = 0;
  for (uint32_t i = 0; i < peers.size(); ++i)
    if (!peers[i].joined && ++count <= 8)
      list += (list.empty() ? "" : ", ") + std::to_string(i);
  return str(count == 1 ? "rank " : "ranks ", list, count > 8 ? ", ..." : "", " of ", ranks(),
             count == 1 ? " has" : " have");
}

// Connects to rank 0. Tries again until rank 0 listens.
Status Meeting::gather(const std::string &address) {
  std::unique_ptr<Channel> channel;
  while (true) {
    std::string secret = options.place.secret; // a copy: a file left by an earlier training run may have another secret
    HEDDLE_ASSIGN(channel, connectTo(options.place.rendezvous, address, secret));
    if (channel) {
      options.place.secret = secret;
      break;
    }
    bool isStopped = options.interrupted && options.interrupted();
    if (isStopped || isDue(begun))
      finish(str("rank 0 of ", ranks(),
                 isStopped ? " had not come to where ranks meet when this process was told to end: it may have "
                             "ended before."
                           : " has not come to where ranks meet within the --timeout."),
             rank() == 1);
    std::this_thread::sleep_for(kTurn);
  }
  peers.resize(1);
  peers[0].channel = std::move(channel);
  peers[0].heard = Clock::now();
  return Success();
}

//===-- Rank 0 --------------------------------------------------------------------------------------------------===//

void Meeting::serve() {
  while (true) {
    poll();
    bool isComplete, isLeaving;
    {
      std::lock_guard lock(mutex);
      isComplete = complete;
      isLeaving = leaving;
      if (own.changes != peers[0].state.changes)
        peers[0].changed = Clock::now();
      peers[0].state = own;
      for (std::vector<double> &values : given)
        peers[0].sums.push_back(std::move(values));
      given.clear();
    }
    if (!isComplete) {
      if (options.interrupted && options.interrupted())
        end(str(missing(),
                " not come to where ranks meet, and this process was told to end: the rank may have ended before."));
      if (isDue(begun))
        end(str(missing(), " not come to where ranks meet within the --timeout of ", options.timeout, " s.",
                impostors == 0 ? "" : " Processes that do not know the ranks' secret have.",
                !listener->isLoopback() ? ""
                                        : str(" '", listener->address(),
                                              "' is a loopback address, which ranks on other machines do not reach: "
                                              "give them an address of this machine's.")));
      continue;
    }
    addUp();
    watch();
    if (isLeaving && std::all_of(peers.begin() + 1, peers.end(), [](const Peer &peer) { return peer.left; }))
      return;
    if (Clock::now() - told > kTell) {
      told = Clock::now();
      for (Peer &peer : peers) // a peer that has not read the last report gets no new one
        if (peer.channel && !peer.left && !peer.channel->hasUnsent())
          peer.channel->send({Place, pack(peers[0].state)});
    }
  }
}

void Meeting::poll() {
  std::vector<pollfd> watched{{listener->descriptor(), POLLIN, 0}, {wake, POLLIN, 0}};
  for (const Stranger &stranger : strangers)
    watched.push_back({stranger.channel->descriptor(), POLLIN, 0});
  for (const Peer &peer : peers)
    if (peer.channel && !peer.left)
      watched.push_back({peer.channel->descriptor(), eventsOf(*peer.channel), 0});
  ::poll(watched.data(), watched.size(), int(kTurn.count()));
  uint64_t calls = 0;
  if (watched[1].revents && ::read(wake, &calls, sizeof calls) < 0)
    calls = 0; // another turn has read them
  welcomeStrangers();
  for (uint32_t i = 1; i < peers.size(); ++i)
    if (peers[i].joined && !peers[i].left) {
      peers[i].channel->flush();
      hear(i);
    }
}

// Accepts connections. All ranks, and a few strangers, may connect at once. If there are too many strangers, the oldest
// is dropped.
void Meeting::welcomeStrangers() {
  for (size_t accepted = 0; accepted < ranks() + kSpareStrangers; ++accepted) {
    std::unique_ptr<Channel> channel = listener->accept();
    if (!channel)
      break;
    if (channel->isOfAnotherUser())
      continue;
    if (strangers.size() == ranks() + kSpareStrangers)
      strangers.erase(strangers.begin());
    Stranger &stranger = strangers.emplace_back(std::move(channel), Clock::now(), randomDigest());
    Writer writer;
    add(writer, stranger.challenge);
    stranger.channel->send({Challenge, writer.text});
  }
  for (Stranger &stranger : strangers)
    greet(stranger);
  std::erase_if(strangers, [](const Stranger &stranger) { return !stranger.channel; });
  bool isComplete = std::all_of(peers.begin(), peers.end(), [](const Peer &peer) { return peer.joined; });
  std::unique_lock lock(mutex);
  if (isComplete && !complete)
    welcome();
}

// Reads a stranger's message. Closes its channel if it has left or was silent too long.
void Meeting::greet(Stranger &stranger) {
  bool isThere = stranger.channel->receive(kLargestHello);
  if (std::optional<Message> message = stranger.channel->take(kLargestHello))
    seat(stranger, *message);
  else if (!isThere || Clock::now() - stranger.came > kPatience)
    stranger.channel.reset();
}

void Meeting::seat(Stranger &stranger, const Message &hello) {
  std::unique_ptr<Channel> channel = std::move(stranger.channel);
  const std::string &secret = options.place.secret;
  size_t signedBytes = hello.body.size() - std::min(hello.body.size(), sizeof(Digest));
  Reader reader(hello.body), signature(std::string_view(hello.body).substr(signedBytes));
  auto version = reader.number<uint32_t>(), rank = reader.number<uint32_t>(), count = reader.number<uint32_t>(),
       pid = reader.number<uint32_t>();
  Digest question = digestOf(reader);
  std::string host = reader.words(), processors = reader.words(), quotaGroup = reader.words();
  if (hello.kind != Hello || version != kHelloVersion ||
      reader.left() != sizeof(Digest)) // not Heddle, or another version of it
    return;
  if (!isSame(digestOf(signature),
              prove(secret, kOther, stranger.challenge, std::string_view(hello.body).substr(0, signedBytes)))) {
    ++impostors;
    channel->send({WrongSecret, {}});
    return;
  }
  Writer proof;
  add(proof, prove(secret, kFirst, question, {}));
  channel->send({Seat, proof.text});
  bool isAllThere = std::all_of(peers.begin(), peers.end(), [](const Peer &peer) { return peer.joined; });
  if (isAllThere) { // a running training does not end because another one starts
    channel->send({Refusal, str("another training of ", ranks(), " ranks (rank 0 is process ", peers[0].pid, " on ",
                                peers[0].host, ") runs at the place where rank ", rank, " of ", count,
                                " was to meet the others; give a --rendezvous of its own.")});
    stranger.channel = std::move(channel); // keeps it open until the stranger has read the message
    return;
  }
  if (count != ranks() || rank == 0 || rank >= ranks() || peers[rank].joined)
    end(str("process ", pid, " on ", host, " says that it is rank ", rank, " of ", count, ", and ",
            count != ranks() ? str("rank 0 is one of ", ranks()) : str("there is one already"),
            "; another training may be meeting at the same place."));
  Peer &peer = peers[rank];
  peer.channel = std::move(channel);
  peer.joined = true;
  peer.pid = pid;
  peer.host = host;
  peer.processors = processors;
  peer.quotaGroup = quotaGroup;
  peer.heard = peer.changed = Clock::now();
}

// Tells all ranks that everyone has joined.
void Meeting::welcome() {
  for (uint32_t i = 0; i < ranks(); ++i) {
    uint32_t local = 0, sharers = 0, quotaSharers = 0;
    for (uint32_t j = 0; j < ranks(); ++j) {
      bool isHere = peers[j].host == peers[i].host;
      local += isHere && j < i;
      sharers += isHere && mayOverlap(peers[j].processors, peers[i].processors);
      quotaSharers += isHere && peers[j].quotaGroup == peers[i].quotaGroup;
    }
    if (i == 0) {
      ownSharers = sharers;
      ownQuotaSharers = quotaSharers;
      continue;
    }
    Writer welcome;
    welcome.add(local).add(sharers).add(quotaSharers).add(peers[0].pid).add(std::string_view(peers[0].host));
    peers[i].channel->send({Welcome, welcome.text});
  }
  complete = true;
  changed.notify_all();
}

void Meeting::hear(uint32_t rank) {
  Peer &peer = peers[rank];
  bool isThere = peer.channel->receive();
  while (std::optional<Message> message = peer.channel->take())
    take(rank, *message);
  if (!isThere && !peer.left)
    end(str(describe(rank, peer), " has ended unexpectedly, ", describe(peer.state),
            ". All ranks end; --resume goes on from the newest checkpoint."));
}

void Meeting::take(uint32_t rank, const Message &message) {
  Peer &peer = peers[rank];
  peer.heard = Clock::now();
  switch (message.kind) {
  case Place: {
    State state = unpack(message.body);
    if (state.changes != peer.state.changes)
      peer.changed = peer.heard;
    peer.state = std::move(state);
    break;
  }
  case Numbers:
    peer.sums.push_back(unpackNumbers(message.body));
    break;
  case Failure:
    end(str(describe(rank, peer), ": ", message.body));
    break;
  case Bye:
    peer.left = true;
    break;
  default:
    end(str(describe(rank, peer),
            " says what rank 0 does not understand: the ranks are of different builds of Heddle."));
  }
}

void Meeting::addUp() {
  while (std::all_of(peers.begin(), peers.end(), [](const Peer &peer) { return !peer.sums.empty(); })) {
    std::vector<double> total = peers[0].sums.front();
    for (uint32_t i = 0; i < ranks(); ++i) {
      std::vector<double> values = std::move(peers[i].sums.front());
      peers[i].sums.erase(peers[i].sums.begin());
      if (values.size() != total.size())
        end(str(describe(i, peers[i]), " adds ", values.size(), " numbers and rank 0 ", total.size(),
                ": the ranks do not do the same."));
      for (size_t k = 0; i > 0 && k < total.size(); ++k)
        total[k] += values[k];
    }
    tellAll({Sums, packNumbers(total)});
    std::lock_guard lock(mutex);
    results.push_back(std::move(total));
    changed.notify_all();
  }
}

// Ends all ranks if a rank is silent, or makes no progress while others wait.
void Meeting::watch() {
  auto seconds = str(options.timeout, " s");
  for (uint32_t i = 1; i < ranks(); ++i)
    if (!peers[i].left && isDue(peers[i].heard))
      end(str(describe(i, peers[i]), " has said nothing for almost the --timeout of ", seconds, ", ",
              describe(peers[i].state),
              ": its process stands still or its machine cannot be reached. All ranks end; --resume goes on from the "
              "newest checkpoint."));
  auto waits = [](const Peer &peer) {
    return !peer.left && (peer.state.doing == Doing::Waiting || peer.state.doing == Doing::Together);
  };
  if (std::none_of(peers.begin(), peers.end(), [&](const Peer &peer) { return waits(peer) && isDue(peer.changed); }))
    return;
  // The others wait for the rank that has waited the fewest times; among equals, for a rank that is not waiting.
  auto progress = [&](const Peer &peer) { return std::pair(peer.state.waits, waits(peer)); };
  std::optional<uint32_t> late;
  bool isAnyAhead = false, isAnyMoving = false;
  for (uint32_t i = 0; i < ranks(); ++i)
    if (!peers[i].left && (!late || progress(peers[i]) < progress(peers[*late])))
      late = i;
  for (const Peer &peer : peers) {
    isAnyAhead |= !peer.left && late && progress(peers[*late]) < progress(peer);
    isAnyMoving |= !peer.left && !isDue(peer.changed);
  }
  if (!late || peers[*late].state.doing == Doing::Busy || !isDue(peers[*late].changed))
    return;
  // A waiting rank may not know yet that the rank it waits for has arrived.
  if (waits(peers[*late]) && isAnyMoving)
    return;
  if (isAnyAhead || !waits(peers[*late]))
    end(str(describe(*late, peers[*late]), " has stood still for almost the --timeout of ", seconds,
            " while others wait for it, ", describe(peers[*late].state),
            ". All ranks end; --resume goes on from the newest checkpoint."));
  // All ranks wait for each other in the same place: no rank is to blame.
  bool isTogether = peers[*late].state.doing == Doing::Together;
  if (!isTogether || isDue(peers[*late].changed, kTogether))
    end(str("all ranks have waited for each other for ", isTogether ? str("almost ", kTogether, " times") : "almost",
            " the --timeout of ", seconds, ", ", describe(peers[*late].state),
            ": a device, or the connection between two of them, stands still, or a step takes longer than "
            "that. All ranks end; --resume goes on from the newest checkpoint."));
}

void Meeting::tellAll(const Message &message) {
  for (Peer &peer : peers)
    if (peer.channel && !peer.left)
      peer.channel->send(message);
}

void Meeting::end(const std::string &message) {
  for (Peer &peer : peers)
    if (peer.channel)
      peer.channel->send({End, {}});
  finish(message, true);
}

//===-- The other ranks -----------------------------------------------------------------------------------------===//

void Meeting::lose(const std::string &how) {
  std::this_thread::sleep_for(kTurn); // an End message may be on its way
  peers[0].channel->receive();
  bool isSaid = false;
  while (std::optional<Message> message = peers[0].channel->take())
    isSaid |= message->kind == End;
  finish(str(describe(0, peers[0]), how, ", ", describe(peers[0].state),
             ". All ranks end; --resume goes on from the newest checkpoint."),
         !isSaid && rank() == 1);
}

// Handles messages until rank 0 has proved that it knows the secret.
void Meeting::introduce(const Message &message) {
  const std::string &secret = options.place.secret;
  Reader reader(message.body);
  Digest digest = digestOf(reader);
  bool isWhole = reader.isWhole && reader.left() == 0;
  if (message.kind == Challenge && isWhole) {
    challenge = randomDigest();
    Writer hello;
    hello.add(kHelloVersion).add(rank()).add(ranks()).add(uint32_t(::getpid()));
    add(hello, challenge);
    hello.add(std::string_view(hostName()).substr(0, kLargestHello / 2)).add(std::string_view(ownProcessors));
    hello.add(std::string_view(options.quotaGroup));
    add(hello, prove(secret, kOther, digest, hello.text));
    peers[0].channel->send({Hello, hello.text});
  } else if (message.kind == WrongSecret) {
    finish(str("rank ", rank(), " of ", ranks(),
               " does not know the secret of those who meet at this place: "
               "HEDDLE_RANKS_SECRET or the file of --ranks-secret-file differs, or another training meets there."),
           true);
  } else if (message.kind == Seat && isWhole) {
    if (!isSame(digest, prove(secret, kFirst, challenge, {})))
      finish(str("who listens at the place where ranks meet does not know the secret of rank ", rank(), " of ", ranks(),
                 ": it is not rank 0."),
             true);
    isSeated = true;
  }
}

void Meeting::hearFirst(const Message &message) {
  Peer &first = peers[0];
  Reader reader(message.body);
  std::lock_guard lock(mutex);
  switch (message.kind) {
  case Welcome:
    ownLocalRank = reader.number<uint32_t>();
    ownSharers = reader.number<uint32_t>();
    ownQuotaSharers = reader.number<uint32_t>();
    first.pid = reader.number<uint32_t>();
    first.host = reader.words();
    complete = true;
    changed.notify_all();
    break;
  case Place:
    first.state = unpack(message.body);
    break;
  case Sums:
    results.push_back(unpackNumbers(message.body));
    changed.notify_all();
    break;
  case End:
    finish({}, false);
  case Refusal: // each rank of the refused training run gets and prints it
    finish(message.body, true);
  default:
    break;
  }
}

void Meeting::follow() {
  Peer &first = peers[0];
  bool saidBye = false;
  while (true) {
    pollfd watched{first.channel->descriptor(), eventsOf(*first.channel), 0};
    ::poll(&watched, 1, int(kTurn.count()));
    first.channel->flush();
    bool isThere = first.channel->receive();
    while (std::optional<Message> message = first.channel->take()) {
      first.heard = Clock::now();
      isSeated ? hearFirst(*message) : introduce(*message);
    }
    bool isLeaving, isComplete;
    {
      std::lock_guard lock(mutex);
      isLeaving = leaving;
      isComplete = complete;
    }
    if (isLeaving && !saidBye) {
      first.channel->send({Bye, {}});
      saidBye = true;
    }
    if (saidBye && !first.channel->hasUnsent())
      return;
    if (!isThere)
      lose(isComplete ? " has ended unexpectedly" : " has ended before all ranks had come");
    // The other end may be another program, at the address of an earlier training run.
    if (!isComplete && std::chrono::duration<double>(Clock::now() - begun).count() > options.timeout)
      finish(str("rank 0 of ", ranks(), " has not welcomed rank ", rank(), " where ranks meet within the --timeout of ",
                 options.timeout, " s."),
             rank() == 1);
    if (isDue(first.heard) && isComplete)
      lose(str(" has said nothing for almost the --timeout of ", options.timeout,
               " s: its process stands still or its machine cannot "
               "be reached"));
    if (isSeated && Clock::now() - told > kTell && !first.channel->hasUnsent()) {
      told = Clock::now();
      first.channel->send({Place, pack(ownState())});
    }
  }
}

//===-- All ranks -----------------------------------------------------------------------------------------------===//

Result<std::vector<double>> Meeting::sum(const std::vector<double> &values, std::string_view what) {
  Waiting waiting(*this, what);
  if (rank() != 0)
    peers[0].channel->send({Numbers, packNumbers(values)});
  std::unique_lock lock(mutex);
  if (rank() == 0) {
    given.push_back(values);
    callThread();
  }
  changed.wait(lock, [&] { return !results.empty(); });
  std::vector<double> result = std::move(results.front());
  results.erase(results.begin());
  return result;
}

// A sum in which each byte is a number to which the other ranks add 0.
Status Meeting::broadcast(std::span<std::byte> bytes, std::string_view what) {
  std::vector<double> values(bytes.size());
  for (size_t i = 0; rank() == 0 && i < bytes.size(); ++i)
    values[i] = double(bytes[i]);
  HEDDLE_ASSIGN(values, sum(values, what));
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = std::byte(values[i]);
  return Success();
}

void Meeting::fail(std::string_view message) {
  if (rank() == 0)
    end(std::string(message));
  peers[0].channel->send({Failure, std::string(message)});
  std::this_thread::sleep_for(std::chrono::seconds(5)); // rank 0's End message usually ends this process first
  finish(str("rank ", rank(), " of ", ranks(), ": ", message), true);
}

} // namespace heddle
