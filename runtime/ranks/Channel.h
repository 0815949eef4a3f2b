// A stream of messages between two processes: what ranks say to each other about themselves. Gradients take other ways.
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

// One end of a connection. Sending may happen in several threads, reading in one. Nothing here waits for the other end.
class Channel {
public:
  explicit Channel(int socket) : socket(socket) {}
  ~Channel();
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;

  int descriptor() const { return socket; } // for poll()
  // What the other end does not take yet is kept for flush(). False where it is gone.
  bool send(const Message &message);
  bool flush();
  bool hasUnsent(); // poll() for POLLOUT then
  // Reads what has arrived without waiting, and leaves in the system what does not fit a message with a body of
  // `largest` bytes; false where the other end is gone. Messages that are whole are then in `take`.
  bool receive(size_t largest = kLargestBody);
  // The next message; of kind 0 where one has a larger body, which nobody of ours sends.
  std::optional<Message> take(size_t largest = kLargestBody);
  // Whether it is a connection within this machine to a process of another user.
  bool isOfAnotherUser() const;

  static constexpr size_t kLargestBody = 1 << 20;

private:
  int socket;
  std::string arrived;
  std::mutex sending; // of `unsent`
  std::string unsent;
};

// Where channels come in.
class Listener {
public:
  // At the rendezvous, for those who connect to it; for the kinds Mpi and File at a port that the system chooses. Into
  // a file goes `secret`, too, and only this user can read it.
  static Result<std::unique_ptr<Listener>> open(const Rendezvous &rendezvous, const std::string &secret);
  ~Listener();
  int descriptor() const { return socket; }
  std::unique_ptr<Channel> accept();                // null where nobody waits
  const std::string &address() const { return at; } // "HOST:PORT", of the kinds Tcp, Mpi and File
  bool isLoopback() const { return loopback; }      // no other machine reaches it

private:
  Listener(int socket, std::string at, std::string file) : socket(socket), at(std::move(at)), file(std::move(file)) {}
  int socket;
  std::string at, file;
  bool loopback = false;
};

// One attempt: null where nobody listens there yet. `address` takes the place of the rendezvous where it is not empty.
// Fills in `secret` from a file, if it is empty.
Result<std::unique_ptr<Channel>> connectTo(const Rendezvous &rendezvous, const std::string &address,
                                           std::string &secret);

// Without what would tell a terminal to do something: control characters are shown as \xHH, but for the ends of lines.
std::string printable(std::string_view text);

std::string hostName();

// Numbers and texts one behind the other.
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
  // What is not there reads as zeros.
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
