"""Data of the number-words task: numbers in English, in the various ways people write them, and in German.

Numbers in `valid` and `test` are held out: they occur once, and in no other part in any writing. Each part takes at most
a sixth of the numbers of a digit count; longer numbers make up for the rest. Numbers that a reader tries first are always
in `train`: those below 100, and those with a single non-zero digit.

A number may occur in `train` several times. In a quarter of its numbers, about half of the digits after the first are 0,
as in numbers that people choose."""

from drawing import SplitMix64
from number_words import Answers, count_writings, english_ways, german


def magnitudes_up_to(maximum):
    """The first and the last number of each digit count."""
    firsts = [0] + [10**digits for digits in range(1, 10) if 10**digits <= maximum]
    return [(first, min(max(10, 10 * first) - 1, maximum)) for first in firsts]


def _held_out_of(first, last):
    return 0 if first < 100 else (last - first + 1 - last // first) // 6


def largest_held_out(maximum):
    """How many numbers `valid` or `test` can have at most."""
    return sum(_held_out_of(*magnitude) for magnitude in magnitudes_up_to(maximum))


class NumberDraw:
    """Each part is a list of numbers with their English texts."""

    def __init__(self, maximum, seed):
        self.random, self.magnitudes, self.taken = SplitMix64(seed), magnitudes_up_to(maximum), set()

    def held_out(self, count):
        part = []
        for i, (first, last) in enumerate(self.magnitudes):
            left = len(self.magnitudes) - i
            quota = min((count - len(part) + left - 1) // left, _held_out_of(first, last))
            while quota > 0:
                number = self._number(first, last)
                if first < 100 or number % first == 0 or number in self.taken:
                    continue
                self.taken.add(number)
                part.append(self._text(number))
                quota -= 1
        for i in range(len(part), 1, -1):
            other = self.random.below(i)
            part[i - 1], part[other] = part[other], part[i - 1]
        return part

    def training(self, count):
        part = []
        while len(part) < count:
            magnitude, is_round = self.random.choose(self.magnitudes), self.random.below(4) == 0
            while True:
                number = self._number(*magnitude)
                if is_round:
                    number = self._with_zeros(number)
                if number not in self.taken:
                    break
            part.append(self._text(number))
        return part

    def _number(self, first, last):
        return first + self.random.below(last - first + 1)

    def _with_zeros(self, number):
        """Sets about half of the digits after the first to 0: numbers like 1,200, 40,000 and 105,006 are rare among all
        numbers, but common among the numbers that people use."""
        place = 1
        while place <= number // 10:
            if self.random.below(2) == 0:
                number -= number // place % 10 * place
            place *= 10
        return number

    def _text(self, number):
        way = self.random.choose(english_ways(number))
        return number, way(number, Answers(self.random.below(count_writings(way, number))))


def draw_numbers(train, valid, test, maximum, seed):
    for flag, count in (("--valid", valid), ("--test", test)):
        if count > (most := largest_held_out(maximum)):
            raise ValueError(f"{flag} asks for {count} numbers, but of 0 to {maximum} only {most} can be held out of the training; "
                             "ask for fewer or raise --maximum")
    draw = NumberDraw(maximum, seed)
    tested, validated = draw.held_out(test), draw.held_out(valid)
    return {"train": draw.training(train), "valid": validated, "test": tested}


def number_files(train=40_000, valid=500, test=500, maximum=999_999, seed=1):
    files = {}
    for name, part in draw_numbers(train, valid, test, maximum, seed).items():
        files[f"{name}.en"] = [text for _, text in part]
        files[f"{name}.de"] = [german(number) for number, _ in part]
    return files
