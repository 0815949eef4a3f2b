// Finds this process's rank, the number of ranks, and the place where they meet, from the flags or the launcher.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace heddle {

// The place where ranks find each other.
struct Rendezvous {
  enum Kind {
    Mpi,   // MPI connects them
    Tcp,   // rank 0 listens at `host` and `port`
    File,  // rank 0 listens anywhere and writes its address into the file `path`, which all ranks can read
    Local, // all ranks are on this machine; `path` is a name that only this job has
  };
  Kind kind = Mpi;
  std::string host = {}, path = {};
  uint16_t port = 0;
};

// Parses "mpi", "tcp:HOST:PORT" or "file:PATH".
Result<Rendezvous> parseRendezvous(const std::string &text);

struct RankFlags {
  std::optional<uint32_t> rank, ranks;
  std::string rendezvous; // empty: the launcher's
  std::string secretFile; // empty: use HEDDLE_RANKS_SECRET, if it is set
};

struct RankPlace {
  uint32_t rank = 0, ranks = 1;
  Rendezvous rendezvous;
  std::string launcher; // "mpirun", "torchrun", "srun" or "--rank", for messages
  std::string secret;   // known to all ranks; may be empty unless they meet by TCP
};

// Returns an environment variable, or null.
using Environment = std::function<const char *(const char *)>;

// Finds this process's place. Flags take precedence over the variables that launchers set (mpirun, torchrun, srun).
// Without either, this process is the only rank.
Result<RankPlace> findRankPlace(const RankFlags &flags, const Environment &environment);

// Returns the first host of Slurm's list of hosts: "node17" for "node[17-20,33],other".
std::string firstHost(const std::string &list);

} // namespace heddle
