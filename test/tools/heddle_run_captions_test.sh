#!/usr/bin/env bash
# Captions of images, from training to explanation, and lines that are not images: heddle_run_captions_test.sh BIN
# MODELS
set -euo pipefail
bin=$1 models=$2
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

# An image has four pixels, each of one of three colours. One pixel bears a mark; the caption is its colour and its row.
/usr/bin/python3 - << 'END'
import json, random
import numpy as np
random.seed(3)
for name, count in (("train", 3000), ("valid", 100)):
    with open(f"{name}.jsonl", "w") as images, open(f"{name}.txt", "w") as captions:
        for i in range(count):
            colours, marked = [random.randrange(3) for _ in range(4)], random.randrange(4)
            pixels = [[int(colour == i) for i in range(3)] + [int(place == marked)] for place, colour in enumerate(colours)]
            image = [pixels[:2], pixels[2:]]
            if name == "valid" and i == 0:  # a file beside the records
                np.save("stored.npy", np.array(image, dtype=np.float32))
                image = "stored.npy"
            print(json.dumps({"image": image}), file=images)
            print(["red", "green", "blue"][colours[marked]], ["above", "below"][marked // 2], file=captions)
END
compile=("$bin/heddle-compile" "$models/show-attend-tell.weft" --set vocab_size=12 --set image_height=2 --set image_width=2
  --set channels=4 --set width=32 --set max_tokens=256 --set max_sequences=32 --set max_length=8 --set warmup=20 --set learning_rate=0.01
  --set logits_entry=true --set explain_entry=true)
for attention in soft hard; do
  quietly "${compile[@]}" --set "attention=$attention" -o $attention.heddle
  quietly "$bin/heddle-run" train $attention.heddle --src train.jsonl --tgt train.txt --vocab-type word --valid-src valid.jsonl \
    --valid-tgt valid.txt --validate-bleu --checkpoint $attention --log $attention.jsonl --steps 300 --validate-every 300 --seed 1
done
"$bin/heddle-run" translate soft.heddle --checkpoint soft < valid.jsonl > said 2> messages
right=$(paste -d '|' said valid.txt | awk -F '|' '$1 == $2' | wc -l)
echo "captions right: $right of 100"
((right >= 98)) || fail "only $right of 100 captions are right"
# Translates without caches, and with a beam.
"$bin/heddle-run" translate soft.heddle --checkpoint soft --no-cache < valid.jsonl 2> messages | diff said - || fail "without caches it says something else"
"$bin/heddle-run" score soft.heddle --checkpoint soft --src valid.jsonl --tgt valid.txt --beam 1 > scores 2> messages
grep -q "exact match $right.0% of 100" scores || fail "score says something else: $(cat scores)"
"$bin/heddle-run" score soft.heddle --checkpoint soft --src valid.jsonl --tgt valid.txt --per-line > lines 2> messages
[[ $(grep -c -v nan lines) == 100 ]] || fail "a line has no score"
# An interrupted training with samples continues as if it had not been interrupted.
quietly "$bin/heddle-run" train hard.heddle --src train.jsonl --tgt train.txt --vocab-type word --checkpoint proof --steps 6 --verify-resume
# The page shows what the model attends to: pixels are named by row and column.
quietly "$bin/heddle-run" explain soft.heddle --checkpoint soft --src "$(sed -n 2p valid.jsonl)" --html page.html
grep -q '"0,0","0,1","1,0","1,1"' page.html || fail "the page does not name pixels"

refuses() { # MESSAGE LINE
  echo "$2" > bad.jsonl
  if "$bin/heddle-run" translate soft.heddle --checkpoint soft < bad.jsonl > out 2> messages; then
    fail "takes the line $2"
  fi
  grep -q -F "$1" messages || fail "of the line $2 says: $(cat messages)"
  echo "red above" > bad.txt
  if "$bin/heddle-run" train soft.heddle --src bad.jsonl --tgt bad.txt --vocab-type word --checkpoint bad --steps 1 2> messages; then
    fail "trains on the line $2"
  fi
  grep -q -F "$1" messages || fail "training on the line $2 says: $(cat messages)"
}
refuses 'is no record with an "image", and the model takes images' 'a red house'
refuses 'is no record with an "image", and the model takes images' '{"text": "a red house"}'
refuses 'has an image of 1 x 1 pixels of 4 channels, and the model takes images of 2 x 2 pixels of 4 channels' '{"image": [[[1, 0, 0, 1]]]}'
refuses "cannot open" '{"image": "missing.npy"}'
