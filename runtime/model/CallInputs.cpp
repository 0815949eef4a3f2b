#include "runtime/model/CallInputs.h"

#include <optional>

namespace heddle {
namespace {

const std::vector<int32_t> none;

} // namespace

// The sequences that the entry's inputs call `of`; empty if the batch has none. A decoder alone calls the texts that it
// reads its target, so a batch without targets has its sources there.
Result<const PackedSequences *> CallInputs::sequencesOf(const EntryInfo &entry, std::string_view of,
                                                        const Batch &batch) {
  const std::pair<std::string_view, const PackedSequences &> known[] = {
      {"source", batch.source.layout},
      {"left", batch.source.layout},
      {"right", batch.right.layout},
      {"target", batch.hasTarget() ? batch.target : batch.source.layout},
      {"pair", batch.pairs},
      {"source_sentences", batch.source.sentences},
      {"source_words", batch.source.words}};
  for (const auto &[name, sequences] : known)
    if (name == of)
      return &sequences;
  // The model makes smaller images of its source images. Each has as many pixels as the limit of lengths allows.
  auto [found, isNew] = smallerImages.try_emplace(of);
  if (!isNew || batch.source.pixels.empty())
    return &found->second;
  std::optional<int64_t> positions; // that the entry has room for
  for (const PortInfo &port : entry.inputs)
    if (port.of == of && port.role == "positions" && !port.dims.empty())
      positions = port.dims[0].extent;
  for (const PortInfo &port : entry.inputs) {
    if (port.of != of || port.role != "lengths")
      continue;
    int64_t pixels = port.valueLimit - 1, room = positions.value_or(port.longest.extent);
    if (pixels <= 0 || pixels > room)
      return makeError(ErrorKind::Malformed, "the artifact's input '", port.name, "' has the value limit ",
                       port.valueLimit, ", so an image would have ", pixels, " pixels, and there is room for 1 to ",
                       room, "; compile the artifact anew.");
    for (int64_t i = 0; i < batch.source.layout.sequences(); ++i)
      found->second.add(pixels);
  }
  return &found->second;
}

Status CallInputs::addBatch(const EntryInfo *entry, const Batch &batch) {
  for (const PortInfo &port : entry ? std::span<const PortInfo>(entry->inputs) : std::span<const PortInfo>()) {
    const SourceBatch &texts = port.of == "right" ? batch.right : batch.source;
    HEDDLE_ASSIGN(const PackedSequences *found, sequencesOf(*entry, port.of, batch));
    const PackedSequences &sequences = *found;
    // Other sequences, such as the rows of a cache, have no tokens in the batch.
    bool isTarget = port.of == "target", isSource = port.of == "source" || port.of == "left" || port.of == "right";
    const std::pair<std::string_view, const std::vector<int32_t> &> roles[] = {
        {"tokens", isTarget && batch.hasTarget() ? batch.targetIn
                   : isTarget || isSource        ? texts.tokens
                                                 : none},
        {"types", isSource ? texts.types : none},
        {"next", isTarget ? batch.targetOut : none},
        {"positions", sequences.positions},
        {"starts", sequences.starts},
        {"lengths", sequences.lengths},
        {"neighbours", texts.lists.neighbours},
        {"degrees", texts.lists.degrees},
        {"users", texts.lists.users},
        {"slots", texts.lists.slots},
        {"uses", texts.lists.uses},
        {"labelled", batch.labelled},
        {"left", batch.pairLeft},
        {"right", batch.pairRight},
        {"label", batch.labels},
        {"follows", batch.follows}};
    int64_t columns = port.dims.size() > 1 ? port.dims[1].extent : 0;
    for (const auto &[role, values] : roles)
      if (role == port.role && !values.empty())
        addMatrix(port.name, std::span(values), columns);
    if (const std::vector<float> &values = port.role == "pixels" ? texts.pixels : batch.grades;
        !values.empty() && (port.role == "pixels" || port.role == "grade"))
      addMatrix(port.name, std::span(values), columns);
  }
  return Success();
}

} // namespace heddle
