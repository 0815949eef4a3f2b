// Ops that several ranks compute together. Ranks are processes that run the same entry, each on its own device.
// compiler/Graph/Distribution/Distribute.cpp adds these ops to entries.

def AllReduceOp : Heddle_Op<"all_reduce", [Pure, InferTypeOpAdaptor, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "The sums of tensors over all ranks; every rank gets them";
  let description = [{
    Every rank runs the same collectives in the same order, with tensors of the same types. The tensors of an op form a
    bucket, which travels as a whole. With one rank the results are the operands. All ranks get the same bits.

    ```mlir
    %0, %1 = heddle.all_reduce %a, %b : tensor<8x16xf32>, tensor<16xf32>
    ```
  }];
  let arguments = (ins Variadic<Heddle_F32>:$inputs);
  let results = (outs Variadic<Heddle_F32>:$results);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

// Base of the ops by which ranks share out the rows of tensors as they share out sharded variables. `like` names a
// sharded variable for each tensor.
class Heddle_RowsOfRanksOp<string mnemonic>
    : Heddle_Op<mnemonic, [Pure, InferTypeOpAdaptor, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let arguments = (ins Variadic<Heddle_F32>:$inputs, FlatSymbolRefArrayAttr:$like);
  let results = (outs Variadic<Heddle_F32>:$results);
  let assemblyFormat = "$inputs `as` $like attr-dict `:` type($inputs)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def ReduceScatterOp : Heddle_RowsOfRanksOp<"reduce_scatter"> {
  let summary = "The sums of tensors over all ranks; every rank gets its own rows of them";
  let description = [{
    For each tensor, `as` names a sharded variable of the same type. A rank gets the sums of the rows that it keeps of this
    variable. The results' other rows are undefined and must not be read. With one rank the results are the
    operands.

    ```mlir
    %0 = heddle.reduce_scatter %a as [@adam.m.gain] : tensor<64xf32>
    ```
  }];
}

def AllGatherOp : Heddle_RowsOfRanksOp<"all_gather"> {
  let summary = "Gathers the rows that each rank has computed; every rank gets all rows";
  let description = [{
    For each tensor, `as` names a sharded variable of the same shape. Each rank has computed the rows that it keeps of this
    variable. The results have all rows. With one rank the results are the operands.

    ```mlir
    %0 = heddle.all_gather %a as [@adam.m.gain] : tensor<64xf32>
    ```
  }];
}
