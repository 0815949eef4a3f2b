"""Tests that sass.py finds every access to the registers of a running wgmma, along every path of the machine code, and
nothing else."""

import sys

import sass

# Two products (the second has its left operand in registers), a wait for the first, and a wait for both.
KERNEL = """
        /*0000*/                   HGMMA.64x64x16.F32.BF16 R24, gdesc[UR8], RZ, !UPT ;
        /*0010*/                   HGMMA.64x64x16.F32.BF16 R24, gdesc[UR12], R24, gsb0 ;
        /*0020*/                   HGMMA.64x64x16.F32.BF16 R56, R88, gdesc[UR8].tnspB, R56, gsb0 ;
        /*0030*/                   {first}
        /*0040*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
        /*0050*/                   {second}
        /*0060*/              @P0 BRA `(.L_x_1) ;
        /*0070*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
.L_x_1:
        /*0080*/                   {third}
        /*0090*/                   EXIT ;
"""
# The instructions for the three places, and the number of hazards.
CASES = [
    (("FMUL R4, R5, R6 ;", "MUFU.EX2 R24, R25 ;", "NOP ;"), 0),  # the first multiplication is done
    (("FADD R4, R24, R5 ;", "NOP ;", "NOP ;"), 1),  # reads a sum
    (("MOV R55, R4 ;", "NOP ;", "NOP ;"), 1),  # writes the last of the sums
    (("NOP ;", "F2FP.BF16.F32.PACK_AB R91, R4, R5 ;", "NOP ;"), 1),  # writes the left operand
    (("NOP ;", "LDS.128 R88, [R4] ;", "NOP ;"), 1),
    (("NOP ;", "LDS.128 R92, [R4] ;", "NOP ;"), 0),
    (("NOP ;", "FADD R4, R88, R89 ;", "NOP ;"), 0),  # the operand is only read
    (("NOP ;", "NOP ;", "FMUL R56, R56, R4 ;"), 1),  # a branch skips the wait
    (("NOP ;", "NOP ;", "FMUL R24, R24, R4 ;"), 0),
    (("NOP ;", "SHFL.BFLY PT, R90, R4, 0x1, 0x1f ;", "NOP ;"), 1),
    # The last of three multiplications.
    (("HGMMA.64x64x16.F32.BF16 R56, R92, gdesc[UR8], R56, gsb0 ;", "FADD R4, R56, R24 ;", "NOP ;"), 1),
    (("HGMMA.64x8x16.F16 RZ, gdesc[URZ], RZ, !UPT, gsb0 ;", "FADD R4, R56, R24 ;", "NOP ;"), 0),  # an empty group
]


def main():
    failed = 0
    for (first, second, third), expected in CASES:
        found = sass.find_hazards(KERNEL.format(first=first, second=second, third=third))
        if len(found) != expected:
            failed += 1
            print(f"FAIL {first} {second} {third}: {len(found)} hazards instead of {expected}: {found}")
    print(f"{len(CASES) - failed} of {len(CASES)} pieces of machine code are judged right")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
