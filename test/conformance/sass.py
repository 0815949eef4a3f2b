"""Finds hazards of wgmma in machine code. A warpgroup's multiplication runs concurrently with the instructions after
it. Until a wait covers it, only the next multiplication that adds to its sums may read or write them, and nothing may
write the registers of its left operand. PTX guarantees this by the order of its instructions. Only the machine code
shows whether the registers that ptxas chooses keep to it.

`find_hazards` takes the output of `nvdisasm -c` for one kernel."""

import re

INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([^;]*?)\s*;")
LABEL = re.compile(r"^(\.L_x_\d+):")
REGISTER = re.compile(r"\bR(\d+)\b")
PRODUCT = re.compile(r"HGMMA\.64x(\d+)x\d+\.F32\S* R(\d+), (?:R(\d+)|gdesc\S*), ")
# Instructions without a result in a lane's register.
NO_RESULT = ("ST", "RED", "BRA", "BAR", "EXIT", "LDGSTS", "LDGDEPBAR", "DEPBAR", "WARP", "R2UR", "ISETP", "FSETP", "BSYNC", "BSSY", "FENCE", "MEMBAR",
             "NOP", "PLOP", "U")


def parse(text):
    """Returns instructions without predicates, whether each has one, and each label's position."""
    instructions, labels = [], {}
    for line in text.splitlines():
        if label := LABEL.match(line):
            labels[label[1]] = len(instructions)
        elif found := INSTRUCTION.match(line):
            instructions.append((found[1], "@" in line.split(";")[0]))
    return instructions, labels


def product_of(text):
    """Returns the registers of a multiplication's sums and of its left operand; None for other instructions."""
    if not text.startswith("HGMMA"):
        return None
    found = PRODUCT.match(text)
    if not found and not re.match(r"HGMMA\S* RZ, ", text):
        raise ValueError(f"this form of a product is not known: {text}")
    if not found:  # ptxas's form of an empty group
        return range(0), range(0)
    sums = range(int(found[2]), int(found[2]) + int(found[1]) // 2)
    return sums, range(int(found[3]), int(found[3]) + 4) if found[3] else range(0)


def touched(text):
    """Returns the registers that an instruction writes, and all that it names."""
    opcode, _, operands = text.partition(" ")
    named = [int(number) for number in REGISTER.findall(operands)]
    if not named or opcode.startswith(NO_RESULT):
        return set(), set(named)
    count = 4 if ".128" in opcode else 2 if ".64" in opcode or ".WIDE" in opcode else 1
    # A predicate may precede the result.
    first = re.match(r"(?:U?P\w+, )*R(\d+)", operands)
    return set(range(int(first[1]), int(first[1]) + count)) if first else set(), set(named)


def find_hazards(text):
    """Returns a sentence for each instruction that touches registers of a running multiplication."""
    instructions, labels = parse(text)
    products = [product_of(code) for code, _ in instructions]
    hazards, seen, work = {}, set(), [(0, ())]
    while work:
        at, groups = work.pop()
        while at < len(instructions) and (at, groups) not in seen:
            seen.add((at, groups))
            code, is_predicated = instructions[at]
            running = [place for group in groups for place in group]
            own = products[at]
            writes, names = touched(code) if running and not own else (set(), set())
            for place in running:
                sums, left = products[place]
                wrong = names.intersection(sums) or writes.intersection(left)
                if own:
                    wrong = set(own[0]) & set(left) or (own[0] != sums and set(own[0]) & set(sums)) or set(own[1]) & set(sums)
                if wrong:
                    hazards[at] = f"'{code}' uses R{min(wrong)} while '{instructions[place][0]}' runs"
            if own:
                # Multiplications up to a marked one form a group; the last group is open until then.
                if not groups or any("gsb0" in instructions[place][0] for place in groups[-1]):
                    groups += ((at,),)
                else:
                    groups = groups[:-1] + (groups[-1] + (at,),)
            elif wait := re.match(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x([0-9a-f]+)", code):
                if not is_predicated:
                    pending = int(wait[1], 16)
                    groups = groups[len(groups) - pending:] if pending else ()
            if branch := re.match(r"(BRA|BRX|CALL)\b.*?(\.L_x_\d+)", code):
                if branch[2] in labels:
                    work.append((labels[branch[2]], groups))
                if not is_predicated:
                    break
            if code.startswith(("EXIT", "RET")) and not is_predicated:
                break
            at += 1
    return [hazards[at] for at in sorted(hazards)]
