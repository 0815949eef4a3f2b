// The ops of one workgroup's program, and the launch that starts it.
#ifndef TILE_OPS_TD
#define TILE_OPS_TD

include "dialects/Tile/TileAttributes.td"
include "dialects/Tile/TileGrid.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

class TileOf<list<Type> elements> : 2DTensorOf<elements>;
def Tile_F32 : TileOf<[F32]>;
def Tile_I32 : TileOf<[I32]>;
def Tile_ProductOperand : TileOf<[F32, BF16, F16, I32]>;
def Tile_Sums : TileOf<[F32, I32]>;
def Tile_Any : TileOf<[F32, BF16, F16, I32, I1]>;
def Tile_Memory : MemRefRankOf<[F32, BF16, F16, I32], [2]>;
def Tile_Shared : MemRefRankOf<[F32, BF16, F16, I32], [2]>;

def FuncOp : Tile_Op<"func", [AutomaticAllocationScope, FunctionOpInterface, IsolatedFromAbove]> {
  let summary = "A kernel: the program that each workgroup of a grid runs";
  let description = [{
    Arguments are matrices in device memory (memref) and run-time sizes (index). The attributes say how lanes share the
    work, and phase `layout` chooses from them which lane has which elements. `workgroup` is the number of lanes.
    `mapping` says how they stand over a tile: along its `rows` or `columns`, several along each row (`quads`, usually
    four), in `blocks` of the results of matmuls, or as `tensor` cores require. Along columns, each of several subgroups
    has its own rows, unless all tiles have one row. `vector` is the number of neighbouring columns that a register may
    hold.

    `row_lanes` is the number of lanes along each row of quads. Phase `layout` sets `subgroup`, the number of neighbouring
    lanes that exchange values, unless all lanes of the workgroup do.

    `producers` further lanes have no elements of tiles. They follow the lanes of the workgroup, and copy operands to
    shared memory for them.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, I64Attr:$workgroup,
                       Tile_LaneMappingAttr:$mapping, I64Attr:$vector, OptionalAttr<I64Attr>:$row_lanes,
                       OptionalAttr<I64Attr>:$subgroup, OptionalAttr<I64Attr>:$producers,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ArrayRef<Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ArrayRef<Type> getResultTypes() { return getFunctionType().getResults(); }
    Region *getCallableRegion() { return &getBody(); }
  }];
}

def ReturnOp : Tile_Op<"return", [Pure, HasParent<"FuncOp">, Terminator]> {
  let summary = "Ends a kernel";
  let assemblyFormat = "attr-dict";
}

def LaunchOp : Tile_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel over a grid of workgroups; results are the tensors that it writes";
  let description = [{
    The kernel's arguments are the inputs, then the results, then the named sizes. If `reuse[i]` is not -1, it is the
    input whose memory result i may take over, because each of its elements is read before that element is written.

    A launch may have variants: other kernels that compute the same results from the same inputs. In each call at most
    one of the grids, the launch's own or a variant's, has workgroups: their sizes are 0 in all other calls
    (heddle.size, `within`).

    With `inplace`, each reused input must be in the memory of its result. With `infinities`, some results are infinite
    on purpose.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$inputs, Tile_GridArrayAttr:$grid,
                       StrArrayAttr:$sizes, DenseI64ArrayAttr:$reuse,
                       OptionalAttr<Tile_VariantArrayAttr>:$variants, UnitAttr:$inplace, UnitAttr:$infinities);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `grid` $grid `sizes` $sizes `reuse` $reuse (`variants` $variants^)? attr-dict `:` functional-type($inputs, $results)
  }];
}

// Offsets are in elements. An element at or past a limit is not written, and reads as zero, or with `any_padding` as
// anything (but never from outside the matrix). Without a limit on a dimension the whole tile lies inside it.
//
// With `members`, a row of the matrix holds `members` rows of the tile, `apart` columns from one to the next. Row n,
// counted in rows of tiles, begins in row n / members of the matrix at column `column` + (n mod members) * apart. `row`
// and `row_limit` then count rows of tiles.
defvar Tile_Place = (ins Tile_Memory:$memory, Index:$row, Index:$column, Optional<Index>:$row_limit,
                         Optional<Index>:$column_limit);
defvar Tile_Members = (ins DefaultValuedAttr<I64Attr, "1">:$members, DefaultValuedAttr<I64Attr, "0">:$apart);
defvar Tile_PlaceFormat = "$memory `[` $row `,` $column `]` (`rows` `(` $row_limit^ `)`)? (`columns` `(` $column_limit^ `)`)?";

