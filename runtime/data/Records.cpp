#include "runtime/data/Records.h"

#include "runtime/core/Json.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <cmath>
#include <set>
#include <utility>

namespace heddle {
namespace {

using Json = nlohmann::json;

Error badRecord(const std::string &origin, Labelling kind, std::string_view what) {
  return makeError(ErrorKind::Malformed, origin, " ", what, "; each line is a record such as ",
                   kind == Labelling::Words    ? R"({"tokens": ["a", "dog"], "labels": ["DET", "NOUN"]}.)"
                   : kind == Labelling::Pairs  ? R"({"left": "a dog barks", "right": "a dog is loud", "label": "yes"}.)"
                   : kind == Labelling::Grades ? R"({"left": "a dog barks", "right": "a dog is loud", "grade": 3.5}.)"
                   : kind == Labelling::Partners ? R"({"left": "what does a dog do", "right": "a dog barks"}.)"
                                                 : R"({"text": "buy now", "label": "spam"}.)");
}

// Shortens a value for error messages.
std::string shown(const Json &value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
}

// The name of a label. Strings are names; whole numbers and booleans are named as JSON writes them. Returns nothing for
// other values and for blank strings.
std::optional<std::string> labelOf(const Json &value) {
  std::optional<std::string> label;
  if (value.is_string())
    label = value.get<std::string>();
  else if (value.is_number_integer() || value.is_boolean())
    label = value.dump();
  return label && !isBlank(*label) ? label : std::nullopt;
}

// Parses the pairs of word numbers.
Result<std::vector<Edge>> edgesOf(const Json &value, size_t words, const std::string &origin) {
  auto bad = [&](std::string_view what) {
    return makeError(ErrorKind::Malformed, origin, " ", what,
                     "; each is a pair of words' numbers, of which the second word looks at "
                     "the first, from 0 to ",
                     words == 0 ? 0 : words - 1, ", such as [0, 1].");
  };
  if (!value.is_array())
    return bad("has \"edges\" that are not a list");
  std::vector<Edge> edges;
  for (const Json &pair : value) {
    auto isWord = [&](const Json &number) { return number.is_number_unsigned() && number.get<uint64_t>() < words; };
    if (!pair.is_array() || pair.size() != 2 || !isWord(pair[0]) || !isWord(pair[1]))
      return bad(str("has the edge ", shown(pair)));
    edges.push_back({pair[0].get<int32_t>(), pair[1].get<int32_t>()});
  }
  return edges;
}

// The number of neighbours that a model takes is fixed at compile time.
Status checkNeighbours(std::span<const Edge> edges, size_t words, int64_t most, const std::string &origin) {
  std::vector<int64_t> degrees(words), uses(words);
  for (const Edge &edge : edges) {
    int64_t degree = ++degrees[size_t(edge.to)], use = ++uses[size_t(edge.from)];
    if (std::max(degree, use) > most)
      return makeError(ErrorKind::InvalidArgument, origin, " has more than ", most,
                       degree > most ? " edges to word " : " edges from word ", degree > most ? edge.to : edge.from,
                       ", and the model was compiled for so many; compile it with a larger "
                       "`--set neighbours=N`.");
  }
  return Success();
}

} // namespace

std::vector<std::string> splitWords(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n\v\f";
  std::vector<std::string> words;
  for (size_t at = 0; (at = text.find_first_not_of(kSpaces, at)) != std::string_view::npos;) {
    size_t end = std::min(text.find_first_of(kSpaces, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

LabelNumbers::LabelNumbers(const TextCodec &vocabulary) : vocabulary(vocabulary) {
  for (const std::string &label : vocabulary.labels())
    numbers.emplace(label, int32_t(numbers.size()));
}

Result<int32_t> LabelNumbers::of(const std::string &label, const std::string &origin) const {
  if (auto found = numbers.find(label); found != numbers.end())
    return found->second;
  std::string known;
  for (size_t i = 0; i < std::min<size_t>(vocabulary.labels().size(), 10); ++i)
    known += (i == 0 ? "" : ", ") + vocabulary.labels()[i];
  return makeError(ErrorKind::InvalidArgument, origin, " has the label '", label,
                   "', which no record of the training has: its labels are ", known,
                   vocabulary.labels().size() > 10 ? ", ..." : "", ".");
}

void EncodedRecord::cut(size_t length, Marks marks) {
  if (texts)
    texts->cut(tokens, length);
  for (std::vector<int32_t> *text : {&tokens, &right})
    if (text->size() > length) {
      text->resize(length);
      text->back() = marks.end;
    }
  std::erase_if(edges, [&](const Edge &edge) { return size_t(std::max(edge.from, edge.to)) + 1 >= length; });
  size_t left = length, whole = 0;
  for (; whole < sentences.size() && left > 0; ++whole)
    left -= size_t(sentences[whole] = int32_t(std::min(size_t(sentences[whole]), left)));
  sentences.resize(whole);
}

Result<Record> Record::ofLine(std::string_view line, const std::string &origin, Labelling kind) {
  Record record;
  record.text = line;
  if (kind == Labelling::Words)
    record.words = splitWords(line);
  if (!isOfPairs(kind))
    return record;
  size_t tab = line.find('\t');
  if (tab == std::string_view::npos || isBlank(line.substr(0, tab)) || isBlank(line.substr(tab + 1)))
    return makeError(ErrorKind::Malformed, origin,
                     " is no pair of texts; write both with a tab between them, or give records with "
                     "--records.");
  record.text = line.substr(0, tab);
  record.right = line.substr(tab + 1);
  return record;
}

namespace {

// Reads the two texts of a pair.
Status readPair(const Json &json, const std::string &origin, Labelling kind, Record &record) {
  for (auto [key, text] : {std::pair("left", &record.text), std::pair("right", &record.right)}) {
    auto found = json.find(key);
    if (found == json.end() || !found->is_string())
      return badRecord(origin, kind, str("has no \"", key, "\", a string"));
    *text = found->get<std::string>();
    if (isBlank(*text))
      return badRecord(origin, kind, str("has a \"", key, "\" without a word"));
  }
  return Success();
}

// Reads the text, or the image in place of one.
Status readText(const Json &json, const std::string &origin, Labelling kind, Record &record) {
  auto bad = [&](std::string_view what) { return badRecord(origin, kind, what); };
  if (auto tokens = json.find("tokens"); tokens != json.end()) {
    if (!tokens->is_array() || !std::ranges::all_of(*tokens, [](const Json &word) { return word.is_string(); }))
      return bad("has \"tokens\" that are not a list of strings");
    record.words = tokens->get<std::vector<std::string>>();
    for (const std::string &word : record.words) {
      if (isBlank(word))
        return bad("has a token without a character");
      record.text += (record.text.empty() ? "" : " ") + word;
    }
  }
  auto image = json.find("image");
  if (image != json.end() && kind == Labelling::Texts) {
    HEDDLE_ASSIGN(record.image, Image::parse(*image, origin));
  }
  if (auto text = json.find("text"); !json.contains("tokens") && (text != json.end() || !record.image)) {
    bool isList = text != json.end() && text->is_array() &&
                  std::ranges::all_of(*text, [](const Json &sentence) { return sentence.is_string(); });
    if (text == json.end() || (!text->is_string() && !isList))
      return bad("has neither a \"text\", a string or a list of sentences, nor \"tokens\"");
    std::string whole = isList ? std::string() : text->get<std::string>();
    std::vector<std::string> sentences = isList ? text->get<std::vector<std::string>>() : std::vector<std::string>();
    for (const std::string &sentence : sentences) {
      if (isBlank(sentence))
        return bad("has a sentence without a word");
      whole += (whole.empty() ? "" : " ") + sentence;
    }
    if (kind == Labelling::Words)
      record.words = splitWords(whole);
    record.text = std::move(whole);
    record.sentences = std::move(sentences);
  }
  if (isBlank(record.text) && !record.image)
    return bad("has a text without a word");
  if (auto edges = json.find("edges"); edges != json.end() && kind == Labelling::Words) {
    HEDDLE_ASSIGN(record.edges, edgesOf(*edges, record.words.size(), origin));
  }
  return Success();
}

} // namespace

Result<Record> Record::parse(std::string_view line, const std::string &origin, Labelling kind, bool wantsLabels) {
  auto bad = [&](std::string_view what) { return badRecord(origin, kind, what); };
  if (!isValidUtf8(line))
    return bad("is not UTF-8");
  Result<Json> parsed = parseJson(line, origin);
  if (!parsed.ok())
    return bad("is not JSON");
  const Json &json = *parsed;
  if (!json.is_object())
    return bad("is not an object of JSON");
  Record record;
  HEDDLE_CHECK(isOfPairs(kind) ? readPair(json, origin, kind, record) : readText(json, origin, kind, record));
  if (!wantsLabels || kind == Labelling::Partners)
    return record;

  const char *key = kind == Labelling::Words ? "labels" : kind == Labelling::Grades ? "grade" : "label";
  auto found = json.find(key);
  if (found == json.end())
    return bad(str("has no \"", key, "\""));
  if (kind == Labelling::Grades) {
    record.grade = found->is_number() ? found->get<float>() : NAN;
    if (!std::isfinite(record.grade))
      return bad(str("has the grade ", shown(*found), ", and a grade is a number"));
    return record;
  }
  std::vector<Json> values =
      kind == Labelling::Words && found->is_array() ? found->get<std::vector<Json>>() : std::vector<Json>{*found};
  if (kind == Labelling::Words && !found->is_array())
    return bad("has \"labels\" that are not a list");
  for (const Json &value : values) {
    std::optional<std::string> label = labelOf(value);
    if (!label)
      return bad(str("has the label ", shown(value), ", and a label is a string that is not blank or a whole number"));
    record.labels.push_back(*label);
  }
  if (kind == Labelling::Words && record.labels.size() != record.words.size())
    return bad(str("has ", record.labels.size(), record.labels.size() == 1 ? " label for " : " labels for ",
                   record.words.size(), record.words.size() == 1 ? " word" : " words"));
  return record;
}

// Encodes a text, two texts with a tab between them, or the words of a text, with a published encoder's marks.
static EncodedRecord encodeMarked(const Record &record, Labelling kind, const TextCodec &vocabulary) {
  const InputMarks &marks = *vocabulary.inputMarks();
  EncodedRecord result;
  if (kind == Labelling::Texts) {
    std::string_view text = record.text;
    size_t tab = marks.between ? text.find('\t') : std::string_view::npos;
    bool isPair = tab != std::string_view::npos;
    EncoderInput input = isPair ? encodeInput(vocabulary, marks, text.substr(0, tab), text.substr(tab + 1))
                                : encodeInput(vocabulary, marks, text);
    result.tokens = std::move(input.tokens);
    result.texts = input.texts;
    return result;
  }
  // In vocabularies of bytes a word has other pieces behind a space than at the beginning of a text.
  bool seesSpaces = vocabulary.encodeUnmarked("a") != vocabulary.encodeUnmarked(" a");
  result.tokens = marks.before;
  for (const std::string &word : record.words) {
    result.wordStarts.push_back(int32_t(result.tokens.size()));
    bool isFirst = result.wordStarts.size() == 1;
    std::vector<int32_t> pieces = vocabulary.encodeUnmarked(seesSpaces && !isFirst ? " " + word : word);
    if (pieces.empty()) // each word needs a token for its label
      pieces = marks.after;
    result.tokens.insert(result.tokens.end(), pieces.begin(), pieces.end());
  }
  result.texts = InputTexts{result.tokens.size() - marks.before.size(), result.tokens.size()};
  result.tokens.insert(result.tokens.end(), marks.after.begin(), marks.after.end());
  return result;
}

Result<EncodedRecord> encodeRecord(const Record &record, Labelling kind, const TextCodec &vocabulary,
                                   const Marks &marks, const std::string &origin, const std::filesystem::path &folder) {
  if (isOfPairs(kind)) {
    // The vector of a text is later made of the marks that the vocabulary gives a single text.
    InputMarks fitting = marks.joinsPairs ? inputMarksOf(vocabulary, marks.begin, marks.end)
                                          : InputMarks{{marks.begin}, {marks.end}, std::nullopt};
    auto encode = [&](std::string_view text) {
      if (marks.joinsPairs)
        text = withoutTrailingSpace(withoutLeadingSpace(text));
      return encodeInput(vocabulary, fitting, text).tokens;
    };
    return EncodedRecord{.tokens = encode(record.text), .right = encode(record.right)};
  }
  if (marks.image.pixels() > 0) {
    if (!record.image)
      return makeError(ErrorKind::Malformed, origin, " has no \"image\", and the model takes images: ",
                       R"({"image": [[0, 0.5], [1, 0]], "label": "x"}.)");
    EncodedRecord result;
    HEDDLE_ASSIGN(result.pixels, record.image->read(marks.image, folder, origin));
    return result;
  }
  if (isBlank(record.text))
    return makeError(ErrorKind::Malformed, origin,
                     " has an image and no text, and the model takes texts; it takes images where its "
                     "parameters `image_height` and `image_width` are above 0.");
  if (marks.neighbours > 0 && !record.edges)
    return makeError(ErrorKind::Malformed, origin,
                     " has no \"edges\", and the model is one of graphs, whose nodes are the words: ",
                     R"({"tokens": ["a", "b"], "edges": [[0, 1]], "labels": ["N", "V"]}.)");
  if (marks.sentences > 0 && record.sentences.empty())
    return makeError(ErrorKind::Malformed, origin, " has no sentences, and the model tells them apart: ",
                     R"({"text": ["who is there", "it is me"], "label": "x"}.)");
  if (marks.sentences > 0 && record.sentences.size() > size_t(marks.sentences))
    return makeError(ErrorKind::InvalidArgument, origin, " has ", record.sentences.size(),
                     " sentences, and the model was compiled for ", marks.sentences,
                     "; compile it with `--set sentences=", record.sentences.size(), "`.");
  if (const InputMarks *own = vocabulary.inputMarks();
      own && !own->after.empty() && marks.neighbours == 0 && marks.sentences == 0) {
    if (kind == Labelling::Texts && !own->between && record.text.find('\t') != std::string::npos)
      return makeError(
          ErrorKind::InvalidArgument, origin,
          " has a tab, which separates two texts, and the vocabulary has no form for pairs: the "
          "post-processor of its tokenizer.json has no template `pair`, or one with other marks around the "
          "texts than `single`. Add the template, or give single texts.");
    return encodeMarked(record, kind, vocabulary);
  }
  EncodedRecord result;
  result.tokens.push_back(marks.begin);
  auto append = [&](std::string_view text) {
    std::vector<int32_t> pieces = vocabulary.encode(text);
    if (pieces.empty() && (kind == Labelling::Words || marks.sentences > 0))
      pieces.push_back(kUnknownId); // each word needs a token for its label, each sentence a first token
    result.tokens.insert(result.tokens.end(), pieces.begin(), pieces.end());
  };
  auto appendWords = [&](const std::vector<std::string> &words) {
    for (const std::string &word : words) {
      result.wordStarts.push_back(int32_t(result.tokens.size()));
      append(word);
    }
  };
  size_t begin = 0;
  for (const std::string &sentence : marks.sentences > 0 ? record.sentences : std::vector<std::string>()) {
    if (kind == Labelling::Words)
      appendWords(splitWords(sentence));
    else
      append(sentence);
    result.sentences.push_back(int32_t(result.tokens.size() - begin));
    begin = result.tokens.size();
  }
  if (marks.sentences > 0)
    ++result.sentences.back();
  else if (kind == Labelling::Words)
    appendWords(record.words);
  else
    append(record.text);
  result.tokens.push_back(marks.end);
  if (marks.neighbours > 0) {
    HEDDLE_CHECK(checkNeighbours(*record.edges, record.words.size(), marks.neighbours, origin));
    for (const Edge &edge : *record.edges)
      result.edges.push_back({result.wordStarts[size_t(edge.from)], result.wordStarts[size_t(edge.to)]});
  }
  return result;
}

// A line that is no record was reported earlier, and has no text here.
std::string textOfRecord(std::string_view line) {
  Result<Record> record = Record::parse(line, "", Labelling::None, /*wantsLabels=*/false);
  return record.ok() ? record->text : std::string();
}

std::string textOfPair(std::string_view line) {
  Result<Record> record = Record::parse(line, "", Labelling::Pairs, /*wantsLabels=*/false);
  return record.ok() ? record->text + " " + record->right : std::string();
}

Result<std::vector<std::string>> collectLabels(const LineBlocks &file, Labelling kind) {
  std::set<std::string> labels;
  HEDDLE_CHECK(forEachRecord(file, [&](std::string_view line, const std::string &origin) -> Status {
    HEDDLE_ASSIGN(Record record, Record::parse(line, origin, kind, /*wantsLabels=*/true));
    labels.insert(record.labels.begin(), record.labels.end());
    return Success();
  }));
  return std::vector<std::string>(labels.begin(), labels.end());
}

Status LabelledTexts::addRecord(std::string_view line, const std::string &origin, Examples &examples,
                                CorpusReport &report) const {
  HEDDLE_ASSIGN(Record record, Record::parse(line, origin, kind, /*wantsLabels=*/true));
  std::vector<int32_t> labels;
  for (const std::string &label : record.labels) {
    HEDDLE_ASSIGN(labels.emplace_back(), numbers.of(label, origin));
  }
  HEDDLE_ASSIGN(EncodedRecord encoded,
                encodeRecord(record, kind, vocabulary, marks, origin, text.source().parent_path()));
  if (encoded.pixels.empty() && int64_t(std::max(encoded.tokens.size(), encoded.right.size())) > maximumLength) {
    ++report.overLong;
    return Success();
  }
  Example example = encoded.example();
  example.labels = labels;
  example.labelled = encoded.wordStarts;
  if (kind == Labelling::Grades)
    example.grade = {&record.grade, 1};
  if (marks.joinsPairs)
    example.partner = std::exchange(example.right, {});
  examples.add(example);
  return Success();
}

} // namespace heddle
