// Where remarks go: one line each on stderr, through spdlog.
#pragma once

namespace heddle::run {

void startLogging();

} // namespace heddle::run
