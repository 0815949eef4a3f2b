#!/usr/bin/env python3
"""How much of their epilogues two warpgroups hide that share a ring of operands: a simulation, which runs no kernel.

    bench/ring_model.py [--fill=1500] [--epilogue=5200]

A matmul with producers (heddle-specialize-warps) computes tile after tile of a result. Both warpgroups multiply each tile
of the ring, which is filled again once both have released it. They share the tensor cores, and in their epilogues the
memory. For each lag of the second warpgroup, at the beginning of a tile of the result, the table has the clocks of a
tile beyond its arithmetic, and the steps that are hidden: the epilogue without these clocks.
"""
import argparse

RESTING, MULTIPLYING, STORING = range(3)


def simulate(arguments, lag):
    """Returns the clocks that a tile of the result takes, once the first is done."""
    clock, tick, begin = 0, arguments.tick, None
    filled = []  # when each tile of the ring is full, by the number of the step
    released, tiles = [0, 0], [0, 0]  # steps and tiles of the result, of each warpgroup
    state, left = [RESTING, RESTING], [0.0, 0.0]
    while min(tiles) < arguments.tiles:
        while len(filled) < min(released) + arguments.ring:
            pair_is_free = filled[-arguments.pairs] if len(filled) >= arguments.pairs else 0
            filled.append(max(clock, pair_is_free) + arguments.fill)
        storing = state.count(STORING)
        multiplying = []
        for own in (0, 1):
            if state[own] == STORING:
                left[own] -= tick / storing
                if left[own] <= 0:
                    state[own] = RESTING
                    tiles[own] += 1
            if state[own] == RESTING and (own == 0 or released[0] >= tiles[own] * arguments.steps + lag):
                state[own], left[own] = MULTIPLYING, arguments.step / 2
            if state[own] == MULTIPLYING and released[own] < len(filled) and filled[released[own]] <= clock:
                multiplying.append(own)
        for own in multiplying:
            left[own] -= tick / len(multiplying)
            if left[own] <= 0:
                released[own] += 1
                left[own] = arguments.step / 2
                if released[own] % arguments.steps == 0:
                    state[own], left[own] = STORING, arguments.epilogue / 2
        clock += tick
        if begin is None and min(tiles) == 1:
            begin = clock
    return (clock - begin) / (arguments.tiles - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", type=float, default=1350, help="clocks of a step of both warpgroups")
    parser.add_argument("--steps", type=int, default=16, help="of a tile of the result")
    parser.add_argument("--fill", type=float, default=1500, help="clocks from a release to a full tile of the ring")
    parser.add_argument("--epilogue", type=float, default=5200, help="clocks of both warpgroups' epilogues, one after the other")
    parser.add_argument("--ring", type=int, default=4, help="tiles")
    parser.add_argument("--pairs", type=int, default=2, help="of producers, each of which fills one tile of the ring at a time")
    parser.add_argument("--tiles", type=int, default=20, help="of the result, at least 2")
    parser.add_argument("--tick", type=float, default=25, help="clocks")
    arguments = parser.parse_args()
    print("| lag | clocks beyond the arithmetic | hidden steps |\n| ---: | ---: | ---: |")
    for lag in range(arguments.ring):
        beyond = simulate(arguments, lag) - arguments.steps * arguments.step
        print(f"| {lag} | {beyond:.0f} | {(arguments.epilogue - beyond) / arguments.step:.1f} |")


if __name__ == "__main__":
    main()
