// Found before MLIR's own header of this name when gcc compiles, and adds to it.
//
// MLIR tells a trait by the spelled name of `Trait<Empty>`, `Empty` being a struct inside a function. The packages of
// LLVM are built by clang, which spells it `Trait<Empty>`; gcc spells out the function too, so that a program built by
// gcc would find no trait of an op that libMLIR defines (a module would have no symbol table). Here gcc's name becomes
// clang's.
#ifndef HEDDLE_CMAKE_GCC_MLIR_SUPPORT_TYPEID_H
#define HEDDLE_CMAKE_GCC_MLIR_SUPPORT_TYPEID_H

#include_next <mlir/Support/TypeID.h>

#include <string>
#include <string_view>

namespace mlir::detail {

template <typename T> constexpr bool isTraitOfLocalEmpty() {
  return std::string_view(__PRETTY_FUNCTION__).find("()::Empty>") != std::string_view::npos;
}

template <typename T>
class TypeIDResolver<T, std::enable_if_t<isTraitOfLocalEmpty<T>()>> : public FallbackTypeIDResolver {
public:
  static TypeID resolveTypeID() {
    // The registry keeps the pointer.
    static const std::string name = [] {
      llvm::StringRef spelled = llvm::getTypeName<T>();
      return spelled.take_front(spelled.find("<mlir::TypeID::get<")).str() + "<Empty>";
    }();
    static TypeID id = registerImplicitTypeID(name);
    return id;
  }
};

} // namespace mlir::detail

#endif
