#ifndef PLAN_OPS_TD
#define PLAN_OPS_TD

include "dialects/Plan/PlanDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "dialects/Tile/TileGrid.td"

def Plan_Space : I32EnumAttr<"Space", "where an argument lies", [
    I32EnumAttrCase<"Variable", 0, "variable">, I32EnumAttrCase<"Arena", 1, "arena">,
    I32EnumAttrCase<"Size", 2, "size">]> {
  let cppNamespace = "::mlir::plan";
}

def Plan_BindingAttr : AttrDef<Plan_Dialect, "Binding"> {
  let mnemonic = "binding";
  let summary = "One kernel argument: a variable or a size by name, or `bytes` of the arena from `offset` on";
  let description = [{ Within a repetition the offset advances by `step` bytes from one step to the next. }];
  let parameters = (ins EnumParameter<Plan_Space>:$space, StringRefParameter<>:$name, "int64_t":$offset,
                        "int64_t":$bytes, DefaultValuedParameter<"int64_t", "0">:$step);
  let assemblyFormat = "`<` $space $name `,` $offset `,` $bytes (`step` $step^)? `>`";
}
def Plan_BindingArrayAttr : TypedArrayAttrBase<Plan_BindingAttr, "a binding for each kernel argument">;

// Conditions on a call. `heddle-derive-contract` finds them. Until a function is planned, they are its attribute
// `plan.segments`.
def Plan_AddendAttr : AttrDef<Plan_Dialect, "Addend"> {
  let mnemonic = "addend";
  let summary = "Elements of an i32 input vector, from an index on, times a coefficient";
  let parameters = (ins StringRefParameter<>:$input, "int64_t":$coefficient, "int64_t":$from);
  let assemblyFormat = "`<` $input `times` $coefficient `from` $from `>`";
}

def Plan_SumAttr : AttrDef<Plan_Dialect, "Sum"> {
  let mnemonic = "sum";
  let summary = "A number for each place: a constant plus elements of inputs";
  let parameters = (ins OptionalArrayRefParameter<"AddendAttr">:$addends, "int64_t":$constant);
  let assemblyFormat = "`<` $constant (`plus` `[` $addends^ `]`)? `>`";
}

def Plan_ExtentAttr : AttrDef<Plan_Dialect, "Extent"> {
  let mnemonic = "extent";
  let summary = "A run-time size by name, or a number if the name is empty";
  let parameters = (ins StringRefParameter<>:$size, "int64_t":$extent);
  let assemblyFormat = "`<` $size `,` $extent `>`";
}

def Plan_SegmentsAttr : AttrDef<Plan_Dialect, "Segments"> {
  let mnemonic = "segments";
  let summary = "Rows that an entry reads or writes as its inputs say, and how many rows there are";
  let description = [{
    At each of `places` the entry accesses rows [first, first + count) of `rows`. A count is not negative; if it is 0,
    `first` may be any number. With `list`, the rows of place i are elements of row i of that i32 input matrix, and each
    of these elements is in turn a row of `listed`.
  }];
  let parameters = (ins "ExtentAttr":$places, "SumAttr":$first, "SumAttr":$count, "ExtentAttr":$rows,
                        StringRefParameter<"", "\"\"">:$list, OptionalParameter<"ExtentAttr">:$listed);
  let assemblyFormat = [{
    `<` `at` $places `first` $first `count` $count `of` $rows (`list` $list^ `of` $listed)? `>`
  }];
}

