#include "test/cuda/emulator/Machine.h"

#include <algorithm>

namespace heddle::emulator {

void Races::begin(uint32_t newThreads, uint32_t newBytes) {
  threads = newThreads;
  actors = 0;
  clocks.assign(threads, std::vector<uint32_t>(threads, 0));
  for (uint32_t i = 0; i < threads; ++i)
    clocks[i][i] = 1;
  bytes.assign(newBytes, {});
}

bool Races::ordered(const Event &event, uint32_t thread) const {
  const std::vector<uint32_t> &clock = clocks[thread];
  return event.thread < clock.size() && event.clock <= clock[event.thread];
}

int64_t Races::touch(uint32_t thread, uint32_t at, uint32_t size, Access access, const Event *by) {
  Event event = by ? *by : Event{thread, clocks[thread][thread], access == Access::Atomic};
  for (uint32_t i = at; i < at + size; ++i) {
    Byte &byte = bytes[i];
    for (const Event &write : byte.writes)
      if (!ordered(write, thread) && !(write.atomic && event.atomic))
        return write.thread;
    if (access != Access::Read)
      for (const Event &read : byte.reads)
        if (!ordered(read, thread))
          return read.thread;
    // An event that is ordered before this one is also ordered before everything after this one, so it can be dropped.
    // But later atomics may be ordered after neither, and only this one is no race with them.
    auto supersede = [&](std::vector<Event> &events) {
      std::erase_if(events, [&](const Event &old) { return ordered(old, thread) && old.atomic >= event.atomic; });
    };
    if (access == Access::Read) {
      supersede(byte.reads);
      byte.reads.push_back(event);
    } else {
      if (!event.atomic)
        byte.reads.clear();
      supersede(byte.writes);
      byte.writes.push_back(event);
    }
  }
  return -1;
}

void Races::join(std::vector<uint32_t> &to, const std::vector<uint32_t> &from) {
  to.resize(std::max(to.size(), from.size()));
  for (size_t i = 0; i < from.size(); ++i)
    to[i] = std::max(to[i], from[i]);
}

void Races::arrive(uint32_t thread, std::vector<uint32_t> &joined) {
  join(joined, clocks[thread]);
  ++clocks[thread][thread];
}

void Races::leave(uint32_t thread, const std::vector<uint32_t> &joined) {
  uint32_t own = clocks[thread][thread];
  join(clocks[thread], joined);
  clocks[thread][thread] = own;
}

} // namespace heddle::emulator
