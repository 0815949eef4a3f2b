// A client of a local server that can also misbehave.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace heddle::test {

struct Answer {
  int status = 0; // 0: the connection ended without a status
  std::string header, body;
};

class Client {
public:
  explicit Client(uint16_t port) : descriptor(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval wait{20, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    EXPECT_EQ(connect(descriptor, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
  }
  Client(const Client &) = delete;
  Client &operator=(const Client &) = delete;
  ~Client() { leave(); }

  void leave() {
    if (descriptor >= 0)
      close(descriptor);
    descriptor = -1;
  }

  // Sends bytes. Returns false if the server has closed the connection.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0)
        return false;
      bytes.remove_prefix(size_t(sent));
    }
    return true;
  }

  // Reads until the text appears. Returns everything read, also if the connection ended before.
  std::string readTo(std::string_view text) {
    while (held.find(text) == std::string::npos && readMore()) {
    }
    size_t place = held.find(text);
    size_t end = place == std::string::npos ? held.size() : place + text.size();
    std::string read = held.substr(0, end);
    held.erase(0, end);
    return read;
  }
  std::string readAll() {
    while (readMore()) {
    }
    return std::exchange(held, {});
  }

  // Reads an answer with a Content-Length.
  Answer readAnswer() {
    Answer answer;
    answer.header = readTo("\r\n\r\n");
    if (!answer.header.starts_with("HTTP/1.1 "))
      return answer;
    answer.status = std::stoi(answer.header.substr(9, 3));
    size_t place = answer.header.find("Content-Length: ");
    size_t length = place == std::string::npos ? 0 : std::stoul(answer.header.substr(place + 16));
    while (held.size() < length && readMore()) {
    }
    answer.body = held.substr(0, length);
    held.erase(0, length);
    return answer;
  }

private:
  bool readMore() {
    char bytes[4096];
    ssize_t count = recv(descriptor, bytes, sizeof bytes, 0);
    if (count <= 0)
      return false;
    held.append(bytes, size_t(count));
    return true;
  }

  int descriptor;
  std::string held;
};

inline std::string requestOf(std::string_view method, std::string_view path, std::string_view body = {},
                             std::string_view fields = {}) {
  std::string text =
      std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: here\r\n" + std::string(fields);
  if (!body.empty())
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + std::string(body);
}

inline Answer ask(uint16_t port, std::string_view method, std::string_view path, std::string_view body = {},
                  std::string_view fields = {}) {
  Client client(port);
  client.send(requestOf(method, path, body, fields));
  return client.readAnswer();
}

// Waits up to five seconds. Returns false if the condition still does not hold.
inline bool waitFor(const std::function<bool()> &holds) {
  for (int i = 0; i < 500; ++i) {
    if (holds())
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// The metric of this name; -1 if there is none.
inline double metricOf(uint16_t port, const std::string &name) {
  std::string text = ask(port, "GET", "/metrics").body;
  size_t place = text.find("\n" + name + " ");
  return place == std::string::npos ? -1 : std::stod(text.substr(place + name.size() + 2));
}

} // namespace heddle::test
