// A stream of messages between two processes, with which ranks report their state. Gradients travel by other means.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/ranks/Launcher.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct Message {
  uint8_t kind = 0;
  std::string body;
};

// One end of a connection. Several threads may send, but only one may receive. No function waits for the other end.
class Channel {
public:
  explicit Channel(int socket) : socket(socket) {}
  ~Channel();
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;

  int descriptor() const { return socket; } // for poll()
  // Sends as much as the other end accepts and keeps the rest for flush(). Returns false if the other end is gone.
  bool send(const Message &message);
  bool flush();
  bool hasUnsent(); // if true, poll() for POLLOUT too
  // Reads the bytes that have arrived, for take(), but buffers no more than a message with a body of `largest` bytes.
  // Returns false if the other end is gone.
  bool receive(size_t largest = kLargestBody);
  // Returns the next complete message, or nothing. If a message has a body larger than `largest`, which Heddle never
  // sends, drops all received bytes and returns a message of kind 0.
  std::optional<Message> take(size_t largest = kLargestBody);
  // Returns true for a connection within this machine to a process of another user.
  bool isOfAnotherUser() const;

  static constexpr size_t kLargestBody = 1 << 20;

private:
  int socket;
  std::string arrived;
  std::mutex sending; // guards `unsent`
  std::string unsent;
};

// Listens for channels.
class Listener {
public:
  // Listens at the rendezvous; for the kinds Mpi and File, at a port that the system chooses. For the kind File, writes
  // the address and `secret` into the file, which only this user can read.
  static Result<std::unique_ptr<Listener>> open(const Rendezvous &rendezvous, const std::string &secret);
  ~Listener();
  int descriptor() const { return socket; }
  std::unique_ptr<Channel> accept();                // null if no connection is waiting
  const std::string &address() const { return at; } // "HOST:PORT", for the kinds Tcp, Mpi and File
  bool isLoopback() const { return loopback; }      // other machines cannot reach it

private:
  Listener(int socket, std::string at, std::string file) : socket(socket), at(std::move(at)), file(std::move(file)) {}
  int socket;
  std::string at, file;
  bool loopback = false;
};

// Tries once to connect; null if no process listens there yet. If `address` is not empty, it replaces the rendezvous.
// If `secret` is empty, it is read from the rendezvous's file.
Result<std::unique_ptr<Channel>> connectTo(const Rendezvous &rendezvous, const std::string &address,
                                           std::string &secret);

// Returns a text that is safe to print on a terminal: control characters except line ends become \xHH.
std::string printable(std::string_view text);

std::string hostName();

// Concatenates numbers and texts to a message body.
class Writer {
public:
  template <typename T> Writer &add(T number) {
    text.append(reinterpret_cast<const char *>(&number), sizeof number);
    return *this;
  }
  Writer &add(std::string_view words) {
    add(uint32_t(words.size()));
    text.append(words);
    return *this;
  }
  std::string text;
};

class Reader {
public:
  explicit Reader(std::string_view text) : rest(text) {}
  // Returns 0 and clears `isWhole` if the text ends before the number does.
  template <typename T> T number() {
    T value{};
    if (rest.size() >= sizeof value) {
      rest.copy(reinterpret_cast<char *>(&value), sizeof value);
      rest.remove_prefix(sizeof value);
    } else {
      isWhole = false;
    }
    return value;
  }
  std::string words() {
    size_t size = std::min<size_t>(number<uint32_t>(), rest.size());
    std::string text(rest.substr(0, size));
    rest.remove_prefix(size);
    return text;
  }
  size_t left() const { return rest.size(); }
  bool isWhole = true;

private:
  std::string_view rest;
};

} // namespace heddle
