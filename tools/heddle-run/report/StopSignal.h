// Lets a training run end cleanly, with a checkpoint. The first SIGINT or SIGTERM requests it, and a second one kills
// the program as usual. SIGHUP, SIGXCPU and SIGPIPE request it, too, unless they are ignored (nohup), but never kill.
// Exceeding the file size limit fails the write instead of killing the program.
#pragma once

namespace heddle::run {

// Watches SIGPIPE. Call it before the first message: the reader of `heddle-run train ... 2>&1 | head -1` stops reading
// after that message.
void watchLostReader();
void watchStopSignals();

// Returns the signal that came, or 0.
int stopSignal();

} // namespace heddle::run
