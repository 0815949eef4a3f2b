// The conditions of an entry on several inputs together: kernels trust the rows that starts, lengths and lists name.
#pragma once

#include "runtime/session/CallBinding.h"

namespace heddle {

// Whether the bound inputs name rows that are there; the error says which do not.
Status checkSegments(const schema::Module &module, const schema::Entry &entry, const CallBinding &binding);

} // namespace heddle