def EntryOp : Plan_Op<"entry", [Symbol, NoTerminator, SingleBlock]> {
  let summary = "An entry point: ports, then launches in order";
  let description = [{
    The arena is one allocation, or a sequence of `blocks` that are allocated one by one. The bytes of the blocks are
    multiples of 256 and add up to `arena_bytes`. Offsets count from the beginning of the first block, and no port or
    binding reaches from one block into the next. `kept_bytes` is the maximum, over all points between two launches, of the
    bytes of the tensors in the arena that are read after the next launch.

    ```mlir
    plan.entry @eval arena 1024 blocks [768, 256] {}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$arena_bytes, OptionalAttr<DenseI64ArrayAttr>:$blocks,
                       DefaultValuedAttr<I64Attr, "0">:$kept_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `arena` $arena_bytes (`blocks` $blocks^)? $body attr-dict";
  let extraClassDeclaration = [{
    /// Returns the bytes of each block, or the bytes of the arena if no blocks are listed.
    ::llvm::SmallVector<int64_t> getBlockBytes();
    /// Returns true if the bytes from `begin` to `end` lie in one block of the arena.
    bool isInOneBlock(int64_t begin, int64_t end);
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

class Plan_PortOp<string mnemonic> : Plan_Op<mnemonic, [HasParent<"EntryOp">]> {
  let arguments = (ins StrAttr:$name, TypeAttrOf<AnyRankedTensor>:$type, I64Attr:$offset, I64Attr:$bytes,
                       DefaultValuedAttr<I64Attr, "0">:$limit, OptionalAttr<StrAttr>:$role);
  let assemblyFormat = "$name `:` $type `at` $offset `bytes` $bytes (`limit` $limit^)? (`role` $role^)? attr-dict";
}
def InputOp : Plan_PortOp<"input"> { let summary = "An input of a call, at an offset in the arena"; }
def OutputOp : Plan_PortOp<"output"> { let summary = "An output of a call, at an offset in the arena"; }

def SegmentsOp : Plan_Op<"segments", [HasParent<"EntryOp">]> {
  let summary = "A condition on several inputs of a call, beyond the limit of each input";
  let arguments = (ins Plan_SegmentsAttr:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def RepeatOp : Plan_Op<"repeat", [HasParent<"EntryOp">, NoTerminator, SingleBlock]> {
  let summary = "Launches that run step after step";
  let description = [{
    The run-time size `trips` is the number of steps, and at most `steps`. With `reverse` the last step comes first. If
    the grid of a launch depends on the run-time size `rows`, the launch covers only the rows of its step. All steps
    together have `tokens` rows.
  }];
  let arguments = (ins StrAttr:$trips, I64Attr:$steps, UnitAttr:$reverse, StrAttr:$rows, StrAttr:$tokens);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$trips `most` $steps (`reverse` $reverse^)? `rows` $rows `of` $tokens $body attr-dict";
}

def Plan_Collective : I32EnumAttr<"Collective", "what several ranks do together", [
    I32EnumAttrCase<"AllReduce", 0, "all_reduce">, I32EnumAttrCase<"AllGather", 1, "all_gather">,
    I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">]> {
  let cppNamespace = "::mlir::plan";
  let genSpecializedAttr = 0;
}
def Plan_CollectiveAttr : EnumAttr<Plan_Dialect, Plan_Collective, "what">;

def CollectiveOp : Plan_Op<"collective", [HasParent<"EntryOp">]> {
  let summary = "A collective on f32 tensors, in the same order on each rank: all tensors `from` at once, with the results `to`";
  let description = [{
    The op waits for all launches before it. Later launches that access its bytes wait for it, and others may run
    meanwhile. Tensors do not overlap, except that a result may be in the place of its own tensor. `all_reduce` gives
    the sums over all ranks. `all_gather` gives the rows of all ranks: each rank has computed the rows that it keeps of
    the sharded variables `like`, one per tensor. `reduce_scatter` gives a rank the sums only of the rows that it keeps
    of such variables; other rows of the results are undefined.

    ```mlir
    plan.collective all_reduce [#plan.binding<arena "", 256, 32>] to [#plan.binding<arena "", 256, 32>]
    ```
  }];
  let arguments = (ins Plan_CollectiveAttr:$what, Plan_BindingArrayAttr:$from, Plan_BindingArrayAttr:$to,
                       OptionalAttr<FlatSymbolRefArrayAttr>:$like);
  let assemblyFormat = "$what $from `to` $to (`as` $like^)? attr-dict";
  let hasVerifier = 1;
}

def Plan_ShardAttr : AttrDef<Plan_Dialect, "Shard"> {
  let mnemonic = "shard";
  let summary = "Marks a launch of which each rank runs only the rows that it keeps of a sharded variable";
  let description = [{
    Along the grid's `axis`, each workgroup computes `tile` rows. Each tensor of the launch has as many rows as the
    variable, or is a single number.
  }];
  let parameters = (ins StringRefParameter<>:$variable, "int64_t":$axis, "int64_t":$tile);
  let assemblyFormat = "`<` $variable `,` `axis` $axis `tile` $tile `>`";
}

def LaunchOp : Plan_Op<"launch", [ParentOneOf<["EntryOp", "RepeatOp"]>]> {
  let summary = "Starts a kernel; with `barrier`, after all earlier launches have finished";
  let description = [{
    The first bindings are the tensors that the kernel reads, and the next ones those that it writes. `reads` and
    `writes` are their types, for tools that inspect the results of launches. With `infinities` some results are
    infinite on purpose.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Tile_GridArrayAttr:$grid, Plan_BindingArrayAttr:$bindings,
                       UnitAttr:$barrier, OptionalAttr<TypeArrayAttr>:$reads, OptionalAttr<TypeArrayAttr>:$writes,
                       UnitAttr:$infinities, OptionalAttr<Plan_ShardAttr>:$shard);
  let assemblyFormat = [{
    (`barrier` $barrier^)? $kernel `grid` $grid $bindings (`reads` $reads^)? (`writes` $writes^)?
    (`infinities` $infinities^)? (`shard` $shard^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif
