#include "compiler/Target/CPU/LinkImage.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace llvm::support;

using Object = llvm::object::ELF64LEObjectFile;

static llvm::Error problem(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

namespace {

class Linker {
public:
  Linker(const Object &object, CodeImage &image) : object(object), image(image) {}

  llvm::Error place() {
    for (llvm::object::ELFSectionRef section : object.sections()) {
      if (!(section.getFlags() & llvm::ELF::SHF_ALLOC) || section.getSize() == 0)
        continue;
      llvm::Expected<StringRef> contents = section.getContents(), name = section.getName();
      if (!contents)
        return contents.takeError();
      if (!name)
        return name.takeError();
      if (section.getFlags() & llvm::ELF::SHF_WRITE)
        return problem("its code has writable data in section " + *name);
      if (section.getAlignment().value() > kImageAlignment)
        return problem("section " + *name + " wants an alignment of " + Twine(section.getAlignment().value()));
      image.bytes.resize(llvm::alignTo(image.bytes.size(), section.getAlignment()));
      addresses[section.getIndex()] = image.bytes.size();
      image.bytes.append(contents->begin(), contents->end());
    }
    return llvm::Error::success();
  }

  llvm::Expected<uint64_t> addressOf(const llvm::object::SymbolRef &symbol) const {
    llvm::Expected<llvm::object::section_iterator> section = symbol.getSection();
    if (!section)
      return section.takeError();
    llvm::Expected<uint64_t> offset = symbol.getValue();
    if (!offset)
      return offset.takeError();
    auto known = *section == object.section_end() ? addresses.end() : addresses.find((*section)->getIndex());
    if (known == addresses.end()) {
      llvm::Expected<StringRef> name = symbol.getName();
      if (!name)
        return name.takeError();
      return problem("its code needs the symbol " + *name + ", and an image has no library");
    }
    return known->second + *offset;
  }

  llvm::Error relocate() {
    for (llvm::object::ELFSectionRef section : object.sections()) {
      llvm::Expected<llvm::object::section_iterator> target = section.getRelocatedSection();
      if (!target)
        return target.takeError();
      if (*target == object.section_end() || !addresses.contains((*target)->getIndex()))
        continue;
      uint64_t base = addresses.lookup((*target)->getIndex());
      for (llvm::object::ELFRelocationRef relocation : section.relocations()) {
        llvm::Expected<uint64_t> symbol = addressOf(*relocation.getSymbol());
        if (!symbol)
          return symbol.takeError();
        llvm::Expected<int64_t> addend = relocation.getAddend();
        if (!addend)
          return addend.takeError();
        uint64_t place = base + relocation.getOffset();
        auto distance = static_cast<int64_t>(*symbol + *addend - place);
        if (!resolve(relocation.getType(), image.bytes.data() + place, distance)) {
          SmallString<32> name;
          relocation.getTypeName(name);
          return problem("its code has a relocation " + name + " at a distance of " + Twine(distance) +
                         ", which an image cannot have");
        }
      }
    }
    return llvm::Error::success();
  }

private:
  /// Writes a distance into the instruction or number at `place`. Returns false if the relocation type cannot hold it.
  bool resolve(uint64_t type, char *place, int64_t distance) const {
    auto isWithin = [&](unsigned bits) { return llvm::isIntN(bits, distance); };
    // Sets bits of an AArch64 instruction that are zero before.
    auto addBits = [&](uint64_t bits) {
      endian::write32le(place, endian::read32le(place) | static_cast<uint32_t>(bits));
      return true;
    };
    if (object.getArch() == llvm::Triple::x86_64) {
      if ((type != llvm::ELF::R_X86_64_PC32 && type != llvm::ELF::R_X86_64_PLT32) || !isWithin(32))
        return false;
      endian::write32le(place, static_cast<uint32_t>(distance));
      return true;
    }
    switch (type) {
    case llvm::ELF::R_AARCH64_PREL32:
      endian::write32le(place, static_cast<uint32_t>(distance));
      return isWithin(32);
    case llvm::ELF::R_AARCH64_ADR_PREL_LO21:
      return isWithin(21) && addBits((distance & 3) << 29 | (distance >> 2 & 0x7ffff) << 5);
    case llvm::ELF::R_AARCH64_LD_PREL_LO19:
    case llvm::ELF::R_AARCH64_CONDBR19:
      return isWithin(21) && distance % 4 == 0 && addBits((distance >> 2 & 0x7ffff) << 5);
    case llvm::ELF::R_AARCH64_CALL26:
    case llvm::ELF::R_AARCH64_JUMP26:
      return isWithin(28) && distance % 4 == 0 && addBits(distance >> 2 & 0x3ffffff);
    default:
      return false;
    }
  }

  const Object &object;
  CodeImage &image;
  llvm::DenseMap<uint64_t, uint64_t> addresses; // of sections in the image, by section index
};

} // namespace

llvm::Expected<CodeImage> heddle::linkImage(StringRef bytes, StringRef entry) {
  llvm::Expected<Object> object = Object::create(llvm::MemoryBufferRef(bytes, entry));
  if (!object)
    return object.takeError();
  CodeImage image;
  Linker linker(*object, image);
  if (llvm::Error error = linker.place())
    return error;
  if (llvm::Error error = linker.relocate())
    return error;
  for (const llvm::object::SymbolRef &symbol : object->symbols()) {
    llvm::Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    if (*name != entry)
      continue;
    llvm::Expected<uint64_t> address = linker.addressOf(symbol);
    if (!address)
      return address.takeError();
    image.entry = static_cast<uint32_t>(*address);
    return image;
  }
  return problem("its code has no entry point");
}
