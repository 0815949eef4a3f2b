"""Numbers below a thousand million in English, in the ways in which people write them, and in German."""

ENGLISH = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
           "eighteen nineteen").split()
ENGLISH_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
# "ein" is the form inside compounds; at the end of a number it is "eins". Sixteen, seventeen, sixty and seventy use
# shortened forms of sechs and sieben.
GERMAN = ("null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
          "achtzehn neunzehn").split()
GERMAN_TENS = "- - zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
MAXIMUM = 999_999_999


class Answers:
    """Answers the questions that a number's writing leaves open ("hyphen or space?"): the answer to the nth question is
    the nth bit of `answers`."""

    def __init__(self, answers):
        self.answers, self.questions = answers, 0

    def next(self):
        self.questions += 1
        return self.answers >> self.questions - 1 & 1


def _below_hundred(number, answers):
    if number < 20:
        return [ENGLISH[number]]
    tens = ENGLISH_TENS[number // 10]
    if number % 10 == 0:
        return [tens]
    return [tens + "- "[answers.next()] + ENGLISH[number % 10]]


def _rest(rest, answers):
    """The words of 1 to 99 after hundreds, thousands or millions; none for 0."""
    return (["and"] if answers.next() else []) + _below_hundred(rest, answers) if rest else []


def _first_one(answers):
    """A leading "one" that counts hundreds, thousands or millions."""
    return ["a" if answers.next() else "one"]


def _group(words, group, answers):
    """Appends 1 to 999."""
    if group >= 100:
        words += _first_one(answers) if group < 200 and not words else [ENGLISH[group // 100]]
        words += ["hundred"]
    words += _rest(group % 100, answers) if words else _below_hundred(group, answers)


def cardinal(number, answers):
    """ "two thousand (and) five" """
    words = []
    for group, name in ((number // 1_000_000, ["million"]), (number // 1000 % 1000, ["thousand"]), (number % 1000, [])):
        if group == 1 and name and not words:
            words += _first_one(answers)
        elif group:
            _group(words, group, answers)
        words += name if group else []
    return " ".join(words) or ENGLISH[0]


def hundreds(number, answers):
    """ "twelve hundred (and) five" """
    return " ".join(_below_hundred(number // 100, answers) + ["hundred"] + _rest(number % 100, answers))


def digit_groups(number, answers):
    """ "four oh two" or "nineteen eighty-four" """
    return " ".join(_below_hundred(number // 100, answers) + ["oh"] * (number % 100 < 10) + _below_hundred(number % 100, answers))


def english_ways(number):
    """The ways of writing that apply, as functions of a number and Answers.

    cardinals: with or without "and" before the last two digits of a group of three ("one hundred and five thousand and
    six"), with a hyphen or a space ("twenty-one", "twenty one"), and with "a" for a leading "one" ("a hundred", "a
    thousand and five")
    hundreds: 1,100 to 9,999, unless they are whole thousands: "twelve hundred", "nineteen hundred and five"
    digit groups: 101 to 9,999, except whole hundreds: "four oh two", "nineteen eighty-four", "twenty twenty-six"
    """
    ways = [cardinal]
    if 1100 <= number < 10_000 and number // 100 % 10:
        ways.append(hundreds)
    if 100 <= number < 10_000 and number % 100:
        ways.append(digit_groups)
    return ways


def count_writings(way, number):
    way(number, answers := Answers(0))
    return 1 << answers.questions


def english_writings(number):
    """All texts in which Heddle writes a number in English, the plainest first. No two numbers share a text."""
    return [way(number, Answers(bits)) for way in english_ways(number) for bits in range(count_writings(way, number))]


def _german_group(group):
    """1 to 999 in the form used before "tausend"."""
    text, rest = f"{GERMAN[group // 100]}hundert" if group >= 100 else "", group % 100
    if rest < 20:
        return text + (GERMAN[rest] if rest else "")
    return text + (f"{GERMAN[rest % 10]}und" if rest % 10 else "") + GERMAN_TENS[rest // 10]


def german(number):
    """The German cardinal, which has a single spelling. Below a million it is one word."""
    if number == 0:
        return GERMAN[0]
    millions, thousands, rest = number // 1_000_000, number // 1000 % 1000, number % 1000
    text = ""
    if millions:
        # Million is a separate feminine noun: "eine Million", "hunderteine Millionen".
        text = _german_group(millions) + "e" * (millions % 100 == 1) + (" Million" if millions == 1 else " Millionen")
        text += " " if number % 1_000_000 else ""
    if thousands:
        text += f"{_german_group(thousands)}tausend"
    return text + (_german_group(rest) + "s" * (rest % 100 == 1) if rest else "")
