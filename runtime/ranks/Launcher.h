// Which of how many ranks this process is, as its launcher says, and where the ranks meet.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace heddle {

// Where ranks find each other.
struct Rendezvous {
  enum Kind {
    Mpi,   // by MPI's own means
    Tcp,   // rank 0 listens at `host` and `port`
    File,  // rank 0 listens anywhere and writes where into the file `path`, which all ranks can read
    Local, // all ranks are on this machine; `path` is a name that no other job has
  };
  Kind kind = Mpi;
  std::string host = {}, path = {};
  uint16_t port = 0;
};

// Of "mpi", "tcp:HOST:PORT" or "file:PATH".
Result<Rendezvous> parseRendezvous(const std::string &text);

struct RankFlags {
  std::optional<uint32_t> rank, ranks;
  std::string rendezvous; // empty: the launcher's
  std::string secretFile; // empty: HEDDLE_RANKS_SECRET has the secret, if there is one
};

struct RankPlace {
  uint32_t rank = 0, ranks = 1;
  Rendezvous rendezvous;
  std::string launcher; // "mpirun", "torchrun", "srun" or "--rank", for messages
  std::string secret;   // that all ranks know; may be empty but for ranks that meet by TCP
};

// Looks up a variable of the environment; null where there is none.
using Environment = std::function<const char *(const char *)>;

// The flags take precedence over what launchers set (mpirun, torchrun, srun). Without either: the only rank.
Result<RankPlace> findRankPlace(const RankFlags &flags, const Environment &environment);

// The first of Slurm's list of hosts: "node17" of "node[17-20,33],other".
std::string firstHost(const std::string &list);

} // namespace heddle
