// What a kernel costs: arithmetic and memory traffic, as formulas of run-time sizes. The attribute is `heddle.cost` on
// `heddle.kernel`, and on the launch that becomes of it.
#ifndef HEDDLE_COST_TD
#define HEDDLE_COST_TD

include "dialects/Heddle/HeddleDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Heddle_PairsAttr : AttrDef<Heddle_Dialect, "Pairs"> {
  let mnemonic = "pairs";
  let summary = "How many (query, key) pairs of a batch count, summed over its sequences";
  let description = [{
    `queries` and `keys` name the entry's i32 inputs that hold the sequences' lengths; an empty `queries` stands for one
    query a sequence. The pairs (q, k) counted have q < queries, k < keys and -below <= k - q <= above, where -1 stands
    for no bound: `above` is 0 for causal attention. `maximum` is the most that the count can be.
  }];
  let parameters = (ins StringRefParameter<>:$queries, StringRefParameter<>:$keys,
                        DefaultValuedParameter<"int64_t", "-1">:$below, DefaultValuedParameter<"int64_t", "-1">:$above,
                        "int64_t":$maximum);
  let assemblyFormat = "`<` $queries `,` $keys (`below` $below^)? (`above` $above^)? `max` $maximum `>`";
}

def Heddle_TermAttr : AttrDef<Heddle_Dialect, "Term"> {
  let mnemonic = "term";
  let summary = "A number times run-time sizes, by name, and times a count of pairs";
  let parameters = (ins "int64_t":$coefficient, OptionalArrayRefParameter<"StringAttr">:$sizes,
                        OptionalParameter<"PairsAttr">:$pairs);
  let assemblyFormat = "`<` $coefficient (`[` $sizes^ `]`)? (`pairs` `` $pairs^)? `>`";
}

def Heddle_CostAttr : AttrDef<Heddle_Dialect, "Cost"> {
  let mnemonic = "cost";
  let summary = "What a kernel's ops need, whatever the implementation does: sums of terms";
  let description = [{
    `flops` is all floating-point arithmetic, additions and multiplications counted apart; `model` the part of it that is
    called the model's: products of the forward pass and of the gradients, nothing computed again. `bytes` is the
    traffic of a kernel that reads each operand once and writes each result once.
  }];
  let parameters = (ins OptionalArrayRefParameter<"TermAttr">:$flops, OptionalArrayRefParameter<"TermAttr">:$model,
                        OptionalArrayRefParameter<"TermAttr">:$bytes);
  let assemblyFormat = "`<` (`flops` `[` $flops^ `]`)? (`model` `[` $model^ `]`)? (`bytes` `[` $bytes^ `]`)? `>`";
}

#endif
