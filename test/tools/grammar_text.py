"""Writes a text by a grammar, for models that learn to guess hidden words: grammar_text.py TRAIN VALID

Each document has one of 36 themes. A sentence has a subject, a verb, an object and a place of its theme, with "in"
before the place; a blank line ends the document. Each word is one of two that could stand there. A sentence of another
document mostly has another theme."""

import random
import sys

random.seed(7)
THEMES, CHOICES = 36, 2
syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
words = random.sample([a + b for a in syllables for b in syllables if a != b], THEMES * 4 * CHOICES)
themes = [[words[(theme * 4 + role) * CHOICES:][:CHOICES] for role in range(4)] for theme in range(THEMES)]

for path, documents in ((sys.argv[1], 4000), (sys.argv[2], 300)):
    with open(path, "w") as file:
        for _ in range(documents):
            theme = random.choice(themes)
            for _ in range(random.randint(2, 6)):
                subject, verb, what, place = (random.choice(role) for role in theme)
                print(subject, verb, what, "in", place, file=file)
            print(file=file)
