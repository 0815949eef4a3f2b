#include "runtime/ranks/Meeting.h"

#include "runtime/ranks/MeetingMessages.h"

#include <algorithm>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace heddle {

using namespace meeting;

namespace {

// Returns the affinity mask of this thread. Empty if it cannot be read, as on machines with more processors than a
// cpu_set_t has bits.
std::string processorMask() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0)
    return {};
  return {reinterpret_cast<const char *>(&set), sizeof set};
}

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