defvar Tile_Columns = (ins DefaultValuedAttr<I64Attr, "0">:$packed, UnitAttr:$is_unsigned,
                           DefaultValuedAttr<I64Attr, "1">:$repeats);

def LoadOp : Tile_Op<"load", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "Reads a tile whose first element is at (row, column)";
  let description = [{
    With `transposed`, element (i, j) of the tile is element (row + j, column + i) of the matrix. Limits still apply to
    rows and columns of the matrix.

    With `packed`, a number of bits, a word of the matrix holds 32 / `packed` integers from neighbouring rows of a
    column, the first in its lowest bits. The tile begins at a multiple of its number of rows, or of the integers in a
    word. Integers are signed, or unsigned with `is_unsigned`. With `repeats`, each element of the matrix counts for
    that many columns. Offsets and limits are in elements of the tile.

    With `in_place`, packed integers stay where they are in their word, which saves the shifts. The tile has the rows of
    whole words. The result is 2^(`packed` * i) * (number + bias) for number i of a word, where the bias is 0, or
    2^(`packed` - 1) if numbers are signed. The word's last number reads as without `in_place`.

    With `clamped` the tile may begin before the matrix's first row: rows before it read as the first row.
  }];
  let arguments = !con(Tile_Place, (ins UnitAttr:$any_padding, UnitAttr:$transposed), Tile_Columns,
                       (ins UnitAttr:$clamped), Tile_Members, (ins UnitAttr:$in_place));
  let results = (outs Tile_Any:$result);
  let assemblyFormat = !strconcat(Tile_PlaceFormat, " attr-dict `:` type($memory) `->` type($result)");
  let hasVerifier = 1;
}

def StoreOp : Tile_Op<"store", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "Writes a tile whose first element goes to (row, column)";
  let description = [{
    With `to`, which has a number for each row of the tile, rows go to the rows of the matrix with these numbers. The
    row limit still refers to (row, column).
  }];
  let arguments = !con((ins Tile_Any:$value), Tile_Place, (ins Optional<Tile_I32>:$to), Tile_Members);
  let assemblyFormat = !strconcat("$value `,` ", Tile_PlaceFormat,
                                  " (`to` $to^ `:` type($to))? attr-dict `:` type($value) `,` type($memory)");
  let builders = [OpBuilder<(ins "Value":$value, "Value":$memory, "Value":$row, "Value":$column,
                                 CArg<"Value", "Value()">:$row_limit, CArg<"Value", "Value()">:$column_limit), [{
    build($_builder, $_state, value, memory, row, column, row_limit, column_limit, Value());
  }]>];
  let hasVerifier = 1;
}

def GatherOp : Tile_Op<"gather", [MemoryEffects<[MemRead]>]> {
  let summary = "Reads, for each row of the tile, the matrix row that `rows` names, from `column` on";
  let description = [{
    With `transposed` each column of the tile is part of a matrix row, and `rows` has a number for each column.
    `packed`, `is_unsigned` and `repeats` are as in `tile.load`.
  }];
  let arguments = !con((ins Tile_Memory:$memory, Tile_I32:$rows, Index:$column, Optional<Index>:$column_limit),
                       Tile_Columns, (ins UnitAttr:$transposed));
  let results = (outs Tile_Any:$result);
  let assemblyFormat = "$memory `[` $rows `,` $column `]` (`columns` `(` $column_limit^ `)`)? attr-dict `:` type($memory) `,` type($rows) `->` type($result)";
  let hasVerifier = 1;
}

