#include "tools/heddle-run/report/EventFile.h"

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <system_error>
#include <unistd.h>

namespace heddle::run {
namespace {

constexpr std::array<uint32_t, 256> crcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (value & 1 ? 0x82f63b78u : 0);
    table[i] = value;
  }
  return table;
}

// A CRC over data that contains CRCs is weak. TFRecord therefore rotates the CRC and adds a constant.
uint32_t maskedCrc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

template <typename T> void appendBytes(std::string &out, T value) {
  static_assert(std::endian::native == std::endian::little);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

// Protocol buffers: a field is a key (field number and wire type) and a value.
enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void appendVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += char(value | 0x80);
  out += char(value);
}

void appendKey(std::string &out, uint32_t field, Wire wire) { appendVarint(out, field << 3 | wire); }

void appendField(std::string &out, uint32_t field, std::string_view bytes) {
  appendKey(out, field, kBytes);
  appendVarint(out, bytes.size());
  out += bytes;
}

// Fields of Event: 1 wall_time, 2 step, 3 file_version, 5 summary, 7 session_log.
std::string eventAt(uint64_t step) {
  double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::string event;
  appendKey(event, 1, kFixed64);
  appendBytes(event, now);
  appendKey(event, 2, kVarint);
  appendVarint(event, step);
  return event;
}

} // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> table = crcTable();
  uint32_t value = ~0u;
  for (char c : bytes)
    value = value >> 8 ^ table[(value ^ uint8_t(c)) & 0xff];
  return ~value;
}

Result<EventFile> EventFile::create(const std::filesystem::path &folder, uint64_t resumedStep) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  EventFile result;
  // A second training run in the same second gets a name that sorts after the first.
  for (int serial = 0; serial == 0 || std::filesystem::exists(result.path, error); ++serial)
    result.path = folder / str("events.out.tfevents.", seconds.count(), ".", host, ".", ::getpid(), ".", serial);
  result.file.open(result.path, std::ios::binary);
  if (!result.file)
    return makeError(ErrorKind::Io, "cannot write TensorBoard's events to '", result.path.string(), "'.");
  std::string version = eventAt(0);
  appendField(version, 3, "brain.Event:2");
  HEDDLE_CHECK(result.write(version));
  if (resumedStep != 0) {
    std::string start = eventAt(resumedStep + 1), status;
    appendKey(status, 1, kVarint); // SessionLog.status = START
    appendVarint(status, 1);
    appendField(start, 7, status);
    HEDDLE_CHECK(result.write(start));
  }
  return result;
}

Status EventFile::scalars(uint64_t step, std::span<const std::pair<std::string_view, double>> values) {
  std::string summary;
  for (const auto &[tag, value] : values) {
    std::string item; // Summary.Value: 1 tag, 2 simple_value
    appendField(item, 1, tag);
    appendKey(item, 2, kFixed32);
    appendBytes(item, float(value));
    appendField(summary, 1, item);
  }
  std::string event = eventAt(step);
  appendField(event, 5, summary);
  return write(event);
}

Status EventFile::write(const std::string &event) {
  std::string record;
  appendBytes(record, uint64_t(event.size()));
  appendBytes(record, maskedCrc(record));
  record += event;
  appendBytes(record, maskedCrc(event));
  file << record;
  file.flush(); // TensorBoard reads while we write
  if (!file)
    return makeError(ErrorKind::Io, "cannot write TensorBoard's events to '", path.string(), "'; is the disk full?");
  return Success();
}

} // namespace heddle::run
