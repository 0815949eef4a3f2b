"""Writes a small vocabulary like GPT-2's into a folder: vocabulary.py FOLDER"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "conformance"))
import subwords

vocabulary = subwords.BytePairs.learn("the weaver weaves and the weft is woven " * 3, 20)
assert len(vocabulary.vocabulary) == 277
vocabulary.write(sys.argv[1])
