// Checks the conditions that tie several inputs of an entry together: kernels trust that starts, lengths and lists name
// rows that exist.
#pragma once

#include "runtime/session/CallBinding.h"

namespace heddle {

// Fails with InvalidArgument if the bound inputs name rows that do not exist; the message says which.
Status checkSegments(const schema::Module &module, const schema::Entry &entry, const CallBinding &binding);

} // namespace heddle
