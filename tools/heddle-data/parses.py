"""Data of the parsing task: sentences of a small probabilistic grammar of English, with their trees.

A tree is written as in the second task of "Attention Is All You Need" (6.3, after Vinyals et al., 2015):
"(S (NP DT NN )NP (VP VBZ )VP . )S", with a tag for each word."""

from drawing import SplitMix64

# The ways to expand a symbol, with their weights. Symbols found neither here nor below are tags. Words tell where a
# phrase attaches, as far as they do in English: "of" attaches to the noun before it, "during" to the verb, and "with" to
# either. The part of a symbol after a hyphen only tells symbols apart; it is not part of the label.
RULES = {symbol: [(int(weight), parts) for weight, *parts in (rule.split() for rule in rules.split("|"))] for symbol, rules in {
    "S": "8 NP VP . | 2 PP-TIME , NP VP . | 1 ADVP , NP VP .",
    "S-IN": "1 NP VP",
    "S-GAP": "1 VP",
    "NP": "6 DT NN | 4 DT JJ NN | 3 PRP | 3 NNP | 2 NNP NNP | 2 DT NNS | 2 JJ NNS | 1 CD NNS | 3 NP-BASE PP-OF | "
          "1 NP-BASE SBAR-REL | 1 NP-BASE CC NP-BASE",
    "NP-BASE": "4 DT NN | 2 DT JJ NN | 2 DT NNS | 1 NNP",
    "VP": "5 VBZ NP | 3 VBZ-ALONE | 2 VBZ-ALONE ADVP | 3 VBZ NP PP-TIME | 2 VBZ-ALONE PP-WITH | 2 VBZ-SAYS SBAR | "
          "3 MD VP-BARE | 1 VBZ-ALONE PRT | 1 VP-BASE CC VP-BASE",
    "VP-BARE": "4 VB NP | 1 VB NP PP-TIME | 1 RB VB NP",
    "VP-BASE": "3 VBZ NP-BASE | 1 VBZ-ALONE",
    "PP-OF": "1 IN-OF NP-BASE",
    "PP-TIME": "1 IN-TIME NP-BASE",
    "PP-WITH": "1 IN-WITH NP",
    "SBAR": "1 IN-THAT S-IN",
    "SBAR-REL": "1 WDT S-GAP",
    "ADVP": "3 RB | 1 RB-DEGREE RB",
    "PRT": "1 RP",
}.items()}

# Some words have several tags: "that", "her", "light", "saw", "will".
WORDS = {symbol: words.split() for symbol, words in {
    "DT": "the a every this that no some her",
    "NN": "dog teacher river machine letter garden saw light answer captain window song city plan doctor market storm will story "
          "bridge",
    "NNS": "dogs teachers rivers machines letters answers captains songs cities plans doctors stories",
    "JJ": "old small light quiet green new heavy strange kind famous",
    "NNP": "Ada Boston Clara Dublin Emil Grace Henry Mill",
    "PRP": "she he it everybody",
    "CD": "two three seven twelve",
    "VBZ": "sees likes builds finds paints crosses answers plans follows needs",
    "VBZ-ALONE": "sleeps waits sings works falls answers",
    "VBZ-SAYS": "says thinks knows hopes",
    "VB": "see like build find paint cross answer plan follow need",
    "MD": "will can must should",
    "RB": "slowly often never here well",
    "RB-DEGREE": "very quite",
    "RP": "down up off",
    "IN-OF": "of",
    "IN-TIME": "during before after",
    "IN-WITH": "with near for",
    "IN-THAT": "that",
    "WDT": "that which",
    "CC": "and or",
    ",": ",",
    ".": ".",
}.items()}

MOST_REPETITIONS = 10_000  # after this many draws without a new sentence, hardly any are left


def _expand(symbol, random, words, tree):
    label = symbol.split("-")[0]
    if symbol not in RULES:
        words.append(random.choose(WORDS[symbol]))
        tree.append(label)
        return
    drawn = random.below(sum(weight for weight, _ in RULES[symbol]))
    for weight, parts in RULES[symbol]:
        if drawn < weight:
            break
        drawn -= weight
    tree.append(f"({label}")
    for part in parts:
        _expand(part, random, words, tree)
    tree.append(f"){label}")


def draw_sentence(random, longest):
    """Draws the words of a sentence, 3 to `longest`, and the symbols of its tree."""
    while True:
        words, tree = [], []
        _expand("S", random, words, tree)
        if 3 <= len(words) <= longest:
            return words, tree


def parse_files(train=40_000, valid=300, test=500, longest=16, seed=1):
    """No sentence occurs twice, within a part or across parts."""
    random, seen, files = SplitMix64(seed), set(), {}
    for name, count in (("test", test), ("valid", valid), ("train", train)):
        sentences, trees, repetitions = [], [], 0
        while len(sentences) < count:
            sentence, tree = map(" ".join, draw_sentence(random, longest))
            if sentence in seen:
                repetitions += 1
                if repetitions == MOST_REPETITIONS:
                    raise ValueError(f"the grammar has too few sentences of at most {longest} words; ask for fewer or raise --longest")
                continue
            repetitions = 0
            seen.add(sentence)
            sentences.append(sentence)
            trees.append(tree)
        files |= {f"{name}.txt": sentences, f"{name}.tree": trees}
    return files