def LookupOp : Tile_Op<"lookup", [MemoryEffects<[MemRead]>]> {
  let summary = "Reads, for each element of a tile, the element of a matrix's only row that it numbers";
  let description = [{
    Numbers are below the length of the row, which is a power of two.

    ```mlir
    %values = tile.lookup %table[%numbers] : memref<1x16xf32>, tensor<8x64xi32> -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Tile_Memory:$memory, Tile_I32:$numbers);
  let results = (outs Tile_Any:$result);
  let assemblyFormat = "$memory `[` $numbers `]` attr-dict `:` type($memory) `,` type($numbers) `->` type($result)";
  let hasVerifier = 1;
}

def StoreDigitsOp : Tile_Op<"store_digits", [MemoryEffects<[MemWrite]>]> {
  let summary = "Splits integers of 16 bits into digits of `bits` bits, and writes these for a `dot` with packed integers";
  let description = [{
    With `bits` 8 an integer is 2^8 a + b, with -128 <= a, b < 128: it is at most 2^15 - 129. The digits a and b of row i
    go to the rows `row` + i and `row` + rows + i of the memory. With `bits` 16 an integer is its own digit.
    An i32 of the memory has the digits of n = 32 / `bits` columns. Word w of packed integers of `packed` bits, shifted
    right by s * `packed` and masked to the lowest bits of each digit, holds the integers s, s + m, ... s + (n - 1) m of
    the word, where m is `bits` / `packed`. Words m w + s of the memory have the digits of these columns.

    ```mlir
    // Word 0 has the columns 0, 2, 4 and 6 of `numbers`, word 1 has 1, 3, 5 and 7.
    tile.store_digits %numbers, %memory[%row] bits 8 packed 4 : tensor<8x32xi32>, memref<16x8xi32>
    // Word 0 has the columns 0 and 4, word 1 has 1 and 5.
    tile.store_digits %numbers, %memory[%row] bits 16 packed 4 : tensor<8x32xi32>, memref<8x16xi32>
    ```
  }];
  let arguments = (ins Tile_I32:$numbers, Tile_Memory:$memory, Index:$row, I64Attr:$bits, I64Attr:$packed);
  let assemblyFormat = "$numbers `,` $memory `[` $row `]` `bits` $bits `packed` $packed attr-dict `:` type($numbers) `,` type($memory)";
  let hasVerifier = 1;
}

def TurnIntegersOp : Tile_Op<"turn_integers", [Pure]> {
  let summary = "Turns words of packed integers from neighbouring rows into words of integers from neighbouring columns";
  let description = [{
    The packed integers are unsigned and have `packed` bits. Element (i, j) of `words` holds rows 32 / `packed` i and
    following of column j. Those of the result have `bits` bits. With `bits` 8, element (i, j) holds columns 4i to
    4i + 3 of row j. With `bits` 16, element (2i, j) holds columns 4i and 4i + 2, element (2i + 1, j) the next columns:
    the order of `store_digits` beside packed bytes.

    ```mlir
    %bytes = tile.turn_integers %words packed 8 bits 8 : tensor<4x32xi32> -> tensor<8x16xi32>
    %halves = tile.turn_integers %words packed 8 bits 16 : tensor<2x32xi32> -> tensor<16x8xi32>
    ```
  }];
  let arguments = (ins Tile_I32:$words, I64Attr:$packed, I64Attr:$bits);
  let results = (outs Tile_I32:$result);
  let assemblyFormat = "$words `packed` $packed `bits` $bits attr-dict `:` type($words) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Shared memory -------------------------------------------------------------------------------------------===//
// A kernel with matmuls of large tiles prefetches the next tiles: copies run during the arithmetic.

def PairsOp : Tile_Op<"pairs", [Pure]> {
  let summary = "Puts neighbouring elements of 16 bits into words: of a column (dim 0) or of a row (dim 1)";
  let description = [{
    With `dim` 0, element (i, j) of the result holds the elements (2i, j) and (2i + 1, j), the first one in its lower half.
    With `dim` 1 it holds (i, 2j) and (i, 2j + 1).

    ```mlir
    %words = tile.pairs %tile dim 0 : tensor<32x16xbf16> -> tensor<16x16xi32>
    ```
  }];
  let arguments = (ins TileOf<[BF16]>:$tile, I64Attr:$dim);
  let results = (outs Tile_I32:$result);
  let assemblyFormat = "$tile `dim` $dim attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

// A processor's matrix registers (AMX: Intel's manual, volume 1, chapter "Intel AMX"). An op is an instruction. There are eight
// registers of 16 rows and 16 columns of 32 bits each; a kernel's ops name them by number.

class Tile_MatrixOp<string mnemonic> : Tile_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let hasVerifier = 1;
}

def MatrixLoadOp : Tile_MatrixOp<"matrix_load"> {
  let summary = "Reads 16 x 16 elements of shared memory, from (row, column) on, into a matrix register";
  let arguments = (ins I64Attr:$number, Tile_Shared:$memory, Index:$row, Index:$column);
  let assemblyFormat = "$number `,` $memory `[` $row `,` $column `]` attr-dict `:` type($memory)";
}

def MatrixStoreOp : Tile_MatrixOp<"matrix_store"> {
  let summary = "Writes a matrix register to 16 x 16 elements of shared memory, from (row, column) on";
  let arguments = (ins I64Attr:$number, Tile_Shared:$memory, Index:$row, Index:$column);
  let assemblyFormat = "$number `,` $memory `[` $row `,` $column `]` attr-dict `:` type($memory)";
}

def MatrixDotOp : Tile_MatrixOp<"matrix_dot"> {
  let summary = "Adds the product of two matrix registers of pairs of bf16 to one of f32";
  let description = [{
    A row of `lhs` holds 32 elements, as `tile.pairs` with `dim` 1 makes them; a column of `rhs` does, with `dim` 0.
  }];
  let arguments = (ins I64Attr:$sums, I64Attr:$lhs, I64Attr:$rhs);
  let assemblyFormat = "$sums `,` $lhs `,` $rhs attr-dict";
}

def SharedOp : Tile_Op<"shared", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Memory that the lanes of a workgroup share for as long as the kernel runs";
  let description = [{
    In a strided layout (usually with a padding of a few elements between rows) the elements of a row are in order. Memory
    of 16-bit operands that `copy` fills is `#tile.swizzled`. `alignment`, in bytes, is for descriptors of warpgroups.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$alignment);
  let results = (outs Tile_Shared:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "MemRefType":$type), [{ build($_builder, $_state, type, /*alignment=*/IntegerAttr()); }]>];
  let hasVerifier = 1;
}

def CopyOp : Tile_Op<"copy", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Starts a copy of rows of a matrix into shared memory, across its full width, from its row `to` on";
  let description = [{
    The copy belongs to the group that the next `commit` closes. Elements at or past a limit become zero. All lanes of
    the workgroup share the work, or with `of_subgroup` the lanes of the subgroup that executes the op.
  }];
  let arguments = !con((ins Tile_Shared:$shared, Index:$to, I64Attr:$rows), Tile_Place, Tile_Members,
                       (ins UnitAttr:$of_subgroup));
  let assemblyFormat = !strconcat(Tile_PlaceFormat,
      " `to` $shared `[` $to `]` `count` $rows attr-dict `:` type($memory) `to` type($shared)");
  let hasVerifier = 1;
}

