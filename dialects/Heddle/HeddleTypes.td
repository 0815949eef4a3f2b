// Attributes, enums and the type constraints that the ops share.
#ifndef HEDDLE_TYPES_TD
#define HEDDLE_TYPES_TD

include "dialects/Heddle/HeddleDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

def Heddle_DimsAttr : AttrDef<Heddle_Dialect, "Dims",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "dims";
  let summary = "Names the run-time size behind each dynamic dimension of a tensor, in order";
  let parameters = (ins ArrayRefParameter<"StringAttr">:$names);
  let assemblyFormat = "`<` $names `>`";
}

def Heddle_VariableKind : I32EnumAttr<"VariableKind", "what a variable is for", [
    I32EnumAttrCase<"Weight", 0, "weight">,
    I32EnumAttrCase<"OptimizerState", 1, "optimizer_state">,
    I32EnumAttrCase<"Gradient", 2, "gradient">,
    I32EnumAttrCase<"Counter", 3, "counter">,
    I32EnumAttrCase<"Cache", 4, "cache">,
    I32EnumAttrCase<"Frozen", 5, "frozen">]> {
  let cppNamespace = "::mlir::heddle";
  let genSpecializedAttr = 0;
}
def Heddle_VariableKindAttr : EnumAttr<Heddle_Dialect, Heddle_VariableKind, "kind">;

// Variables with the roles up to `rounded`, and from `scales` on, belong to a weight. The other roles are the model's
// own. The artifact uses the same numbers.
def Heddle_VariableRole : I32EnumAttr<"VariableRole", "what a variable is to another one, or to the training", [
    I32EnumAttrCase<"FirstMoment", 1, "first_moment">,
    I32EnumAttrCase<"SecondMoment", 2, "second_moment">,
    I32EnumAttrCase<"Average", 3, "average">,
    I32EnumAttrCase<"Gradient", 4, "gradient">,
    I32EnumAttrCase<"Rounded", 5, "rounded">,
    I32EnumAttrCase<"LossScale", 6, "loss_scale">,
    I32EnumAttrCase<"Steps", 7, "steps">,
    I32EnumAttrCase<"MicroSteps", 8, "micro_steps">,
    I32EnumAttrCase<"GoodSteps", 9, "good_steps">,
    I32EnumAttrCase<"SkippedSteps", 10, "skipped_steps">,
    I32EnumAttrCase<"Seed", 11, "seed">,
    I32EnumAttrCase<"Scales", 12, "scales">,
    I32EnumAttrCase<"Offsets", 13, "offsets">,
    I32EnumAttrCase<"HighBits", 14, "high_bits">,
    I32EnumAttrCase<"Table", 15, "table">]> {
  let cppNamespace = "::mlir::heddle";
  let genSpecializedAttr = 0;
}
def Heddle_VariableRoleAttr : EnumAttr<Heddle_Dialect, Heddle_VariableRole, "role">;

def Heddle_Distribution : I32EnumAttr<"Distribution", "a distribution to draw from", [
    I32EnumAttrCase<"Uniform", 0, "uniform">, I32EnumAttrCase<"Normal", 1, "normal">]> {
  let cppNamespace = "::mlir::heddle";
  let genSpecializedAttr = 0;
}
def Heddle_DistributionAttr : EnumAttr<Heddle_Dialect, Heddle_Distribution, "distribution">;

def Heddle_StartKind : I32EnumAttr<"StartKind", "how the elements of a variable begin", [
    I32EnumAttrCase<"Constant", 0, "constant">,
    I32EnumAttrCase<"Uniform", 1, "uniform">,
    I32EnumAttrCase<"Normal", 2, "normal">]> {
  let cppNamespace = "::mlir::heddle";
  let genSpecializedAttr = 0;
}

def Heddle_StartAttr : AttrDef<Heddle_Dialect, "Start"> {
  let mnemonic = "start";
  let summary = "What a variable is before its first use";
  let description = [{
    A constant, or random numbers: uniform in [-scale, scale), or normal with the standard deviation `scale`.
  }];
  let parameters = (ins EnumParameter<Heddle_StartKind>:$kind, "FloatAttr":$scale);
  let assemblyFormat = "`<` $kind $scale `>`";
}

// Kernels see matrices. A rank-1 tensor of static extent is a row (a bias), and one of dynamic extent is a column (a
// number per token).
def Heddle_F32 : RankedTensorOf<[F32]>;
def Heddle_Moment : RankedTensorOf<[F32, BF16]>; // of Adam
def Heddle_F32Matrix : 2DTensorOf<[F32]>;
def Heddle_I32Matrix : 2DTensorOf<[I32]>;
def Heddle_Matrix : 2DTensorOf<[F32, I32]>;
def Heddle_Table : TensorRankOf<[F32, I32], [1, 2, 3]>;
def Heddle_ProductOperand : 2DTensorOf<[F32, BF16, F16]>; // of matmuls
def Heddle_StoredMatrix : 2DTensorOf<[F32, BF16, F16, I32]>;
def Heddle_F32Vector : 1DTensorOf<[F32]>;
def Heddle_I32Vector : 1DTensorOf<[I32]>;

// The few tensors that have one fixed type, which the assembly does not spell out.
class Heddle_FixedTensor<int extent, Type element, string builder> : Type<
    And<[RankedTensorOf<[element]>.predicate,
         CPred<"::llvm::cast<::mlir::ShapedType>($_self).getShape() == ::llvm::ArrayRef<int64_t>{" # extent # "}">]>,
    "tensor<" # extent # "x" # !tolower(builder) # ">", "::mlir::TensorType">,
  BuildableType<"::mlir::RankedTensorType::get({" # extent # "}, $_builder.get" # builder # "Type())">;
def Heddle_Scalar : Heddle_FixedTensor<1, F32, "F32">;
def Heddle_Step : Heddle_FixedTensor<1, I32, "I32">;
def Heddle_Seed : Heddle_FixedTensor<2, I32, "I32">;

def Heddle_Tensor : RankedTensorOf<[F32, BF16, F16, I32, I1]>;

#endif
