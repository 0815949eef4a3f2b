#include "runtime/ranks/Launcher.h"

#include "runtime/ranks/Secret.h"

#include <charconv>
#include <cstring>
#include <string_view>

namespace heddle {
namespace {

// More ranks than any machine has devices.
constexpr uint32_t mostRanks = 1 << 16;
// Slurm's jobs meet at ports of this range, chosen by job number. It lies above the ports of services and below the
// ephemeral ports.
constexpr uint32_t firstPort = 20000, ports = 12000;

std::optional<uint32_t> parseNumber(std::string_view text) {
  uint32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(number)
                                                                                   : std::nullopt;
}

// Reads a number from the environment. Fails if the variable holds something else.
Result<std::optional<uint32_t>> readNumber(const Environment &environment, const char *name) {
  const char *text = environment(name);
  if (!text)
    return std::optional<uint32_t>();
  std::optional<uint32_t> number = parseNumber(text);
  if (!number)
    return makeError(ErrorKind::InvalidArgument, "the environment says ", name, "=", text,
                     ", which is no number; a launcher sets it, or --rank, --ranks and --rendezvous stand for it.");
  return number;
}

struct Found {
  std::optional<uint32_t> rank, ranks;
};

Result<Found> readPair(const Environment &environment, const char *rank, const char *ranks) {
  Found found;
  HEDDLE_ASSIGN(found.rank, readNumber(environment, rank));
  HEDDLE_ASSIGN(found.ranks, readNumber(environment, ranks));
  return found.rank && found.ranks ? found : Found();
}

// If all of Open MPI's ranks are on this machine, they meet before MPI begins, so that the meeting notices a rank that
// ends early.
Rendezvous rendezvousOfMpi(const Environment &environment) {
  const char *job = environment("PMIX_NAMESPACE"), *here = environment("OMPI_COMM_WORLD_LOCAL_SIZE"),
             *all = environment("OMPI_COMM_WORLD_SIZE");
  if (job && here && all && std::strcmp(here, all) == 0)
    return {Rendezvous::Local, {}, str("heddle.", job)};
  return {Rendezvous::Mpi};
}

Result<RankPlace> readLauncher(const Environment &environment) {
  HEDDLE_ASSIGN(Found torch, readPair(environment, "RANK", "WORLD_SIZE"));
  const char *address = environment("MASTER_ADDR");
  if (torch.rank && address) {
    if (!*address)
      return makeError(ErrorKind::InvalidArgument,
                       "the environment says MASTER_ADDR=, which names no machine; it is the one of rank 0.");
    HEDDLE_ASSIGN(std::optional<uint32_t> port, readNumber(environment, "MASTER_PORT"));
    if (!port || *port == 0 || *port >= 0xffff)
      return makeError(ErrorKind::InvalidArgument, "the environment says MASTER_ADDR=", address,
                       ", and MASTER_PORT is no port from 1 to 65534.");
    // torchrun's agent itself listens at MASTER_PORT, so the ranks use the next port.
    uint32_t own = environment("TORCHELASTIC_RUN_ID") ? *port + 1 : *port;
    return RankPlace{*torch.rank, *torch.ranks, {Rendezvous::Tcp, address, {}, uint16_t(own)}, "torchrun"};
  }
  HEDDLE_ASSIGN(Found mpi, readPair(environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"));
  if (mpi.rank)
    return RankPlace{*mpi.rank, *mpi.ranks, rendezvousOfMpi(environment), "mpirun"};
  HEDDLE_ASSIGN(Found slurm, readPair(environment, "SLURM_PROCID", "SLURM_NTASKS"));
  if (slurm.rank && environment("SLURM_STEP_ID")) { // a batch script is no rank
    HEDDLE_ASSIGN(std::optional<uint32_t> job, readNumber(environment, "SLURM_JOB_ID"));
    HEDDLE_ASSIGN(std::optional<uint32_t> step, readNumber(environment, "SLURM_STEP_ID"));
    const char *nodes = environment("SLURM_STEP_NODELIST");
    if (!nodes)
      nodes = environment("SLURM_JOB_NODELIST");
    uint32_t port = firstPort + (job.value_or(0) * 7 + step.value_or(0)) % ports;
    return RankPlace{*slurm.rank,
                     *slurm.ranks,
                     {Rendezvous::Tcp, firstHost(nodes ? nodes : "localhost"), {}, uint16_t(port)},
                     "srun"};
  }
  return RankPlace();
}

} // namespace

std::string firstHost(const std::string &list) {
  size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket)
    return list.substr(0, comma);
  size_t end = list.find_first_of(",-]", bracket + 1), close = list.find(']', bracket);
  if (end == std::string::npos || close == std::string::npos)
    return list;
  size_t rest = list.find(',', close);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1) +
         list.substr(close + 1, rest == std::string::npos ? rest : rest - close - 1);
}

Result<Rendezvous> parseRendezvous(const std::string &text) {
  if (text == "mpi")
    return Rendezvous{Rendezvous::Mpi};
  if (text.starts_with("file:") && text.size() > 5)
    return Rendezvous{Rendezvous::File, {}, text.substr(5)};
  if (text.starts_with("tcp:")) {
    size_t colon = text.rfind(':');
    std::string host = colon > 4 ? text.substr(4, colon - 4) : "";
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') // an IPv6 address
      host = host.substr(1, host.size() - 2);
    std::optional<uint32_t> port = parseNumber(std::string_view(text).substr(colon + 1));
    if (!host.empty() && port && *port > 0 && *port <= 0xffff)
      return Rendezvous{Rendezvous::Tcp, host, {}, uint16_t(*port)};
  }
  return makeError(ErrorKind::InvalidArgument, "--rendezvous: '", text,
                   "' is no place where ranks can meet; give tcp:HOST:PORT, file:PATH or mpi.");
}

Result<RankPlace> findRankPlace(const RankFlags &flags, const Environment &environment) {
  RankPlace place;
  bool isSaid = flags.rank && flags.ranks && !flags.rendezvous.empty();
  if (!isSaid) {
    HEDDLE_ASSIGN(place, readLauncher(environment));
  }
  if (flags.rank || flags.ranks) {
    if (!flags.rank || !flags.ranks)
      return makeError(ErrorKind::InvalidArgument,
                       "--rank and --ranks come together: which rank this is, from 0 on, and of how many.");
    if (place.launcher.empty() && flags.rendezvous.empty() && *flags.ranks > 1)
      return makeError(ErrorKind::InvalidArgument,
                       "--rank and --ranks need --rendezvous, where the ranks meet: tcp:HOST:PORT, "
                       "file:PATH or mpi.");
    place.rank = *flags.rank;
    place.ranks = *flags.ranks;
    place.launcher = "--rank";
  }
  if (!flags.rendezvous.empty()) {
    HEDDLE_ASSIGN(place.rendezvous, parseRendezvous(flags.rendezvous));
    if (place.launcher.empty())
      return makeError(ErrorKind::InvalidArgument,
                       "--rendezvous is where ranks meet, and there is one process alone: give --rank and "
                       "--ranks, or start it by mpirun, torchrun or srun.");
    if (place.rendezvous.kind == Rendezvous::Mpi)
      place.rendezvous = rendezvousOfMpi(environment);
  }
  if (place.ranks == 0 || place.ranks > mostRanks || place.rank >= place.ranks)
    return makeError(ErrorKind::InvalidArgument, place.launcher, " says rank ", place.rank, " of ", place.ranks,
                     place.ranks == 0 || place.ranks > mostRanks
                         ? str("; there may be 1 to ", mostRanks, " ranks.")
                         : str("; ranks count from 0 to ", place.ranks - 1, "."));
  if (place.ranks == 1)
    return place;
  HEDDLE_ASSIGN(place.secret, readSecret(flags.secretFile, environment));
  if (place.rendezvous.kind == Rendezvous::Tcp && place.secret.empty())
    return makeError(ErrorKind::InvalidArgument, "the ranks meet at tcp:", place.rendezvous.host, ":",
                     place.rendezvous.port,
                     ", where anybody may come, and have no secret to know each other by. Give "
                     "all of them the same one, such as `openssl rand -hex 32` prints, in the variable "
                     "HEDDLE_RANKS_SECRET or in a file that --ranks-secret-file names.");
  return place;
}

} // namespace heddle
