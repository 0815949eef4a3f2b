#include "runtime/core/Pickle.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

namespace heddle {

using Kind = Pickle::Value::Kind;

namespace {

constexpr size_t kMostArguments = 8;      // so that copies of tuples take no more than their pickle
constexpr size_t kMostValues = 1'000'000; // each takes some 70 bytes; a tensor takes about 20 values
constexpr std::string_view kTable = "collections OrderedDict", kTensor = "torch._utils _rebuild_tensor_v2",
                           kParameter = "torch._utils _rebuild_parameter";
constexpr std::string_view kStorages[] = {"Float", "Half", "BFloat16", "Double", "Long",        "Int",
                                          "Short", "Char", "Byte",     "Bool",   "ComplexFloat"};

bool isStorage(std::string_view global) {
  constexpr std::string_view begin = "torch ", end = "Storage";
  return global.starts_with(begin) && global.ends_with(end) && global.size() > begin.size() + end.size() &&
         std::ranges::find(kStorages, global.substr(begin.size(), global.size() - begin.size() - end.size())) !=
             std::end(kStorages);
}

} // namespace

// Interprets the operations (Python's pickletools.py describes them). Each one takes at least a byte and makes at most
// three values, so the work is linear in the pickle's length. The number of values is limited, and with it the memory.
class PickleReader {
public:
  PickleReader(std::span<const std::byte> bytes, std::string_view origin) : bytes(bytes), origin(origin) {}

  Result<Pickle> read() {
    while (!ended) {
      HEDDLE_CHECK(step());
      // Each operation pushes or remembers one value at most.
      if (std::max({result.values.size(), stack.size(), marks.size(), memo.size()}) > kMostValues)
        return makeError(ErrorKind::Unsupported, origin, " has a table of more than ", kMostValues,
                         " values, and Heddle reads no larger ones; save the model in several files, or as "
                         "safetensors.");
    }
    return std::move(result);
  }

private:
  using Id = Pickle::Id;

  template <typename... Parts> Error malformed(const Parts &...parts) const {
    return makeError(ErrorKind::Malformed, origin, " is damaged: ", parts..., "; download it again.");
  }
  Error refused(std::string_view what) const {
    return makeError(ErrorKind::Unsupported, origin, " has ", what,
                     ", which a table of tensors does not need. Heddle executes nothing of a pickle; take the model as "
                     "safetensors.");
  }

  //===-- Bytes -----------------------------------------------------------------------------------------------------===//

  Result<std::string_view> take(uint64_t count) {
    if (count > bytes.size() - place)
      return malformed("it ends within an operation");
    std::string_view taken(reinterpret_cast<const char *>(bytes.data()) + place, count);
    place += count;
    return taken;
  }
  Result<uint64_t> number(size_t count) {
    HEDDLE_ASSIGN(std::string_view taken, take(count));
    uint64_t value = 0;
    std::memcpy(&value, taken.data(), count);
    return value;
  }
  Result<std::string> line() {
    std::string_view rest(reinterpret_cast<const char *>(bytes.data()) + place, bytes.size() - place);
    size_t end = rest.find('\n');
    if (end == std::string_view::npos)
      return malformed("it ends within a name");
    place += end + 1;
    return std::string(rest.substr(0, end));
  }

  //===-- Values ----------------------------------------------------------------------------------------------------===//

  void push(Pickle::Value value) {
    result.values.push_back(std::move(value));
    stack.push_back(Id(result.values.size() - 1));
  }
  Status pushText(size_t lengthBytes) {
    HEDDLE_ASSIGN(uint64_t length, number(lengthBytes));
    HEDDLE_ASSIGN(std::string_view text, take(length));
    push({Kind::Text, 0, std::string(text), {}});
    return Success();
  }
  Status pushWhole(size_t count, bool isSigned) {
    HEDDLE_ASSIGN(uint64_t value, number(count));
    push({Kind::Whole, isSigned ? int64_t(int32_t(value)) : int64_t(value), {}, {}});
    return Success();
  }
  Status pushLong() {
    HEDDLE_ASSIGN(uint64_t count, number(1));
    if (count > 8)
      return refused("a whole number of more than 64 bits");
    HEDDLE_ASSIGN(uint64_t value, number(count));
    if (count > 0 && count < 8 && value >> (8 * count - 1) != 0)
      value |= ~uint64_t(0) << (8 * count); // negative
    push({Kind::Whole, int64_t(value), {}, {}});
    return Success();
  }
  Status pushGlobal(std::string name) {
    if (name != kTable && name != kTensor && name != kParameter && !isStorage(name)) {
      std::ranges::replace(name, ' ', '.');
      std::erase_if(name, [](unsigned char c) { return c < ' ' || c > '~'; });
      return refused(str("a reference to '", name.substr(0, 80), "'"));
    }
    push({Kind::Global, 0, std::move(name), {}});
    return Success();
  }

