// Sends log messages to stderr through spdlog, one line each.
#pragma once

namespace heddle::run {

void startLogging();
// From now on logs only errors: other ranks print the rest.
void logOnlyProblems();

} // namespace heddle::run
