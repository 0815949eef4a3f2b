// The messages of a meeting (Meeting.h).
#pragma once

#include "runtime/ranks/Channel.h"
#include "runtime/ranks/Secret.h"

#include <chrono>
#include <poll.h>
#include <string>
#include <vector>

namespace heddle::meeting {

// The kinds of messages. A connection begins with Challenge (from rank 0), Hello, and Seat or WrongSecret. Only a Seat
// proves that the other end knows the secret; earlier messages are not trusted.
enum Kind : uint8_t {
  Hello = 1,
  Welcome,
  Place,
  Numbers,
  Sums,
  Failure,
  End,
  Bye,
  Refusal,
  Challenge,
  Seat,
  WrongSecret
};

inline constexpr auto kTurn = std::chrono::milliseconds(50);  // the longest pause between two checks
inline constexpr auto kTell = std::chrono::milliseconds(250); // the interval between a rank's reports
inline constexpr double kShare = 0.9; // ranks end after this part of the timeout, so that they end within it
inline constexpr uint32_t kHelloVersion = 5;
inline constexpr auto kPatience = std::chrono::seconds(10); // for a connection that has not proved its rank
inline constexpr size_t kLargestHello = 1024, kSpareStrangers = 64;

inline std::string packNumbers(const std::vector<double> &values) {
  Writer writer;
  for (double value : values)
    writer.add(value);
  return writer.text;
}

inline std::vector<double> unpackNumbers(std::string_view body) {
  Reader reader(body);
  std::vector<double> values;
  while (reader.left() >= sizeof(double))
    values.push_back(reader.number<double>());
  return values;
}

inline void add(Writer &writer, const Digest &digest) { writer.text.append(digest.begin(), digest.end()); }

inline Digest digestOf(Reader &reader) {
  Digest digest{};
  for (uint8_t &byte : digest)
    byte = reader.number<uint8_t>();
  return digest;
}

// Returns a proof that its sender knows the secret. The two sides use different words, so that a proof of one side
// cannot be sent back as a proof of the other.
inline Digest prove(const std::string &secret, const char *word, const Digest &question, std::string_view said) {
  return hmac(secret, str(word, std::string(question.begin(), question.end()), said));
}
inline constexpr const char *kOther = "heddle: a rank", *kFirst = "heddle: rank 0";

inline short eventsOf(Channel &channel) { return channel.hasUnsent() ? POLLIN | POLLOUT : POLLIN; }

} // namespace heddle::meeting