  Result<Id> pop() {
    if (stack.empty() || (!marks.empty() && stack.size() <= marks.back()))
      return malformed("an operation lacks its operands");
    Id id = stack.back();
    stack.pop_back();
    return id;
  }
  Result<std::vector<Id>> popToMark() {
    if (marks.empty())
      return malformed("an operation lacks its mark");
    std::vector<Id> items(stack.begin() + ptrdiff_t(marks.back()), stack.end());
    stack.resize(marks.back());
    marks.pop_back();
    return items;
  }
  Status pushTuple(size_t count) {
    std::vector<Id> items(count);
    for (size_t i = count; i-- > 0;) {
      HEDDLE_ASSIGN(items[i], pop());
    }
    push({Kind::Tuple, 0, {}, std::move(items)});
    return Success();
  }

  // Adds items to the table or list on top of the stack.
  Status addTo(Kind kind, std::vector<Id> items) {
    HEDDLE_ASSIGN(Id of, pop());
    stack.push_back(of);
    if (result.values[of].kind != kind || (kind == Kind::Table && items.size() % 2 != 0))
      return malformed("items are added to something that has none");
    std::vector<Id> &all = result.values[of].items;
    all.insert(all.end(), items.begin(), items.end());
    return Success();
  }

  // A call of a function with a tuple of arguments.
  Status reduce() {
    HEDDLE_ASSIGN(Id arguments, pop());
    HEDDLE_ASSIGN(Id function, pop());
    if (result.values[function].kind != Kind::Global || result.values[arguments].kind != Kind::Tuple)
      return malformed("it calls something that is not a function, or with arguments that are not a tuple");
    const std::string &name = result.values[function].text;
    const std::vector<Id> &all = result.values[arguments].items;
    std::vector<Id> items(all.begin(), all.begin() + ptrdiff_t(std::min(all.size(), kMostArguments + 1)));
    if (name == kTable && items.empty()) {
      push({Kind::Table, 0, {}, {}});
      return Success();
    }
    if (name == kTensor && items.size() >= 6 && items.size() <= kMostArguments) {
      push({Kind::Tensor, 0, {}, std::move(items)});
      return Success();
    }
    if (name == kParameter && items.size() == 3 && result.values[items[0]].kind == Kind::Tensor) {
      stack.push_back(items[0]);
      return Success();
    }
    return refused(str("a call of '", name, "' with other arguments"));
  }

  Status remember(uint64_t index) {
    HEDDLE_ASSIGN(Id id, pop());
    stack.push_back(id);
    memo[index] = id;
    return Success();
  }
  Status recall(uint64_t index) {
    auto found = memo.find(index);
    if (found == memo.end())
      return malformed("it recalls a value that it has not stored");
    stack.push_back(found->second);
    return Success();
  }
  Status withIndex(size_t count, Status (PickleReader::*use)(uint64_t)) {
    HEDDLE_ASSIGN(uint64_t index, number(count));
    return (this->*use)(index);
  }

  //===-- Operations ------------------------------------------------------------------------------------------------===//