def CommitOp : Tile_Op<"commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "Closes a group of copies";
  let assemblyFormat = "attr-dict";
}

def WaitOp : Tile_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until all but the last `pending` groups of copies have arrived, in all lanes";
  let description = [{ It also waits for all lanes to get here: memory that they read before may then be overwritten. }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

//===-- Producers and consumers ---------------------------------------------------------------------------------===//
// In a kernel with producers, lanes wait for each other at mbarriers: 64 bits of shared memory, two i32 each. A phase of
// an mbarrier ends when as many subgroups have arrived as it expects. Then the next phase begins.

def MbarrierInitOp : Tile_Op<"mbarrier_init", [MemoryEffects<[MemWrite]>]> {
  let summary = "Sets up a row of mbarriers, each of which expects `arrivals` subgroups";
  let description = [{ All lanes execute it, and meet at a barrier before anything else uses the mbarriers. }];
  let arguments = (ins Tile_Shared:$barriers, I64Attr:$arrivals);
  let assemblyFormat = "$barriers `arrivals` $arrivals attr-dict `:` type($barriers)";
  let hasVerifier = 1;
}

def MbarrierArriveOp : Tile_Op<"mbarrier_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The subgroup arrives at mbarrier `number`, if `condition` is true or absent";
  let description = [{
    With `copied` it first waits until its lanes' copies have come, and makes them visible to tensor cores.
  }];
  let arguments = (ins Tile_Shared:$barriers, Index:$number, Optional<I1>:$condition, UnitAttr:$copied);
  let assemblyFormat = "$barriers `[` $number `]` (`if` $condition^)? attr-dict `:` type($barriers)";
  let hasVerifier = 1;
}

def MbarrierWaitOp : Tile_Op<"mbarrier_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until the phase with this parity, 0 or 1, of mbarrier `number` has ended";
  let description = [{ The first phase has parity 0. The phase before it, with parity 1, has already ended. }];
  let arguments = (ins Tile_Shared:$barriers, Index:$number, Index:$parity);
  let assemblyFormat = "$barriers `[` $number `]` `parity` $parity attr-dict `:` type($barriers)";
  let hasVerifier = 1;
}

def RegistersOp : Tile_Op<"registers", [MemoryEffects<[MemWrite]>]> {
  let summary = "Gives registers back, or with `more` takes some, until each lane of the warpgroup has `count`";
  let arguments = (ins I64Attr:$count, UnitAttr:$more);
  let assemblyFormat = "$count (`more` $more^)? attr-dict";
}

