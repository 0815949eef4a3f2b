#include "runtime/ranks/Channel.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace heddle {
namespace {

constexpr size_t headBytes = sizeof(uint32_t) + 1;
constexpr uint32_t largestBody = 1 << 20;

std::string reason() { return std::strerror(errno); }

// An address that belongs to the machine and to no file: it is gone with the process that listens.
socklen_t localAddress(const std::string &name, sockaddr_un &address) {
  address = {};
  address.sun_family = AF_UNIX;
  std::string full = str(name, ".", ::getuid());
  size_t length = std::min(full.size(), sizeof address.sun_path - 1);
  // A long name keeps its end, where the differences are.
  std::memcpy(address.sun_path + 1, full.data() + full.size() - length, length);
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + length);
}

struct Addresses {
  addrinfo *list = nullptr;
  ~Addresses() {
    if (list)
      ::freeaddrinfo(list);
  }
};

int lookUp(const std::string &host, const std::string &port, bool passive, Addresses &found) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = passive ? AI_PASSIVE : 0;
  return ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found.list);
}

void tune(int socket) {
  int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // no harm to a local socket
}

} // namespace

std::string hostName() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

Channel::~Channel() { ::close(socket); }

bool Channel::send(const Message &message) {
  {
    std::lock_guard lock(sending);
    unsent += Writer().add(uint32_t(message.body.size())).add(message.kind).text + message.body;
  }
  return flush();
}

bool Channel::flush() {
  std::lock_guard lock(sending);
  size_t done = 0;
  bool isThere = true;
  while (isThere && done < unsent.size()) {
    ssize_t sent = ::send(socket, unsent.data() + done, unsent.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
      done += size_t(sent);
    else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    else
      isThere = sent < 0 && errno == EINTR;
  }
  unsent.erase(0, done);
  return isThere;
}

bool Channel::hasUnsent() {
  std::lock_guard lock(sending);
  return !unsent.empty();
}

bool Channel::receive() {
  char buffer[4096];
  while (true) {
    ssize_t got = ::recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got > 0)
      arrived.append(buffer, size_t(got));
    else if (got < 0 && errno == EINTR)
      continue;
    else
      return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
}

std::optional<Message> Channel::take() {
  Reader reader(arrived);
  auto size = reader.number<uint32_t>();
  auto kind = reader.number<uint8_t>();
  if (size > largestBody) { // nobody of ours says that
    arrived.clear();
    return Message{};
  }
  if (arrived.size() < headBytes + size)
    return std::nullopt;
  Message message{kind, arrived.substr(headBytes, size)};
  arrived.erase(0, headBytes + size);
  return message;
}

Listener::~Listener() {
  ::close(socket);
  if (!file.empty())
    ::unlink(file.c_str());
}

std::unique_ptr<Channel> Listener::accept() {
  int accepted = ::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
  if (accepted < 0)
    return nullptr;
  tune(accepted);
  return std::make_unique<Channel>(accepted);
}

Result<std::unique_ptr<Listener>> Listener::open(const Rendezvous &rendezvous) {
  if (rendezvous.kind == Rendezvous::Local) {
    sockaddr_un address;
    socklen_t length = localAddress(rendezvous.path, address);
    int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0 || ::bind(socket, reinterpret_cast<sockaddr *>(&address), length) != 0 ||
        ::listen(socket, SOMAXCONN) != 0) {
      std::string problem = reason();
      if (socket >= 0)
        ::close(socket);
      return makeError(ErrorKind::Io, "ranks cannot meet at the local address '", rendezvous.path, "': ", problem, ".");
    }
    return std::unique_ptr<Listener>(new Listener(socket, {}, {}));
  }
  bool isTcp = rendezvous.kind == Rendezvous::Tcp;
  std::string port = std::to_string(isTcp ? rendezvous.port : 0), problem = "no address";
  Addresses found;
  lookUp({}, port, /*passive=*/true, found);
  std::vector<const addrinfo *> candidates;
  for (const addrinfo *info = found.list; info; info = info->ai_next)
    candidates.push_back(info);
  // A socket of IPv6 takes connections of IPv4, too; where there is no IPv6, those of IPv4 remain.
  std::ranges::stable_partition(candidates, [](const addrinfo *info) { return info->ai_family == AF_INET6; });
  for (const addrinfo *info : candidates) {
    int socket = ::socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, off = 0;
    if (socket < 0)
      continue;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (info->ai_family == AF_INET6)
      ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (::bind(socket, info->ai_addr, info->ai_addrlen) != 0 || ::listen(socket, SOMAXCONN) != 0) {
      problem = reason();
      ::close(socket);
      continue;
    }
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    ::getsockname(socket, reinterpret_cast<sockaddr *>(&own), &length);
    uint16_t number = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 *>(&own)->sin6_port
                                                      : reinterpret_cast<sockaddr_in *>(&own)->sin_port);
    std::string address = str(isTcp ? rendezvous.host : hostName(), ":", number);
    if (rendezvous.kind == Rendezvous::File) { // whole or not at all
      std::string draft = str(rendezvous.path, ".", ::getpid());
      std::ofstream(draft) << address << "\n";
      std::error_code error;
      std::filesystem::rename(draft, rendezvous.path, error);
      if (error) {
        ::close(socket);
        return makeError(ErrorKind::Io, "cannot write the file '", rendezvous.path,
                         "', by which ranks are to meet: ", error.message(), ".");
      }
    }
    return std::unique_ptr<Listener>(
        new Listener(socket, address, rendezvous.kind == Rendezvous::File ? rendezvous.path : ""));
  }
  return makeError(ErrorKind::Io, "rank 0 cannot listen at port ", port, " for the other ranks: ", problem,
                   ". Another program may have the port; --rendezvous=tcp:HOST:PORT takes another one.");
}

Result<std::unique_ptr<Channel>> connectTo(const Rendezvous &rendezvous, const std::string &given) {
  std::unique_ptr<Channel> none;
  if (rendezvous.kind == Rendezvous::Local && given.empty()) {
    sockaddr_un address;
    socklen_t length = localAddress(rendezvous.path, address);
    int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0)
      return makeError(ErrorKind::Io, "cannot make a socket: ", reason(), ".");
    auto channel = std::make_unique<Channel>(socket);
    return ::connect(socket, reinterpret_cast<sockaddr *>(&address), length) == 0 ? std::move(channel)
                                                                                  : std::move(none);
  }
  std::string address = given;
  if (address.empty() && rendezvous.kind == Rendezvous::File) {
    std::ifstream(rendezvous.path) >> address;
    if (address.empty())
      return none;
  }
  if (address.empty())
    address = str(rendezvous.host, ":", rendezvous.port);
  size_t colon = address.rfind(':');
  if (colon == std::string::npos)
    return none;
  Addresses found;
  if (lookUp(address.substr(0, colon), address.substr(colon + 1), /*passive=*/false, found) != 0)
    return none; // names of machines that start come late
  for (const addrinfo *info = found.list; info; info = info->ai_next) {
    int socket = ::socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0)
      continue;
    auto channel = std::make_unique<Channel>(socket);
    timeval limit{1, 0}; // a machine that does not answer is asked again, until the caller's time is over
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(socket, info->ai_addr, info->ai_addrlen) != 0)
      continue;
    tune(socket);
    return channel;
  }
  return none;
}

} // namespace heddle