  Status step() {
    HEDDLE_ASSIGN(std::string_view code, take(1));
    switch (static_cast<unsigned char>(code[0])) {
    case 0x80: // PROTO
      return number(1).ok() ? Status(Success()) : Status(malformed("it ends within an operation"));
    case 0x95: // FRAME
      return number(8).ok() ? Status(Success()) : Status(malformed("it ends within an operation"));
    case 'c': { // GLOBAL
      HEDDLE_ASSIGN(std::string module, line());
      HEDDLE_ASSIGN(std::string name, line());
      return pushGlobal(module + " " + name);
    }
    case 0x93: { // STACK_GLOBAL
      HEDDLE_ASSIGN(Id name, pop());
      HEDDLE_ASSIGN(Id module, pop());
      if (result.values[name].kind != Kind::Text || result.values[module].kind != Kind::Text)
        return malformed("the name of a function is not a text");
      return pushGlobal(result.values[module].text + " " + result.values[name].text);
    }
    case 'N': // NONE
      push({Kind::None, 0, {}, {}});
      return Success();
    case 0x88: // NEWTRUE
    case 0x89: // NEWFALSE
      push({Kind::Flag, code[0] == char(0x88), {}, {}});
      return Success();
    case 'K': // BININT1
      return pushWhole(1, false);
    case 'M': // BININT2
      return pushWhole(2, false);
    case 'J': // BININT
      return pushWhole(4, true);
    case 0x8a: // LONG1
      return pushLong();
    case 'G': // BINFLOAT
      push({Kind::Number, 0, {}, {}});
      return take(8).ok() ? Status(Success()) : Status(malformed("it ends within an operation"));
    case 0x8c: // SHORT_BINUNICODE
      return pushText(1);
    case 'X': // BINUNICODE
      return pushText(4);
    case 0x8d: // BINUNICODE8
      return pushText(8);
    case '}': // EMPTY_DICT
      push({Kind::Table, 0, {}, {}});
      return Success();
    case ']': // EMPTY_LIST
      push({Kind::List, 0, {}, {}});
      return Success();
    case ')': // EMPTY_TUPLE
      return pushTuple(0);
    case 0x85: // TUPLE1
    case 0x86: // TUPLE2
    case 0x87: // TUPLE3
      return pushTuple(size_t(static_cast<unsigned char>(code[0]) - 0x84));
    case 't': { // TUPLE
      HEDDLE_ASSIGN(std::vector<Id> items, popToMark());
      push({Kind::Tuple, 0, {}, std::move(items)});
      return Success();
    }
    case '(': // MARK
      marks.push_back(stack.size());
      return Success();
    case 's': { // SETITEM
      HEDDLE_ASSIGN(Id value, pop());
      HEDDLE_ASSIGN(Id key, pop());
      return addTo(Kind::Table, {key, value});
    }
    case 'u': { // SETITEMS
      HEDDLE_ASSIGN(std::vector<Id> items, popToMark());
      return addTo(Kind::Table, std::move(items));
    }
    case 'a': { // APPEND
      HEDDLE_ASSIGN(Id item, pop());
      return addTo(Kind::List, {item});
    }
    case 'e': { // APPENDS
      HEDDLE_ASSIGN(std::vector<Id> items, popToMark());
      return addTo(Kind::List, std::move(items));
    }
    case 'q': // BINPUT
      return withIndex(1, &PickleReader::remember);
    case 'r': // LONG_BINPUT
      return withIndex(4, &PickleReader::remember);
    case 0x94: // MEMOIZE
      return remember(memo.size());
    case 'h': // BINGET
      return withIndex(1, &PickleReader::recall);
    case 'j': // LONG_BINGET
      return withIndex(4, &PickleReader::recall);
    case 'Q': { // BINPERSID
      HEDDLE_ASSIGN(Id id, pop());
      if (result.values[id].kind != Kind::Tuple || result.values[id].items.size() > kMostArguments)
        return malformed("the name of a storage is not a tuple");
      push({Kind::Storage, 0, {}, result.values[id].items});
      return Success();
    }
    case 'R': // REDUCE
      return reduce();
    case 'b': { // BUILD, of attributes that change no tensor
      HEDDLE_ASSIGN(Id state, pop());
      HEDDLE_ASSIGN(Id of, pop());
      stack.push_back(of);
      bool isTable = result.values[of].kind == Kind::Table && result.values[state].kind == Kind::Table;
      return isTable ? Status(Success()) : Status(refused("an object that sets its own state"));
    }
    case '.': { // STOP
      HEDDLE_ASSIGN(result.top, pop());
      ended = true;
      return Success();
    }
    default:
      return refused(str("the operation ", int(static_cast<unsigned char>(code[0]))));
    }
  }

  std::span<const std::byte> bytes;
  std::string_view origin;
  size_t place = 0;
  bool ended = false;
  Pickle result;
  std::vector<Id> stack;
  std::vector<size_t> marks; // heights of the stack
  std::unordered_map<uint64_t, Id> memo;
};

Result<Pickle> Pickle::parse(std::span<const std::byte> bytes, std::string_view origin) {
  return PickleReader(bytes, origin).read();
}

} // namespace heddle