//===-- Layouts -------------------------------------------------------------------------------------------------===//

def ConvertLayoutOp : Tile_Op<"convert_layout", [Pure]> {
  let summary = "The same tile in another layout";
  let description = [{
    If each lane has the same elements in both layouts, nothing moves. Otherwise they go through shared memory. Phase
    `layout` inserts this op if a use of a tile does not support the tile's layout.
  }];
  let arguments = (ins Tile_Any:$input);
  let results = (outs Tile_Any:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===-- Arithmetic ----------------------------------------------------------------------------------------------===//

def DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "accumulator + lhs * rhs, with either operand transposed on request";
  let description = [{
    The operands may be 16-bit. Products and sums are 32-bit. With `integers`, 8 or 16, an element of an operand is an
    i32 that holds as many integers of these bits as fit: element (i, j) of the result is the sum of the products of all
    integers in row i and column j, modulo 2^32. The integers are signed, but bytes of the right operand are unsigned.
  }];
  let arguments = (ins Tile_ProductOperand:$lhs, Tile_ProductOperand:$rhs, Tile_Sums:$accumulator, UnitAttr:$transpose_lhs,
                       UnitAttr:$transpose_rhs, DefaultValuedAttr<I64Attr, "0">:$integers);
  let results = (outs Tile_Sums:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $accumulator attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

def WarpgroupDotOp : Tile_Op<"warpgroup_dot", [AllTypesMatch<["accumulator", "result"]>,
                                               MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Starts accumulator + lhs * rhs in all lanes of warpgroups (wgmma); the right operand is in shared memory";
  let description = [{
    A warpgroup is four subgroups, whose tensor cores read operands from shared memory by themselves. The left operand
    is a tile in registers, or in shared memory. In shared memory it has, from row `lhs_row` on, a row for each row of
    the result, or with `transpose_lhs` a row for each of the `depth` elements of the contracted dimension. The right
    operand has, from row `rhs_row` on, a row for each element of the contracted dimension, or with `transpose_rhs` (as
    in `dot`) a row for each column of the result. The matmul runs while the following ops execute. Until a
    `warpgroup_wait` for it, only the next `warpgroup_dot` may read the result, as its accumulator, and nothing may
    write the operands.
  }];
  let arguments = (ins Tile_F32:$accumulator, AnyTypeOf<[Tile_Shared, TileOf<[BF16, F16]>]>:$lhs,
                       Optional<Index>:$lhs_row, Tile_Shared:$rhs, Index:$rhs_row, I64Attr:$depth, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Tile_F32:$result);
  let assemblyFormat = [{
    $accumulator `,` $lhs (`[` $lhs_row^ `]`)? `,` $rhs `[` $rhs_row `]` `depth` $depth attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def WarpgroupWaitOp : Tile_Op<"warpgroup_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until all but the last `pending` matmuls of the lane's warpgroup are done";
  let description = [{ With `sum`, an accumulator to which no later matmul adds, the result is the finished accumulator. }];
  let arguments = (ins I64Attr:$pending, Optional<Tile_F32>:$sum);
  let results = (outs Optional<Tile_F32>:$result);
  let assemblyFormat = "$pending (`,` $sum^ `:` type($sum) `->` type($result))? attr-dict";
  let hasVerifier = 1;
}

def WarpgroupFenceOp : Tile_Op<"warpgroup_fence", [SameOperandsAndResultType, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Makes sure that a sum is set before the next matmul of the lane's warpgroup starts";
  let description = [{ If an accumulator were set while another matmul runs, ptxas would wait for that matmul. }];
  let arguments = (ins Tile_F32:$sum);
  let results = (outs Tile_F32:$result);
  let assemblyFormat = "$sum attr-dict `:` type($sum)";
}

def Tile_Combine : Tile_Enum<"Combine", "how a reduction combines two elements", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">]>;
def Tile_CombineAttr : EnumAttr<Tile_Dialect, Tile_Combine, "combine">;

def ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "Combines the elements along a dimension, whose extent becomes 1";
  let description = [{
    Along dimension 0 a row may be left for each subgroup of lanes. It combines the rows that the subgroup has, so that no
    value crosses subgroups. Only fragments are reduced in this way.

    ```mlir
    %sums = tile.reduce sum %x dim 0 : tensor<256x32xf32> -> tensor<8x32xf32>
    ```
  }];
  let arguments = (ins Tile_CombineAttr:$combine, TileOf<[F32, I32]>:$input, I64Attr:$dim);
  let results = (outs TileOf<[F32, I32]>:$result);
  let assemblyFormat = "$combine $input `dim` $dim attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "Repeats a tile along the dimensions in which it is shorter than the result";
  let description = [{
    These dimensions usually have extent 1. Cooperative matrices have no single columns: there, a tile whose columns are
    all equal is repeated instead.
  }];
  let arguments = (ins Tile_Any:$input);
  let results = (outs Tile_Any:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def ColumnsOp : Tile_Op<"columns", [Pure]> {
  let summary = "Neighbouring columns of a tile, from a constant column on";
  let description = [{
    A kernel computes the epilogue of a large matmul one part at a time, so that a lane does not hold all operands at
    once.

    ```mlir
    %part = tile.columns %sums from 32 : tensor<128x128xf32> -> tensor<128x32xf32>
    ```
  }];
  let arguments = (ins Tile_Any:$input, I64Attr:$from);
  let results = (outs Tile_Any:$result);
  let assemblyFormat = "$input `from` $from attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def SwapOp : Tile_Op<"swap", [Pure, SameOperandsAndResultType]> {
  let summary = "Exchanges the elements of each pair of neighbouring columns, which are in one register";
  let arguments = (ins Tile_Any:$input);
  let results = (outs Tile_Any:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "A tile whose elements all equal a scalar";
  let arguments = (ins AnyTypeOf<[F32, I32, I1]>:$input);
  let results = (outs Tile_Any:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def IndexOp : Tile_Op<"index", [Pure]> {
  let summary = "base + each element's index along a dimension, as i32";
  let arguments = (ins Index:$base, I64Attr:$dim);
  let results = (outs Tile_I32:$result);
  let assemblyFormat = "$base `dim` $dim attr-dict `:` type($result)";
}

def RandomOp : Tile_Op<"random", [Pure, AllTypesMatch<["rows", "columns"]>]> {
  let summary = "Uniform numbers in [0, 1): a function of seed, step, stream and index only";
  let description = [{
    Philox4x32-10 with key `seed` at counter (column / 4, row, stream, step). The element is word column % 4 of it, its
    upper 24 bits scaled by 2^-24. `rows` and `columns` are tiles with the row and column of each element, and `streams`
    is a tile that is added to the stream.
  }];
  let arguments = (ins I32:$seed_low, I32:$seed_high, I32:$step, I32:$stream, Tile_I32:$rows, Tile_I32:$columns,
                       Optional<Tile_I32>:$streams);
  let results = (outs Tile_F32:$result);
  let assemblyFormat = [{
    `seed` `(` $seed_low `,` $seed_high `)` `step` $step `stream` $stream `at` `(` $rows `,` $columns `)`
    (`streams` $streams^ `:` type($streams))? attr-dict `:` type($rows) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "Type":$result, "Value":$seed_low, "Value":$seed_high, "Value":$step, "Value":$stream,
                                 "Value":$rows, "Value":$columns), [{
    build($_builder, $_state, result, seed_low, seed_high, step, stream, rows, columns, Value());
  }]>];
}

//===-- A thread ------------------------------------------------------------------------------------------------===//
// On a processor, where a workgroup is one lane.

def ChangedOp : Tile_Op<"changed", [HasParent<"FuncOp">]> {
  let summary = "True unless the value is the same as in the workgroup that the thread ran before";
  let description = [{
    A thread runs several workgroups, one after the other, and shared memory keeps its contents. What it holds need not
    be computed again for a workgroup with the same value. True in the first workgroup. The op is in the kernel's
    outermost block.
  }];
  let arguments = (ins Index:$value);
  let results = (outs I1:$result);
  let assemblyFormat = "$value attr-dict";
}

def IntegerDotOp : Tile_Op<"integer_dot", [Pure, SameOperandsAndResultType]> {
  let summary = "accumulator + the dot of the integers in `lhs` and those in `rhs`, for each element of a register";
  let description = [{
    An element holds four integers of 8 bits or two of 16. They are signed, but bytes of `rhs` are unsigned. A `dot` of
    integers is lowered to these.
  }];
  let arguments = (ins VectorOfRankAndType<[1], [I32]>:$accumulator, VectorOfRankAndType<[1], [I32]>:$lhs,
                       VectorOfRankAndType<[1], [I32]>:$rhs, I64Attr:$bits);
  let results = (outs VectorOfRankAndType<[1], [I32]>:$result);
  let assemblyFormat = "$accumulator `,` $lhs `,` $rhs `bits` $bits attr-dict `:` type($result)";
}

#endif
