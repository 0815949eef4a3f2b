"""Compares `heddle.draw` and `heddle.penalise` with numpy: odd numbers of columns, ties, infinities, NaN, extreme
limits.

    draw.py --bin build/bin [--target=NAME] [--lanes=N] [--draws=N] [--columns=N ...]"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np

import calls

COLUMNS = [1, 7, 33, 1000, 49157]
MOST_ROWS = 1000
SLACK = 1e-5  # for probabilities, which the device sums in f32


def write_entry(columns):
    row, size = '#heddle.dims<"rows">', '#heddle.dims<"seen">'
    x, f32, i32 = f"tensor<?x{columns}xf32, {row}>", f"tensor<?xf32, {row}>", f"tensor<?xi32, {row}>"
    places, penalties = f"tensor<?xi32, {size}>", f"tensor<?xf32, {size}>"
    port = lambda name, kind: f'%{name}: {kind} {{heddle.name = "{name}"}}'
    return f"""func.func @draw_{columns}({port("x", x)}, {port("temperature", f32)}, {port("top_k", i32)}, {port("top_p", f32)},
    {port("low", i32)}, {port("high", i32)}) -> ({i32} {{heddle.name = "token"}}, {f32} {{heddle.name = "cutoff"}}) {{
  %token, %cutoff = heddle.draw %x, %temperature, %top_k, %top_p key(%low, %high) : {x}, {f32}, {i32}
  return %token, %cutoff : {i32}, {f32}
}}
func.func @penalise_{columns}({port("x", x)}, {port("seen_rows", places)}, {port("seen_columns", places)},
    {port("penalties", penalties)}) -> ({x} {{heddle.name = "y"}}) {{
  %y = heddle.penalise %x at(%seen_rows, %seen_columns) by %penalties : {x}, {places}, {penalties}
  return %y : {x}
}}
"""


def philox(key, counters):
    """Returns the random words of the counters (n, 0, 0, 0)."""
    return philox_words(key, counters, [np.zeros(len(counters))] * 3)


def philox_words(key, first, others):
    """Computes Philox4x32-10 at counters of four numbers. Returns one row of words per counter."""
    low, mask = np.uint64(0xFFFFFFFF), np.uint64(32)
    words = [np.asarray(numbers).astype(np.uint64) for numbers in (first, *others)]
    key = [np.uint64(k) for k in key]
    for _ in range(10):
        first, second = np.uint64(0xD2511F53) * words[0], np.uint64(0xCD9E8D57) * words[2]
        words = [second >> mask ^ words[1] ^ key[0], second & low, first >> mask ^ words[3] ^ key[1], first & low]
        key = [key[0] + np.uint64(0x9E3779B9) & low, key[1] + np.uint64(0xBB67AE85) & low]
    return np.stack(words, 1)


def scores(x, temperature, key):
    """Returns the keys whose largest one decides, in float64."""
    words = philox(key, np.arange((len(x) + 3) // 4)).reshape(-1)[:len(x)]
    uniform = np.maximum((words >> np.uint64(8)).astype(np.float64) * 2.0 ** -24, 2.0 ** -25)
    return (x.astype(np.float64) - x.max()) / temperature - np.log(-np.log(uniform))


def bounds(x, temperature, top_k, top_p):
    """Returns the smallest and largest cutoff that rounding allows."""
    finite, counts = (column[::-1] for column in np.unique(x[x > -np.inf], return_counts=True))  # the largest first
    finite, counts = finite.astype(np.float64), np.cumsum(counts)
    lowest = -float(np.finfo(np.float32).max)
    if 0 < top_k < len(x) and counts[-1] >= top_k:
        last = int(np.argmax(counts >= top_k))
        finite, counts, lowest = finite[:last + 1], counts[:last + 1], finite[last]
    if top_p >= 1:
        return lowest, lowest
    weights = np.exp((finite - finite[0]) / max(temperature, 1e-30)) * np.diff(counts, prepend=0)
    masses = np.cumsum(weights) / weights.sum()
    return tuple(finite[int(np.argmax(masses >= min(top_p + slack, masses[-1])))] for slack in (SLACK, -SLACK))


class Check:
    def __init__(self):
        self.failed = 0

    def __call__(self, what, holds, more=""):
        self.failed += not holds
        print(f"{'ok  ' if holds else 'FAIL'} {what} {more}")


def make_rows(columns, random):
    normal = lambda: random.standard_normal(columns).astype(np.float32) * 3
    rows = {"random": normal(), "ties": np.round(normal()), "equal": np.full(columns, 1.25, np.float32),
            "low": normal() * 1e4, "zeros": np.where(random.random(columns) < 0.5, -0.0, 0.0).astype(np.float32)}
    rows["infinite"] = np.where(random.random(columns) < 0.5, -np.inf, normal()).astype(np.float32)
    rows["infinite"][columns // 2] = 0.5
    rows["nan"] = normal()
    rows["nan"][columns - 1] = np.nan
    rows["minus nan"] = normal()
    rows["minus nan"][0] = np.copysign(np.nan, -1)
    rows["nothing"] = np.full(columns, -np.inf, np.float32)
    return rows


def draw(session, x, temperature, top_k, top_p, keys):
    spread = lambda value, kind: np.full(len(x), value, kind)
    low, high = (np.asarray(column, np.uint32).view(np.int32) for column in zip(*keys))
    inputs = {"x": x, "temperature": spread(temperature, np.float32), "top_k": spread(top_k, np.int32),
              "top_p": spread(top_p, np.float32), "low": low, "high": high}
    return session.call(f"draw_{x.shape[1]}", inputs, ["token", "cutoff"])


def faults(name, row, token, cutoff, key, temperature, top_k, top_p):
    """Returns what is wrong with an answer. If rounding decides between two largest, either is right."""
    if name in ("nan", "minus nan", "nothing"):
        return [] if token == -1 else [f"{name}: token {token}"]
    low, high = bounds(row, temperature, top_k, top_p)
    if not low <= cutoff <= high:
        return [f"{name}: cutoff {cutoff}, not {low} to {high}"]
    if temperature == 0:
        return [] if token == row.argmax() else [f"{name}: token {token}, not the first of the largest"]
    allowed = np.where((row >= cutoff) & (row > -np.inf), scores(row, temperature, key), -np.inf)
    return [] if row[token] >= cutoff and allowed[token] >= allowed.max() - 1e-4 else [f"{name}: token {token}"]


def check_rows(session, columns, random, check):
    rows = make_rows(columns, random)
    x = np.stack(list(rows.values()))
    keys = [tuple(int(k) for k in random.integers(0, 2 ** 32, 2)) for _ in rows]
    for temperature in (1.0, 0.3, 0.0, 50.0):
        wrong, calls_made = [], 0
        for top_k in (0, 1, 2, columns // 3, columns - 1, columns, columns + 5, -1):
            for top_p in (1.0, 0.9, 0.5, 1e-6, 0.0, 2.0):
                answer = draw(session, x, temperature, top_k, top_p, keys)
                wrong += [f"top_k {top_k}, top_p {top_p}, {fault}" for name, row, token, cutoff, key in zip(rows, x, *answer, keys)
                          for fault in faults(name, row, token, cutoff, key, temperature, top_k, top_p)]
                calls_made += 1
        check(f"{columns} columns, temperature {temperature}: {calls_made} calls of {len(rows)} rows", not wrong, "; ".join(wrong[:5]))
    alone = draw(session, x[:1], 1.0, 0, 1.0, keys[:1])[0][0]
    beside = [draw(session, np.stack([x[1], x[0]]), 1.0, 0, 1.0, [keys[1], keys[0]])[0][1] for _ in range(2)]
    check(f"{columns} columns: the same key draws the same token, wherever its row is", beside == [alone, alone])


def check_frequencies(session, random, draws, check):
    """Chi-square test over a small vocabulary: 20,000 draws, each with its own key."""
    columns = 33
    row = random.standard_normal(columns).astype(np.float32) * 1.5
    for temperature, top_k, top_p in ((1.0, 0, 1.0), (0.7, 10, 1.0), (1.3, 0, 0.8)):
        counts, cutoff = np.zeros(columns), None
        for first in range(0, draws, MOST_ROWS):
            keys = [(first + i, 12345) for i in range(min(MOST_ROWS, draws - first))]
            tokens, cutoffs = draw(session, np.tile(row, (len(keys), 1)), temperature, top_k, top_p, keys)
            np.add.at(counts, tokens, 1)
            cutoff = cutoffs[0]
        weights = np.where(row >= cutoff, np.exp(row.astype(np.float64) / temperature), 0)
        expected = weights / weights.sum() * draws
        some = expected > 0
        square, freedom = float(((counts - expected)[some] ** 2 / expected[some]).sum()), int(some.sum()) - 1
        # The statistic has mean `freedom` and variance 2 * `freedom`; allow four standard deviations.
        check(f"{draws} draws, temperature {temperature}, top_k {top_k}, top_p {top_p}: chi-square {square:.1f} of {freedom}",
              counts[~some].sum() == 0 and square < freedom + 4 * (2 * freedom) ** 0.5)


def check_penalties(session, columns, random, check):
    x = random.standard_normal((3, columns)).astype(np.float32)
    x[1, 0] = -np.inf
    for count in (0, 1, min(columns, 50)):
        places = [(row, column) for row in (0, 1) for column in random.permutation(columns)[:count]]
        seen_rows, seen_columns = np.array(places, np.int32).reshape(-1, 2).T.copy()
        penalties = random.uniform(0.5, 2, len(places)).astype(np.float32)
        (y,) = session.call(f"penalise_{columns}", {"x": x, "seen_rows": seen_rows, "seen_columns": seen_columns,
                                                   "penalties": penalties}, ["y"])
        want = x.copy()
        old = x[seen_rows, seen_columns]
        want[seen_rows, seen_columns] = np.where(old > 0, old / penalties, old * penalties)
        same = np.allclose(y, want, rtol=1e-6, atol=0) and np.array_equal(y[2], x[2])
        check(f"{columns} columns, {len(places)} penalties", same)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--lanes", type=int, help="compile a Vulkan target for so narrow subgroups")
    parser.add_argument("--draws", type=int, default=20000)
    parser.add_argument("--columns", type=int, nargs="*", default=COLUMNS)
    arguments = parser.parse_args()
    random = np.random.default_rng(5)
    check = Check()
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/draw.mlir", "w") as file:
            file.write(f"heddle.size @rows max {MOST_ROWS}\nheddle.size @seen max 128\n")
            file.writelines(write_entry(columns) for columns in sorted({*arguments.columns, 33}))
        subprocess.run([f"{arguments.bin}/heddle-compile", f"{folder}/draw.mlir", "-o", f"{folder}/draw.heddle",
                        f"--target={arguments.target}", *([f"--lanes={arguments.lanes}"] if arguments.lanes else [])],
                       check=True, stdout=subprocess.DEVNULL)
        session = calls.Session(arguments.bin, f"{folder}/draw.heddle", folder)
        for columns in arguments.columns:
            check_rows(session, columns, random, check)
            check_penalties(session, columns, random, check)
        check_frequencies(session, random, arguments.draws, check)
        session.close()
    sys.exit(check.failed != 0)


if __name__ == "__main__":
    main()
