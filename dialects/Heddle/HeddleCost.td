// The cost of a kernel: arithmetic and memory traffic, as formulas of run-time sizes. The attribute is `heddle.cost` on
// `heddle.kernel`, and on the launch that the kernel becomes.
#ifndef HEDDLE_COST_TD
#define HEDDLE_COST_TD

include "dialects/Heddle/HeddleDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Heddle_PairsAttr : AttrDef<Heddle_Dialect, "Pairs"> {
  let mnemonic = "pairs";
  let summary = "The number of (query, key) pairs of a batch that count, summed over its sequences";
  let description = [{
    `queries` and `keys` name the entry's i32 inputs that hold the lengths of the sequences. An empty `queries` stands
    for one query per sequence. A pair (q, k) counts if q < queries, k < keys and -below <= k - q <= above. A bound of
    -1 means no bound, and causal attention has an `above` of 0. `maximum` is the largest possible count.
  }];
  let parameters = (ins StringRefParameter<>:$queries, StringRefParameter<>:$keys,
                        DefaultValuedParameter<"int64_t", "-1">:$below, DefaultValuedParameter<"int64_t", "-1">:$above,
                        "int64_t":$maximum);
  let assemblyFormat = "`<` $queries `,` $keys (`below` $below^)? (`above` $above^)? `max` $maximum `>`";
}

def Heddle_TermAttr : AttrDef<Heddle_Dialect, "Term"> {
  let mnemonic = "term";
  let summary = "A coefficient times run-time sizes, by name, times a count of pairs";
  let parameters = (ins "int64_t":$coefficient, OptionalArrayRefParameter<"StringAttr">:$sizes,
                        OptionalParameter<"PairsAttr">:$pairs);
  let assemblyFormat = "`<` $coefficient (`[` $sizes^ `]`)? (`pairs` `` $pairs^)? `>`";
}

def Heddle_CostAttr : AttrDef<Heddle_Dialect, "Cost"> {
  let mnemonic = "cost";
  let summary = "The work that a kernel's ops need, whatever the implementation does: sums of terms";
  let description = [{
    `flops` is all floating-point arithmetic, with additions and multiplications counted separately. `model` is the part
    that counts as the model's: matmuls of the forward pass and of the gradients, nothing computed again. `bytes` is the
    traffic of a kernel that reads each operand once and writes each result once.
  }];
  let parameters = (ins OptionalArrayRefParameter<"TermAttr">:$flops, OptionalArrayRefParameter<"TermAttr">:$model,
                        OptionalArrayRefParameter<"TermAttr">:$bytes);
  let assemblyFormat = "`<` (`flops` `[` $flops^ `]`)? (`model` `[` $model^ `]`)? (`bytes` `[` $bytes^ `]`)? `>`";
}

#endif
