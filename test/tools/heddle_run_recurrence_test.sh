#!/usr/bin/env bash
# Trains recurrent models on tasks that need memory: heddle_run_recurrence_test.sh BIN MODELS. Without HEDDLE_LONG=1 it
# trains only one.
set -euo pipefail
bin=$1 models=$2
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

needs_vulkan "$bin/heddle-run"
# A sequence's label is its first token, which 50 others follow. In the other task, the last word determines the labels
# of all words.
/usr/bin/python3 - << 'END'
import json, random
random.seed(5)
others = [f"w{i}" for i in range(20)]
for name, count in (("train", 4000), ("valid", 400)):
    with open(f"{name}.first", "w") as first, open(f"{name}.later", "w") as later:
        for _ in range(count):
            kind = random.randrange(8)
            tokens = [f"k{kind}"] + random.choices(others, k=50)
            print(json.dumps({"tokens": tokens, "label": f"label{kind}"}), file=first)
            words, last = random.choices(others, k=random.randint(3, 20)), random.choice(["yes", "no"])
            print(json.dumps({"tokens": words + [last], "labels": [last] * len(words) + ["end"]}), file=later)
END
train() { # NAME TASK TEXT STEPS SETTING...; the accuracy of the last validation
  local name=$1 task=$2 text=$3 steps=$4
  shift 4
  quietly "$bin/heddle-compile" "$models/$text.weft" -o "$name.heddle" --set vocab_size=40 --set max_tokens=2048 \
    --set max_sequences=64 --set max_length=64 --set warmup=50 --set learning_rate=0.005 --set width=32 "${@/#/--set=}"
  quietly "$bin/heddle-run" train "$name.heddle" --data "train.$task" --valid-data "valid.$task" --vocab-type=word \
    --checkpoint "$name" --log "$name.jsonl" --steps "$steps" --seed 1 --validate-every "$steps"
  grep -o '"validation_accuracy":[0-9.]*' "$name.jsonl" | tail -1 | cut -d: -f2
}
expect() { # NAME ACCURACY LOWEST HIGHEST
  echo "$1: accuracy $2"
  /usr/bin/python3 -c "import sys; sys.exit(not $3 <= $2 <= $4)" || fail "$1: accuracy $2, expected $3 to $4"
}
expect both-directions "$(train both later later-word 200 classes=3)" 0.99 1
[ -n "${HEDDLE_LONG-}" ] || exit 0
expect lstm "$(train lstm first first-token 300 cell='"lstm"' classes=8)" 0.99 1
expect gru "$(train gru first first-token 300 cell='"gru"' classes=8)" 0.99 1
expect two-layers "$(train deep first first-token 300 cell='"lstm"' layers=2 classes=8)" 0.99 1
expect rnn "$(train rnn first first-token 300 cell='"rnn"' classes=8)" 0 0.5
# A model that reads in one direction can only label the last words, a twelfth of the tokens.
expect one-direction "$(train one later later-word 200 directions=1 classes=3)" 0 0.65

# Bahdanau's translator learns to look at the second half first. It translates with a beam, continues after a pause, and
# explains.
/usr/bin/python3 - "$tests" << 'END'
import random, sys
sys.path.insert(0, sys.argv[1])
import swapped_halves
random.seed(1)
swapped_halves.WORDS = 10
for name, count in (("swapped", 4000), ("new", 100)):
    swapped_halves.write(".", name, [swapped_halves.pair(random.randint(3, 8), "swapped") for _ in range(count)])
END
quietly "$bin/heddle-compile" "$models/bahdanau.weft" --set width=32 --set vocab_size=60 --set max_length=12 \
  --set max_sequences=64 --set max_tokens=384 --set learning_rate=0.008 --set warmup=60 --set 'schedule="cosine"' \
  --set decay_steps=500 --set clip_norm=1 --set explain_entry=true -o bahdanau.heddle
for steps in 250 500; do
  quietly "$bin/heddle-run" train bahdanau.heddle --src swapped.src --tgt swapped.tgt --checkpoint bahdanau --steps "$steps" \
    --seed 1 $([ "$steps" = 250 ] || echo --resume)
done
"$bin/heddle-run" translate bahdanau.heddle --checkpoint bahdanau --beam 4 < new.src > said.txt 2> /dev/null
expect bahdanau "$(/usr/bin/python3 "$tests/swapped_halves.py" . --score new said.txt)" 0.97 1
quietly "$bin/heddle-run" explain bahdanau.heddle --checkpoint bahdanau --src "sa sb sc sd se sf" --html explained.html
grep -q '"kind":"context"' explained.html || fail "the page lacks the attention"
