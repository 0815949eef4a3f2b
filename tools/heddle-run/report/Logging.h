// Where remarks go: one line each on stderr, through spdlog.
#pragma once

namespace heddle::run {

void startLogging();
// From now on errors alone: other ranks say the rest.
void logOnlyProblems();

} // namespace heddle::run
