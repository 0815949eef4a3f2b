// The pairs of queries and keys of a batch.
#pragma once

#include "compiler/Reference/Registry.h"

namespace mlir::heddle::reference {

/// A query and a key of the same sequence: their indices in the sequence, and their rows.
struct Pair {
  int64_t query, key;
  int64_t queryRow, keyRow;
};

/// Returns all pairs, sequence by sequence, the keys of a query one after another. `keyRows`, if it is not null, lists
/// the rows of each sequence's keys. Fails after an error if a row is outside of the `queries` or `keys` rows.
template <typename Op>
FailureOr<std::vector<Pair>> pairsOf(Op op, Frame &frame, Value keyRows, int64_t queries, int64_t keys) {
  const Array &queryStarts = frame.get(op.getQueryStarts()), &queryLengths = frame.get(op.getQueryLengths());
  const Array &keyStarts = frame.get(op.getKeyStarts()), &keyLengths = frame.get(op.getKeyLengths());
  const Array *list = keyRows ? &frame.get(keyRows) : nullptr;
  std::vector<Pair> pairs;
  for (int64_t sequence = 0; sequence < queryStarts.size(); ++sequence)
    for (int64_t query = 0; query < queryLengths.whole(sequence); ++query)
      for (int64_t key = 0; key < keyLengths.whole(sequence); ++key) {
        int64_t keyRow = keyStarts.whole(sequence) + key;
        if (list && (keyRow < 0 || keyRow >= list->shape[1]))
          return op.emitOpError() << "takes key " << keyRow << " of a list of " << list->shape[1];
        if (list)
          keyRow = static_cast<int64_t>((*list)(sequence, keyRow));
        int64_t queryRow = queryStarts.whole(sequence) + query;
        if (queryRow < 0 || queryRow >= queries || keyRow < 0 || keyRow >= keys)
          return op.emitOpError() << "pairs query " << queryRow << " of " << queries << " with key " << keyRow << " of "
                                  << keys;
        pairs.push_back({query, key, queryRow, keyRow});
      }
  return pairs;
}

/// Returns the pairs of an op whose keys are not listed, or whose `users` are given. Each row of keys then lists its
/// queries, and its index among the keys of each of them.
template <typename Op> FailureOr<std::vector<Pair>> pairsOfUsers(Op op, Frame &frame, int64_t queries, int64_t keys) {
  if (op.getUsers().empty())
    return pairsOf(op, frame, Value(), queries, keys);
  const Array &rows = frame.get(op.getUsers()[0]), &numbers = frame.get(op.getUsers()[1]),
              &counts = frame.get(op.getUsers()[2]);
  std::vector<Pair> pairs;
  for (int64_t key = 0; key < keys; ++key)
    for (int64_t user = 0; user < counts.whole(key); ++user) {
      if (user >= rows.shape[1] || rows(key, user) < 0 || rows(key, user) >= static_cast<double>(queries))
        return op.emitOpError() << "has no user " << user << " of key " << key;
      pairs.push_back({0, static_cast<int64_t>(numbers(key, user)), static_cast<int64_t>(rows(key, user)), key});
    }
  return pairs;
}

/// Maps columns of a head to columns of queries and of keys, which may have fewer heads.
struct Heads {
  int64_t count, width, ofKeys;

  /// `queries` and `keys` are the numbers of their columns.
  Heads(int64_t count, int64_t queries, int64_t keys) : count(count), width(queries / count), ofKeys(keys / width) {}
  int64_t query(int64_t head, int64_t column) const { return head * width + column; }
  int64_t key(int64_t head, int64_t column) const { return head / (count / ofKeys) * width + column; }
};

} // namespace mlir::heddle::reference
