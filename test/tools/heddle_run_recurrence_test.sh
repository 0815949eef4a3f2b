#!/usr/bin/env bash
# Trains recurrent models on tasks that need their memory: heddle_run_recurrence_test.sh BIN MODELS
set -euo pipefail
bin=$1 models=$2
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

if ! "$bin/heddle-run" devices | grep -q '^vulkan:'; then
  echo "no Vulkan device"
  exit 77
fi
# A sequence's label is its first token, which 50 others follow. A word's label is said by the last word.
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
expect lstm "$(train lstm first first-token 300 cell='"lstm"' classes=8)" 0.99 1
expect gru "$(train gru first first-token 300 cell='"gru"' classes=8)" 0.99 1
expect two-layers "$(train deep first first-token 300 cell='"lstm"' layers=2 classes=8)" 0.99 1
expect rnn "$(train rnn first first-token 300 cell='"rnn"' classes=8)" 0 0.5
expect both-directions "$(train both later later-word 200 classes=3)" 0.99 1
# A twelfth of the tokens are last words, of which it is no question.
expect one-direction "$(train one later later-word 200 directions=1 classes=3)" 0 0.65
