#include "runtime/model/CallInputs.h"

namespace heddle {

// The sequences that the entry's inputs call `of`; empty if the batch has none.
const PackedSequences &CallInputs::sequencesOf(const EntryInfo &entry, std::string_view of, const Batch &batch) {
  const std::pair<std::string_view, const PackedSequences &> known[] = {{"source", batch.source.layout},
                                                                        {"left", batch.source.layout},
                                                                        {"right", batch.right.layout},
                                                                        {"target", batch.target},
                                                                        {"source_sentences", batch.source.sentences},
                                                                        {"source_words", batch.source.words}};
  for (const auto &[name, sequences] : known)
    if (name == of)
      return sequences;
  // The model makes smaller images of its source images. Each has as many pixels as the limit of lengths allows.
  auto [found, isNew] = smallerImages.try_emplace(of);
  for (const PortInfo &port : entry.inputs)
    if (isNew && !batch.source.pixels.empty() && port.of == of && port.role == "lengths")
      for (int64_t i = 0; i < batch.source.layout.sequences(); ++i)
        found->second.add(port.valueLimit - 1);
  return found->second;
}

CallInputs &CallInputs::addBatch(const EntryInfo *entry, const Batch &batch) {
  for (const PortInfo &port : entry ? std::span<const PortInfo>(entry->inputs) : std::span<const PortInfo>()) {
    const SourceBatch &texts = port.of == "right" ? batch.right : batch.source;
    const PackedSequences &sequences = sequencesOf(*entry, port.of, batch);
    const std::pair<std::string_view, const std::vector<int32_t> &> roles[] = {
        {"tokens", port.of == "target" ? batch.targetIn : texts.tokens},
        {"types", texts.types},
        {"next", batch.targetOut},
        {"positions", sequences.positions},
        {"starts", sequences.starts},
        {"lengths", sequences.lengths},
        {"neighbours", texts.lists.neighbours},
        {"degrees", texts.lists.degrees},
        {"users", texts.lists.users},
        {"slots", texts.lists.slots},
        {"uses", texts.lists.uses},
        {"labelled", batch.labelled},
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
  return *this;
}

} // namespace heddle
