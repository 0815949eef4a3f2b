#include "runtime/ranks/Ranks.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace heddle {

Result<std::unique_ptr<Ranks>> Ranks::join(MeetingOptions options) {
  auto ranks = std::make_unique<Ranks>();
  RankPlace place = options.place;
  if (place.rendezvous.kind != Rendezvous::Mpi) {
    HEDDLE_ASSIGN(ranks->meeting, Meeting::join(std::move(options)));
    Meeting::Waiting waiting(*ranks->meeting, "the begin of MPI");
    Result<std::unique_ptr<Mpi>> mpi = Mpi::open(place.rank, place.ranks);
    if (!mpi) {
      ranks->meeting->fail(mpi.message());
      return std::move(mpi).error();
    }
    ranks->mpi = std::move(*mpi);
    return ranks;
  }
  // Rank 0 says by MPI where it listens.
  HEDDLE_ASSIGN(ranks->mpi, Mpi::open(place.rank, place.ranks));
  std::array<std::byte, 512> address{};
  std::unique_ptr<Listener> listener;
  if (place.rank == 0) {
    Result<std::unique_ptr<Listener>> opened = Listener::open(place.rendezvous);
    if (!opened) {
      HEDDLE_CHECK(ranks->mpi->broadcast(address)); // no address: the others end too
      return std::move(opened).error();
    }
    listener = std::move(*opened);
    std::memcpy(address.data(), listener->address().data(), std::min(listener->address().size(), address.size() - 1));
  }
  HEDDLE_CHECK(ranks->mpi->broadcast(address));
  if (address[0] == std::byte(0))
    return makeError(ErrorKind::Io, "rank 0 cannot listen for the other ranks, and says why.");
  HEDDLE_ASSIGN(ranks->meeting,
                Meeting::join(std::move(options), std::move(listener), reinterpret_cast<const char *>(address.data())));
  return ranks;
}

Ranks::~Ranks() {
  if (meeting)
    atTheEnd.emplace(*meeting, "the end of MPI");
}

Status Ranks::sum(std::span<float> values, std::string_view what) {
  Meeting::Waiting waiting(*meeting, what);
  return mpi->sum(values);
}

Status Ranks::gather(std::span<const std::byte> own, std::span<std::byte> all, std::string_view what) {
  Meeting::Waiting waiting(*meeting, what);
  return mpi->gather(own, all);
}

Status Ranks::broadcast(std::span<std::byte> bytes, std::string_view what) {
  Meeting::Waiting waiting(*meeting, what);
  return mpi->broadcast(bytes);
}

} // namespace heddle
