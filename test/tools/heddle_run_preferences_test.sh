#!/usr/bin/env bash
# Trains a decoder on pairs of answers, resumes, and sees it prefer: heddle_run_preferences_test.sh BIN
set -euo pipefail
bin=$1
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

/usr/bin/python3 - << 'END'
import json, random
random.seed(1)
word = lambda: "".join(random.choice("abcd") for _ in range(random.randint(1, 3)))
def write(name, count, record):
    with open(name, "w") as file:
        for _ in range(count):
            file.write(json.dumps(record(word())) + "\n")
write("base.jsonl", 2000, lambda w: {"prompt": w + " ", "completion": random.choice("xy") * 2})
pair = lambda w: {"prompt": w + " ", "chosen": "yy", "rejected": "xx"}
write("pairs.jsonl", 400, pair)
write("valid.jsonl", 50, pair)
END
cat > model.toml << 'END'
model = "llama.weft"
d_model = 32
layers = 1
heads = 2
key_heads = 1
d_ff = 64
vocab_size = 16
token_weights = true
learning_rate = 5e-3
schedule = "constant"
warmup = 10
max_tokens = 256
max_sequences = 32
max_length = 16
END
quietly "$bin/heddle-compile" model.toml -o base.heddle
quietly "$bin/heddle-run" train base.heddle --data base.jsonl --checkpoint base --steps 60
for objective in dpo ipo; do
  quietly "$bin/heddle-compile" model.toml --set objective=$objective --set learning_rate=5e-4 --set accumulate=true -o $objective.heddle
  train=("$bin/heddle-run" train $objective.heddle --weights base --data pairs.jsonl --valid-data valid.jsonl)
  quietly "${train[@]}" --checkpoint $objective --steps 40 --validate-every 20 --log $objective.jsonl
  grep -q 'the reference has scored' said.txt || fail "$(cat said.txt)"
  [ -s $objective/reference.json ] || fail "the reference's scores are not kept"
  grep -q '"validation_accuracy":1.0' $objective.jsonl || fail "$objective learns nothing: $(tail -n 1 $objective.jsonl)"
done
# The first loss is that of a model that is its own reference.
/usr/bin/python3 -c '
import json, math
first = [json.loads(open(f"{name}.jsonl").readline())["loss"] for name in ("dpo", "ipo")]
assert abs(first[0] - math.log(2)) < 1e-4 and abs(first[1] - 25) < 1e-3, first' || fail "the first losses are others"

# A run that is stopped goes on bit for bit, with the scores that it began with.
train=("$bin/heddle-run" train dpo.heddle --data pairs.jsonl --accumulate 2)
quietly "${train[@]}" --weights base --checkpoint whole --steps 12
quietly "${train[@]}" --weights base --checkpoint parts --steps 5
quietly "${train[@]}" --checkpoint parts --steps 12 --resume
cmp whole/step-00000012/weights.safetensors parts/step-00000012/weights.safetensors || fail "a resumed run differs"
quietly "${train[@]}" --checkpoint proof --steps 6 --verify-resume
rm parts/reference.json
if "${train[@]}" --checkpoint parts --steps 14 --resume > said.txt 2>&1; then
  fail "a run goes on without its reference"
fi
grep -q 'reference.json' said.txt || fail "$(cat said.txt)"

# The reference of an adapter is its base.
quietly "$bin/heddle-compile" model.toml --set objective=dpo --set learning_rate=1e-2 --lora rank=4,alpha=8 -o adapter.heddle
quietly "$bin/heddle-run" train adapter.heddle --base base --data pairs.jsonl --valid-data valid.jsonl --checkpoint adapter \
  --steps 40 --validate-every 40 --log adapter.jsonl
grep -q '"validation_accuracy":1.0' adapter.jsonl || fail "the adapter learns nothing: $(tail -n 1 adapter.jsonl)"

# Text without pairs is refused.
for data in base.jsonl; do
  if "$bin/heddle-run" train dpo.heddle --weights base --data $data --checkpoint other --steps 1 > said.txt 2>&1; then
    fail "completions are taken for pairs"
  fi
  grep -q 'has no "chosen" answer' said.txt || fail "$(cat said.txt)"
done
printf 'abc \n' | "$bin/heddle-run" generate dpo.heddle --checkpoint dpo > out.txt 2> said.txt || fail "$(cat said.txt)"
grep -q 'yy' out.txt || fail "the model answers $(cat out.txt)"
