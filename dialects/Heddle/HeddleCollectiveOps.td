// Ops that ranks compute together: processes that run the same entry, each on a device of its own. compiler/Fusion/Distribute.cpp puts
// them into entries.

def AllReduceOp : Heddle_Op<"all_reduce", [Pure, InferTypeOpAdaptor, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "The sums over all ranks of some tensors, which every rank gets";
  let description = [{
    Every rank runs the same collectives in the same order, with tensors of the same types. All of an op's tensors travel
    together: they are a bucket. Where there is one rank the results are the operands. All ranks get the same bits.

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

// Of ops by which ranks share out the rows of tensors as they do those of sharded variables, one of which `like` names for each tensor.
class Heddle_RowsOfRanksOp<string mnemonic>
    : Heddle_Op<mnemonic, [Pure, InferTypeOpAdaptor, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let arguments = (ins Variadic<Heddle_F32>:$inputs, FlatSymbolRefArrayAttr:$like);
  let results = (outs Variadic<Heddle_F32>:$results);
  let assemblyFormat = "$inputs `as` $like attr-dict `:` type($inputs)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def ReduceScatterOp : Heddle_RowsOfRanksOp<"reduce_scatter"> {
  let summary = "The sums over all ranks of some tensors, of which every rank gets some rows";
  let description = [{
    `as` names a sharded variable for each tensor, of the same type: a rank gets those rows of the sums that it keeps of the variable. Nobody
    may read the results' other rows, which need not be sums. Where there is one rank the results are the operands.

    ```mlir
    %0 = heddle.reduce_scatter %a as [@adam.m.gain] : tensor<64xf32>
    ```
  }];
}

def AllGatherOp : Heddle_RowsOfRanksOp<"all_gather"> {
  let summary = "Tensors of which every rank has made some rows, with the rows of all ranks";
  let description = [{
    `as` names a sharded variable for each tensor, of the same shape: a rank has made those rows of the tensor that it keeps of the
    variable, and results have all rows. Where there is one rank the results are the operands.

    ```mlir
    %0 = heddle.all_gather %a as [@adam.m.gain] : tensor<64xf32>
    ```
  }];
}
