// Rank 0's side of the meeting: it accepts the other ranks, adds their numbers, and ends all ranks if one is lost.
#include "runtime/ranks/Meeting.h"

#include "runtime/ranks/MeetingMessages.h"

#include <algorithm>
#include <unistd.h>

namespace heddle {

using namespace meeting;

// Returns true if two masks may have a processor in common.
static bool mayOverlap(std::string_view a, std::string_view b) {
  if (a.size() != b.size() || a.empty())
    return true;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] & b[i])
      return true;
  return false;
}

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

} // namespace heddle
