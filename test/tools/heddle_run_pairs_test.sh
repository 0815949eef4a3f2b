#!/usr/bin/env bash
# Trains models of pairs of texts on records, resumes, scores and predicts: heddle_run_pairs_test.sh BIN. Without
# HEDDLE_LONG=1 training ends before the models are good.
set -euo pipefail
bin=$1
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

steps=$([ -n "${HEDDLE_LONG-}" ] && echo 400 || echo 60)
# The label says whether both texts have the same animal; the grade is the number of animals in the left text.
/usr/bin/python3 - << 'END'
import json, random
random.seed(3)
for name, count in (("train", 600), ("valid", 100)):
    with open(f"{name}.labels", "w") as labels, open(f"{name}.grades", "w") as grades:
        for _ in range(count):
            left, right = random.choice(["dog", "cat"]), random.choice(["dog", "cat"])
            fill = lambda word: " ".join(random.sample([word, "red", "green"], 3))
            pair = {"left": fill(left), "right": fill(right)}
            print(json.dumps(pair | {"label": "same" if left == right else "other"}), file=labels)
            animals = random.choices(["dog", "cat", "red", "green"], k=6)
            print(json.dumps({"left": " ".join(animals), "right": right, "grade": sum(w in ("dog", "cat") for w in animals) + 0.5}), file=grades)
END
cat > labels.weft << 'END'
task pair
param vocab_size = 20, width = 16, max_tokens = 512, max_sequences = 32, max_length = 10
weight table[vocab_size, width] ~ normal(0.3)
logits(left, right) {
  a, b = average(table[left]), average(table[right])
  linear(tanh(linear(join(a, b, a * b), width)), 2)
}
loss(left, right) { cross_entropy(logits, pair.label) }
END
sed -e 's/linear(tanh(linear(join(a, b, a \* b), width)), 2)/sum(linear(total(table[left]), 1))/' \
  -e 's/cross_entropy(logits, pair.label)/(logits - pair.grade) ^ 2/' labels.weft > grades.weft
for kind in labels grades; do
  quietly "$bin/heddle-compile" $kind.weft --set learning_rate=0.01 --set warmup=50 --set accumulate=true -o $kind.heddle
  train=("$bin/heddle-run" train $kind.heddle --data train.$kind --valid-data valid.$kind --vocab-type word)
  quietly "${train[@]}" --checkpoint $kind --steps $steps --seed 1 --log $kind.jsonl
  quietly "$bin/heddle-run" score $kind.heddle --checkpoint $kind --data valid.$kind --log $kind.score
  "$bin/heddle-run" predict $kind.heddle --checkpoint $kind --records < valid.$kind > predicted.$kind 2> said.txt || fail "$(cat said.txt)"
  quietly "${train[@]}" --checkpoint whole.$kind --log whole.jsonl --steps 30 --seed 5
  quietly "${train[@]}" --checkpoint parts.$kind --log parts.jsonl --steps 13 --seed 5
  quietly "$bin/heddle-run" train $kind.heddle --data train.$kind --valid-data valid.$kind --checkpoint parts.$kind --log parts.jsonl --steps 30 --resume
  for file in weights.safetensors optimizer.safetensors spm.model; do
    cmp "whole.$kind/step-00000030/$file" "parts.$kind/step-00000030/$file" || fail "a resumed training has another $file"
  done
  quietly "${train[@]}" --checkpoint proof --steps 6 --accumulate 2 --batch-sequences 20 --verify-resume
done
/usr/bin/python3 - $steps << 'END' || fail "$(cat labels.score grades.score)"
import json, sys
learnt = sys.argv[1] == "400"
records = {kind: [json.loads(line) for line in open(f"valid.{kind}")] for kind in ("labels", "grades")}
predicted = {kind: open(f"predicted.{kind}").read().splitlines() for kind in records}
score = {kind: json.load(open(f"{kind}.score")) for kind in records}
right = [record["label"] == line.split("\t")[0] for record, line in zip(records["labels"], predicted["labels"], strict=True)]
assert sum(right) / len(right) == score["labels"]["accuracy"] >= (0.95 if learnt else 0)
errors = [(record["grade"] - float(line)) ** 2 for record, line in zip(records["grades"], predicted["grades"], strict=True)]
assert abs(sum(errors) / len(errors) - score["grades"]["mean_squared_error"]) < 1e-4
assert score["grades"]["pearson"] > (0.99 if learnt else 0) and score["grades"]["grades"] == len(errors)
validation = [json.loads(line) for line in open("grades.jsonl") if "validation" in line][-1]
assert abs(validation["validation_pearson"] - score["grades"]["pearson"]) < 1e-5
END

# A line is two texts separated by a tab; a long text is cut.
printf 'red dog\tdog\n\ndog dog dog dog dog dog dog dog dog dog\tcat\n' | "$bin/heddle-run" predict labels.heddle --checkpoint labels > out.txt 2> said.txt ||
  fail "$(cat said.txt)"
[ "$(wc -l < out.txt)" = 3 ] && grep -q 'line 3 has a left text of [0-9]* tokens and is cut to 10' said.txt || fail "$(cat out.txt said.txt)"

refuses() { # TEXT COMMAND...
  local text=$1 got=0
  shift
  "$@" > said.txt 2>&1 < /dev/null || got=$?
  [ "$got" = 1 ] || fail "exit code $got instead of 1: $* $(cat said.txt)"
  grep -qF -- "$text" said.txt || fail "'$text' is not said by: $* $(cat said.txt)"
}
bad() { # KIND TEXT RECORD
  { head -2 "train.$1"; printf '%b\n' "$3"; } > bad.jsonl
  refuses "'bad.jsonl' line 3 $2" "$bin/heddle-run" train "$1.heddle" --data bad.jsonl --checkpoint other
}
bad labels 'is not JSON; each line is a record such as {"left": "a dog barks", "right": "a dog is loud", "label": "yes"}.' 'red dog'
bad labels 'is not UTF-8' '{"left": "\xff", "right": "a", "label": "same"}'
bad labels 'is not an object' '["red", "dog"]'
bad labels 'has no "left", a string' '{"text": "red", "label": "same"}'
bad labels 'has no "right", a string' '{"left": "red", "right": 3, "label": "same"}'
bad labels 'has a "right" without a word' '{"left": "red", "right": " ", "label": "same"}'
bad labels 'has no "label"' '{"left": "red", "right": "dog", "grade": 1}'
bad labels 'has the label null' '{"left": "red", "right": "dog", "label": null}'
bad grades 'has no "grade"; each line is a record such as {"left": "a dog barks", "right": "a dog is loud", "grade": 3.5}.' \
  '{"left": "red", "right": "dog", "label": "same"}'
bad grades 'has the grade "high", and a grade is a number' '{"left": "red", "right": "dog", "grade": "high"}'
echo '{"left": "red", "right": "dog", "label": "neither"}' > new.jsonl
refuses "has the label 'neither', which no record of the training has" "$bin/heddle-run" score labels.heddle --checkpoint labels --data new.jsonl
echo 'red dog' > alone.txt
got=0
"$bin/heddle-run" predict labels.heddle --checkpoint labels < alone.txt > said.txt 2>&1 || got=$?
[ $got = 1 ] && grep -q 'line 1 is no pair of texts; write both with a tab between them' said.txt || fail "$(cat said.txt)"
echo "pairs are learnt, graded, resumed and predicted"
