#include "runtime/ranks/Channel.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sstream>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace heddle {
namespace {

constexpr size_t headBytes = sizeof(uint32_t) + 1;

std::string reason() { return std::strerror(errno); }

// Makes an abstract local address, which has no file: it disappears with the process that listens.
socklen_t localAddress(const std::string &name, sockaddr_un &address) {
  address = {};
  address.sun_family = AF_UNIX;
  std::string full = str(name, ".", ::getuid());
  size_t length = std::min(full.size(), sizeof address.sun_path - 1);
  // A long name keeps its end, which distinguishes it.
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

bool isLoopbackAddress(const sockaddr *address) {
  if (address->sa_family == AF_INET6) {
    const in6_addr &bytes = reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&bytes) || (IN6_IS_ADDR_V4MAPPED(&bytes) && bytes.s6_addr[12] == 127);
  }
  return address->sa_family == AF_INET &&
         ntohl(reinterpret_cast<const sockaddr_in *>(address)->sin_addr.s_addr) >> 24 == 127;
}

bool isAddress(const std::string &host) {
  in6_addr bytes{};
  return ::inet_pton(AF_INET, host.c_str(), &bytes) == 1 || host.find(':') != std::string::npos;
}

// Returns the error for a host that will never have an address. Nothing if it may get one later.
std::optional<Error> errorOfLookUp(const std::string &host, int problem) {
  if (problem == 0 || problem == EAI_AGAIN)
    return std::nullopt;
  return Error{ErrorKind::InvalidArgument,
               str("ranks are to meet at the machine '", printable(host),
                   "', which has no address: ", problem == EAI_SYSTEM ? reason() : ::gai_strerror(problem),
                   ". Give --rendezvous=tcp:HOST:PORT, or the launcher, the name or the address of rank 0's machine.")};
}

// Listens at an address. On failure returns a negative number, and sets `problem` and errno.
int listenAt(const addrinfo *info, std::string &problem) {
  int socket = ::socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, off = 0;
  if (socket < 0) {
    problem = reason();
    return socket;
  }
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (info->ai_family == AF_INET6)
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(socket, info->ai_addr, info->ai_addrlen) == 0 && ::listen(socket, SOMAXCONN) == 0)
    return socket;
  int error = errno;
  ::close(socket);
  errno = error;
  problem = reason();
  return -1;
}

// Writes a file that only this user can read: a process that knows the secret can take a rank's place.
Status writePlace(const std::string &path, const std::string &text) {
  std::string draft = str(path, ".", ::getpid());
  ::unlink(draft.c_str());
  int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  bool isWritten = file >= 0 && ::write(file, text.data(), text.size()) == ssize_t(text.size());
  std::string problem = reason();
  if (file >= 0 && ::close(file) != 0 && isWritten) {
    isWritten = false;
    problem = reason();
  }
  if (isWritten && ::rename(draft.c_str(), path.c_str()) == 0) // atomic
    return Success();
  if (isWritten)
    problem = reason();
  ::unlink(draft.c_str());
  return makeError(ErrorKind::Io, "cannot write the file '", path, "', by which ranks are to meet: ", problem, ".");
}

// Reads the address and the secret that writePlace() wrote. The address is empty if there is no such file yet.
Result<std::string> readPlace(const std::string &path, std::string &secret) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return std::string();
  char text[8192];
  struct stat status{};
  bool isOwn = ::fstat(file, &status) == 0 && (status.st_uid == ::geteuid() || status.st_uid == 0);
  ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  if (!isOwn)
    return makeError(ErrorKind::Io, "the file '", path, "', by which ranks are to meet, is of another user.");
  std::string address;
  std::istringstream(std::string(text, size_t(std::max<ssize_t>(size, 0)))) >> address >> secret;
  return address;
}

void tune(int socket) {
  int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // harmless for a local socket
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

bool Channel::receive(size_t largest) {
  char buffer[4096];
  while (true) {
    if (arrived.size() >= headBytes + largest)
      return true; // the caller must take() first
    ssize_t got = ::recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got > 0)
      arrived.append(buffer, size_t(got));
    else if (got < 0 && errno == EINTR)
      continue;
    else
      return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
}

std::optional<Message> Channel::take(size_t largest) {
  Reader reader(arrived);
  auto size = reader.number<uint32_t>();
  auto kind = reader.number<uint8_t>();
  if (size > largest) {
    arrived.clear();
    return Message{};
  }
  if (arrived.size() < headBytes + size)
    return std::nullopt;
  Message message{kind, arrived.substr(headBytes, size)};
  arrived.erase(0, headBytes + size);
  return message;
}

bool Channel::isOfAnotherUser() const {
  ucred other{};
  socklen_t length = sizeof other;
  sockaddr_storage own{};
  socklen_t ownLength = sizeof own;
  return ::getsockname(socket, reinterpret_cast<sockaddr *>(&own), &ownLength) == 0 && own.ss_family == AF_UNIX &&
         (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &length) != 0 || other.uid != ::geteuid());
}

