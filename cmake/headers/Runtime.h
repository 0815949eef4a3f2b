// For the runtime: the headers of the standard library, of JSON and of the artifact's schema, which are most of the
// time of compiling a source that uses them.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <flatbuffers/flatbuffers.h>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "runtime/core/Json.h"
#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"
#include "runtime/schema/artifact_generated.h"
