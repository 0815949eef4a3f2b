// Lets a training run end in good order: the first SIGINT or SIGTERM asks it to, a second one kills it as usual. A file
// size limit fails the write instead of killing the program.
#pragma once

namespace heddle::run {

void watchStopSignals();

// The signal that came, or 0.
int stopSignal();

} // namespace heddle::run