std::string printable(std::string_view text) {
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = uint8_t(text[i]);
    // In UTF-8 the control characters from 128 to 159 are two bytes that begin with C2.
    bool isSecond = byte == 0xc2 && i + 1 < text.size() && uint8_t(text[i + 1]) >= 0x80 && uint8_t(text[i + 1]) < 0xa0;
    // Single bytes from 128 to 159 are control characters for terminals without UTF-8.
    bool isAlone = byte >= 0x80 && byte < 0xa0 && (i == 0 || uint8_t(text[i - 1]) < 0x80);
    if ((byte < 0x20 && byte != '\n') || byte == 0x7f || isSecond || isAlone) {
      for (size_t end = i + (isSecond ? 2 : 1); i < end; ++i)
        shown += str("\\x", "0123456789abcdef"[uint8_t(text[i]) >> 4], "0123456789abcdef"[uint8_t(text[i]) & 15]);
      --i;
    } else {
      shown += text[i];
    }
  }
  return shown;
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

Result<std::unique_ptr<Listener>> Listener::open(const Rendezvous &rendezvous, const std::string &secret) {
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
  bool isTcp = rendezvous.kind == Rendezvous::Tcp, isNamed = isTcp && !isAddress(rendezvous.host);
  std::string port = std::to_string(isTcp ? rendezvous.port : 0), problem = "no address";
  int socket = -1;
  bool isOfThisMachine = false;
  if (isTcp) {
    // Listen only at the given address, so that the port is not open on other interfaces.
    Addresses found;
    int failed = lookUp(rendezvous.host, port, /*passive=*/true, found);
    if (std::optional<Error> error = errorOfLookUp(rendezvous.host, failed))
      return std::move(*error);
    // Debian gives a machine's own name a loopback address. The name may have other addresses, which are tried first.
    for (bool loopback : {false, true})
      for (const addrinfo *info = found.list; info && socket < 0; info = info->ai_next)
        if (isLoopbackAddress(info->ai_addr) == loopback) {
          socket = listenAt(info, problem);
          isOfThisMachine |= loopback || errno == EADDRINUSE;
        }
  }
  // The name may also belong to a service that forwards to this machine: then listen at any address.
  if (socket < 0 && (!isTcp || (isNamed && !isOfThisMachine))) {
    Addresses found;
    lookUp({}, port, /*passive=*/true, found);
    std::vector<const addrinfo *> candidates;
    for (const addrinfo *info = found.list; info; info = info->ai_next)
      candidates.push_back(info);
    // An IPv6 socket also accepts IPv4 connections. Without IPv6, an IPv4 socket is used.
    std::ranges::stable_partition(candidates, [](const addrinfo *info) { return info->ai_family == AF_INET6; });
    for (size_t i = 0; i < candidates.size() && socket < 0; ++i)
      socket = listenAt(candidates[i], problem);
  }
  if (socket < 0)
    return makeError(ErrorKind::Io, "rank 0 cannot listen at ", isTcp ? str(rendezvous.host, ":", port) : "any port",
                     " for the other ranks: ", problem,
                     ". --rendezvous=tcp:HOST:PORT takes an address of this machine and a port that no program has.");
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  ::getsockname(socket, reinterpret_cast<sockaddr *>(&own), &length);
  uint16_t number = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 *>(&own)->sin6_port
                                                    : reinterpret_cast<sockaddr_in *>(&own)->sin_port);
  std::string address = str(isTcp ? rendezvous.host : hostName(), ":", number), file;
  std::unique_ptr<Listener> listener(new Listener(socket, address, {}));
  listener->loopback = isLoopbackAddress(reinterpret_cast<const sockaddr *>(&own));
  if (rendezvous.kind == Rendezvous::File) {
    HEDDLE_CHECK(writePlace(rendezvous.path, str(address, " ", secret, "\n")));
    listener->file = rendezvous.path;
  }
  return listener;
}

Result<std::unique_ptr<Channel>> connectTo(const Rendezvous &rendezvous, const std::string &given,
                                           std::string &secret) {
  std::unique_ptr<Channel> none;
  if (rendezvous.kind == Rendezvous::Local && given.empty()) {
    sockaddr_un address;
    socklen_t length = localAddress(rendezvous.path, address);
    int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0)
      return makeError(ErrorKind::Io, "cannot make a socket: ", reason(), ".");
    auto channel = std::make_unique<Channel>(socket);
    if (::connect(socket, reinterpret_cast<sockaddr *>(&address), length) != 0)
      return none;
    if (channel->isOfAnotherUser())
      return makeError(ErrorKind::Io, "a process of another user listens at the local address '", rendezvous.path,
                       "', where the ranks are to meet; give a --rendezvous of your own.");
    return channel;
  }
  std::string address = given;
  if (address.empty() && rendezvous.kind == Rendezvous::File) {
    std::string said;
    HEDDLE_ASSIGN(address, readPlace(rendezvous.path, said));
    if (address.empty())
      return none;
    if (secret.empty())
      secret = said;
  }
  if (address.empty())
    address = str(rendezvous.host, ":", rendezvous.port);
  size_t colon = address.rfind(':');
  if (colon == std::string::npos)
    return none;
  Addresses found;
  int failed = lookUp(address.substr(0, colon), address.substr(colon + 1), /*passive=*/false, found);
  if (std::optional<Error> error = errorOfLookUp(address.substr(0, colon), failed))
    return std::move(*error);
  for (const addrinfo *info = found.list; info; info = info->ai_next) {
    int socket = ::socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0)
      continue;
    auto channel = std::make_unique<Channel>(socket);
    timeval limit{1, 0}; // if a machine does not answer, the caller tries again until its timeout
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(socket, info->ai_addr, info->ai_addrlen) != 0)
      continue;
    tune(socket);
    return channel;
  }
  return none;
}

} // namespace heddle
