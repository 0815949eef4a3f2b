#include "runtime/ranks/Ranks.h"

#include "runtime/core/ProcessorCount.h"
#include "runtime/core/Threads.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

namespace heddle {
namespace {

void shareProcessors(const Meeting &meeting) {
  processesThatShare = meeting.sharers();
  processesInQuota = meeting.quotaSharers();
}

} // namespace

Result<std::unique_ptr<Ranks>> Ranks::join(MeetingOptions options, TransportChoice choice) {
  auto ranks = std::make_unique<Ranks>();
  ranks->choice = choice;
  RankPlace place = options.place;
  options.quotaGroup = processorQuota().group;
  if (place.rendezvous.kind != Rendezvous::Mpi) {
    HEDDLE_ASSIGN(ranks->meeting, Meeting::join(std::move(options)));
    shareProcessors(*ranks->meeting);
    return ranks;
  }
  // Rank 0 broadcasts its address, and a secret for this meeting, with MPI.
  HEDDLE_ASSIGN(ranks->mpi, Mpi::open(place.rank, place.ranks));
  std::array<std::byte, 512> address{};
  std::unique_ptr<Listener> listener;
  if (place.rank == 0) {
    Result<std::unique_ptr<Listener>> opened = Listener::open(place.rendezvous, {});
    if (!opened) {
      HEDDLE_CHECK(ranks->mpi->broadcast(address)); // no address: the others end too
      return std::move(opened).error();
    }
    listener = std::move(*opened);
    std::string said = str(hexadecimal(randomDigest()), listener->address());
    std::memcpy(address.data(), said.data(), std::min(said.size(), address.size() - 1));
  }
  HEDDLE_CHECK(ranks->mpi->broadcast(address));
  if (address[0] == std::byte(0))
    return makeError(ErrorKind::Io, "rank 0 cannot listen for the other ranks, and says why.");
  const char *said = reinterpret_cast<const char *>(address.data());
  if (options.place.secret.empty())
    options.place.secret.assign(said, 2 * sizeof(Digest));
  HEDDLE_ASSIGN(ranks->meeting, Meeting::join(std::move(options), std::move(listener), said + 2 * sizeof(Digest)));
  shareProcessors(*ranks->meeting);
  return ranks;
}

Result<std::string> Ranks::whyNotNccl(hal::Device &device) {
  // Each rank sets the number at its own index: 0 if it cannot use NCCL, else a hash of its GPU. The sum shares them.
  Result<std::string> engine = device.groupEngine();
  std::vector<double> gpus(ranks());
  if (engine && choice != TransportChoice::Mpi) {
    uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    for (char letter : hostName() + " " + device.info().bus)
      hash = (hash ^ uint8_t(letter)) * 0x100000001b3;
    gpus[rank()] = double(hash >> 12) + 1; // exact as a double, and not 0
  }
  HEDDLE_ASSIGN(gpus, meeting->sum(gpus, "the choice of what carries numbers"));
  if (!engine)
    return engine.message();
  for (uint32_t i = 0; i < ranks(); ++i) {
    if (gpus[i] == 0)
      return str("rank ", i, " cannot use it.");
    for (uint32_t j = 0; j < i; ++j)
      if (gpus[i] == gpus[j])
        return str("ranks ", j, " and ", i, " share a GPU.");
  }
  return std::string();
}

Result<std::unique_ptr<hal::DeviceGroup>> Ranks::begin(hal::Device &device) {
  HEDDLE_ASSIGN(reason, whyNotNccl(device));
  if (reason.empty()) {
    hal::GroupId id{};
    if (isFirst()) {
      HEDDLE_ASSIGN(id, device.newGroupId());
    }
    HEDDLE_CHECK(meeting->broadcast(id, "the begin of NCCL"));
    Meeting::Waiting waiting(*meeting, "the begin of NCCL");
    HEDDLE_ASSIGN(std::unique_ptr<hal::DeviceGroup> group, device.joinGroup(id, rank(), ranks()));
    byDevices = transportByDevices(device, *group, rank(), ranks());
    return group;
  }
  if (choice == TransportChoice::Nccl) {
    if (device.groupEngine()) // the rank that cannot use NCCL has the better message, so let it fail first
      std::this_thread::sleep_for(std::chrono::seconds(2));
    return makeError(ErrorKind::Unsupported, "--transport=nccl cannot be: ", reason);
  }
  if (choice == TransportChoice::Mpi)
    reason.clear();
  if (!mpi) {
    Meeting::Waiting waiting(*meeting, "the begin of MPI");
    Result<std::unique_ptr<Mpi>> begun = Mpi::open(rank(), ranks());
    if (!begun)
      return makeError(begun.error().kind, begun.message(), reason.empty() ? "" : str(" NCCL is not used: ", reason));
    mpi = std::move(*begun);
  }
  return std::unique_ptr<hal::DeviceGroup>();
}

Ranks::~Ranks() {
  if (meeting && mpi)
    atTheEnd.emplace(*meeting, "the end of MPI");
}

Status Ranks::sum(std::span<float> values, std::string_view what) {
  Meeting::Waiting waiting(*meeting, what);
  return transport().sum(values);
}

Status Ranks::gather(std::span<const std::byte> own, std::span<std::byte> all, std::string_view what) {
  Meeting::Waiting waiting(*meeting, what);
  return transport().gather(own, all);
}

Status Ranks::broadcast(std::span<std::byte> bytes, std::string_view what) {
  Meeting::Waiting waiting(*meeting, what);
  return transport().broadcast(bytes);
}

} // namespace heddle
