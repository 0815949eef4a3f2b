#include "tools/heddle-run/report/StopSignal.h"

#include <csignal>

namespace heddle::run {
namespace {

volatile std::sig_atomic_t received = 0;

extern "C" void heddleRunNoteSignal(int signal) { received = signal; }

void watch(int signal, int flags) {
  struct sigaction action = {};
  action.sa_handler = heddleRunNoteSignal;
  action.sa_flags = flags | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

// SIGXCPU comes again each second of CPU time, SIGHUP from both the shell and the terminal, and SIGPIPE at each
// message. None of them may kill the program while it writes the checkpoint. Ignored signals (nohup) stay ignored.
void watchUnlessIgnored(int signal) {
  struct sigaction before = {};
  sigaction(signal, nullptr, &before);
  if (before.sa_handler != SIG_IGN)
    watch(signal, 0);
}

} // namespace

void watchLostReader() { watchUnlessIgnored(SIGPIPE); }

void watchStopSignals() {
  watch(SIGINT, int(SA_RESETHAND));
  watch(SIGTERM, int(SA_RESETHAND));
  watchUnlessIgnored(SIGHUP);
  watchUnlessIgnored(SIGXCPU);
  // A write beyond the file size limit then fails with an error, like a write to a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
}

int stopSignal() { return received; }

} // namespace heddle::run
