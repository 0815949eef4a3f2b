#!/usr/bin/env bash
# Trains models that predict labels on records, resumes, scores and predicts: heddle_run_labels_test.sh BIN. Without
# HEDDLE_LONG=1 training ends before the models are good.
set -euo pipefail
bin=$1
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

steps=$([ -n "${HEDDLE_LONG-}" ] && echo 400 || echo 80)
# A text's label says whether it has a colour, or both pets. A word's label is its kind, in capitals if the text begins
# with "no".
/usr/bin/python3 - << 'END'
import json, random
random.seed(3)
kinds = {"red": "colour", "green": "colour", "dog": "animal", "cat": "animal", "runs": "verb", "eats": "verb", "no": "other"}
for name, count in (("train", 2000), ("valid", 250)):
    with open(f"{name}.texts", "w") as texts, open(f"{name}.words", "w") as words:
        for _ in range(count):
            line = [random.choice(list(kinds)) for _ in range(random.randint(1, 10))]
            label = "pets" if {"dog", "cat"} <= set(line) else "coloured" if {"red", "green"} & set(line) else "plain"
            print(json.dumps({"text": " ".join(line), "label": label}), file=texts)
            print(json.dumps({"tokens": line, "labels": [kinds[w].upper() if line[0] == "no" else kinds[w] for w in line]}), file=words)
END
model() { # NAME TEXT CLASSES
  printf 'model = "%s.weft"\nclasses = %s\nvocab_size = 40\nd_model = 32\nheads = 4\nd_ff = 64\nencoder_layers = 1\n' "$2" "$3" > "$1.toml"
  printf 'max_tokens = 512\nmax_sequences = 64\nmax_length = 16\nwarmup = 30\nlearning_rate = 5e-3\naccumulate = true\n' >> "$1.toml"
  printf 'ema_decay = 0.9\nlabel_smoothing = 0.0\n' >> "$1.toml"
  quietly "$bin/heddle-compile" "$1.toml" -o "$1.heddle"
}
model texts classifier 3
model words tagger 8
losses() { grep -o '"step":[0-9]*,"loss":[^,]*' "$1"; }

for kind in texts words; do
  train=("$bin/heddle-run" train $kind.heddle --data train.$kind --valid-data valid.$kind)
  quietly "${train[@]}" --checkpoint $kind --log $kind.jsonl --steps $steps --seed 1 --validate-every $((steps / 4))
  grep -q 'training: 2000 records' said.txt || fail "$(cat said.txt)"
  "$bin/heddle-run" score $kind.heddle --checkpoint $kind --data valid.$kind --log $kind.score > score.txt 2> said.txt ||
    fail "$(cat said.txt)"
  "$bin/heddle-run" predict $kind.heddle --checkpoint $kind --records < valid.$kind > predicted.txt 2> said.txt || fail "$(cat said.txt)"
  device=$(sed -n 's/.*device \([a-z]*:[0-9]*\):.*/\1/p' said.txt)
  "$bin/heddle-run" predict $kind.heddle --checkpoint $kind --records --devices="$device,$device" < valid.$kind > two.txt 2> said.txt ||
    fail "$(cat said.txt)"
  cmp two.txt predicted.txt || fail "two devices predict other labels"
  cat score.txt
  /usr/bin/python3 - $kind $steps << 'END' || fail "$kind: $(cat score.txt)"
import json, sys
kind, count = sys.argv[1], int(sys.argv[2])
score = json.load(open(f"{kind}.score"))
records = [json.loads(line) for line in open(f"valid.{kind}")]
predicted = [line.rstrip("\n") for line in open("predicted.txt")]
assert len(predicted) == len(records)
pairs = []
for record, line in zip(records, predicted):
    if kind == "texts":
        label, probability = line.split("\t")
        assert 0 < float(probability) <= 1
        pairs.append((record["label"], label))
    else:
        given = line.split(" ")
        assert len(given) == len(record["labels"])
        pairs += zip(record["labels"], given)
accuracy = sum(a == b for a, b in pairs) / len(pairs)
assert score["labels"] == len(pairs) and abs(score["accuracy"] - accuracy) < 1e-9, (score, accuracy)
assert accuracy >= (0.98 if count == 400 else 0.4), accuracy
logged = [json.loads(line) for line in open(f"{kind}.jsonl")]
validations = [record for record in logged if "validation_loss" in record]
assert len(validations) == 4 and abs(validations[-1]["validation_loss"] - score["loss"]) < 1e-5
assert abs(validations[-1]["validation_accuracy"] - accuracy) < 1e-9
steps = [record for record in logged if "learning_rate" in record]
assert len(steps) == count and all(record["labels"] > 0 and record["target_tokens"] == 0 for record in steps)
END
  [ -e $kind/best/labels.json ] || fail "no labels beside the best checkpoint"
  quietly "$bin/heddle-run" report $kind.jsonl --html report.html
  grep -q validation_accuracy report.html || fail "the report has no accuracy"
  quietly "$bin/heddle-run" average --checkpoint $kind --last 2 --output mean.$kind
  quietly "$bin/heddle-run" average --checkpoint $kind --ema --output ema.$kind
  for mean in mean ema; do
    echo "no red dog" | "$bin/heddle-run" predict $kind.heddle --checkpoint $mean.$kind > out.txt 2> said.txt || fail "$(cat said.txt)"
    grep -qE "$([ $steps = 400 ] && echo '^(coloured|OTHER COLOUR ANIMAL)' || echo '^([a-z]+.[0-9.]+|([A-Za-z]+ ?){3})$')" out.txt || fail "$mean of $kind predicts $(cat out.txt)"
  done

  # A resumed training equals one that was not interrupted, also with compressed records.
  quietly "${train[@]}" --checkpoint whole.$kind --log whole.jsonl --steps 30 --seed 5
  quietly "${train[@]}" --checkpoint parts.$kind --log parts.jsonl --steps 13 --seed 5
  gzip -k train.$kind
  quietly "$bin/heddle-run" train $kind.heddle --data train.$kind.gz --valid-data <(cat valid.$kind) --checkpoint parts.$kind \
    --log parts.jsonl --steps 30 --resume
  diff <(losses whole.jsonl) <(losses parts.jsonl) || fail "a resumed training has other losses"
  for file in weights.safetensors optimizer.safetensors spm.model labels.json; do
    cmp "whole.$kind/step-00000030/$file" "parts.$kind/step-00000030/$file" || fail "a resumed training has another $file"
  done
  quietly "${train[@]}" --checkpoint proof --steps 6 --accumulate 2 --batch-sequences 20 --vocab-type word --verify-resume
  quietly "${train[@]}" --checkpoint patient.$kind --steps 100000 --validate-every 1 --patience 2 --batch-tokens 60
  grep -q 'the last 2 validations were no better' said.txt || fail "$(cat said.txt)"
done

# A blank line has no label; a long line is cut; words may or may not be pieces of the vocabulary.
printf 'red\n\n dog\tcat  zebra \n' | "$bin/heddle-run" predict words.heddle --checkpoint words > out.txt 2> said.txt || fail "$(cat said.txt)"
[ "$(sed -n 1p out.txt)" = colour ] && [ -z "$(sed -n 2p out.txt)" ] && [ "$(sed -n 3p out.txt | wc -w)" = 3 ] || fail "$(cat out.txt)"
for n in 1 2 3 4; do printf 'red dog eats cat green '; done | "$bin/heddle-run" predict words.heddle --checkpoint words > out.txt 2> said.txt ||
  fail "$(cat said.txt)"
grep -q 'line 1 has [0-9]* tokens and is cut to 16' said.txt && [ "$(wc -w < out.txt)" = 20 ] && grep -q ' ?$' out.txt ||
  fail "$(cat said.txt out.txt)"

# refuses CODE TEXT COMMAND...
refuses() {
  local code=$1 text=$2 got=0
  shift 2
  "$@" > said.txt 2>&1 < /dev/null || got=$?
  [ "$got" = "$code" ] || fail "exit code $got instead of $code: $* $(cat said.txt)"
  grep -qF -- "$text" said.txt || fail "'$text' is not said by: $* $(cat said.txt)"
}
# bad KIND TEXT RECORD: fails unless the record is refused as the third line of a training text, and as a validation
# text.
bad() {
  { head -2 "train.$1"; printf '%b\n' "$3"; head -1 "train.$1"; } > bad.jsonl
  refuses 1 "'bad.jsonl' line 3 $2" "$bin/heddle-run" train "$1.heddle" --data bad.jsonl --checkpoint other
  refuses 1 "'bad.jsonl' line 3 $2" "$bin/heddle-run" train "$1.heddle" --data "train.$1" --valid-data bad.jsonl --checkpoint other
}
bad texts 'is not JSON; each line is a record such as {"text": "buy now", "label": "spam"}.' 'red dog'
bad texts 'is not UTF-8' '{"text": "\xff", "label": "plain"}'
bad texts 'is not an object' '["red", "plain"]'
bad texts 'has neither a "text", a string or a list of sentences, nor "tokens"' '{"txt": "red", "label": "plain"}'
bad texts 'has a text without a word' '{"text": " ", "label": "plain"}'
bad texts 'has no "label"' '{"text": "red"}'
bad texts 'has the label null' '{"text": "red", "label": null}'
bad words 'has 2 labels for 1 word' '{"text": "red", "labels": ["colour", "verb"]}'
bad words 'has "labels" that are not a list' '{"text": "red", "labels": "colour"}'
bad words 'has "tokens" that are not a list of strings' '{"tokens": ["red", 1], "labels": ["colour", "verb"]}'
bad words 'has a token without a character' '{"tokens": ["red", " "], "labels": ["colour", "verb"]}'
bad words 'has no "labels"; each line is a record such as {"tokens": ["a", "dog"], "labels": ["DET", "NOUN"]}.' '{"text": "red"}'
echo '{"text": "red", "label": "blue"}' > other.jsonl
refuses 1 "'other.jsonl' line 1 has the label 'blue', which no record of the training has: its labels are coloured, pets, plain." \
  "$bin/heddle-run" score texts.heddle --checkpoint texts --data other.jsonl
{ cat train.texts other.jsonl; } > four.jsonl
refuses 1 "the records have 4 labels and the model room for 3; compile it for as many, with --set classes=4" \
  "$bin/heddle-run" train texts.heddle --data four.jsonl --checkpoint other
echo foo > foo.jsonl
refuses 1 "'foo.jsonl' line 1 is not JSON" "$bin/heddle-run" train texts.heddle --data foo.jsonl --checkpoint other
echo > blank.jsonl
refuses 1 "'blank.jsonl' has no record" "$bin/heddle-run" train texts.heddle --data blank.jsonl --checkpoint other
: > empty.jsonl
refuses 1 "'empty.jsonl' is empty; give records" "$bin/heddle-run" train texts.heddle --data empty.jsonl --checkpoint other
refuses 1 "--text is not for the artifact's model, one that gives texts labels: give --data instead." \
  "$bin/heddle-run" train texts.heddle --text train.texts --checkpoint other
refuses 1 "give --valid-data beside --data." "$bin/heddle-run" train texts.heddle --data train.texts --valid-text train.texts \
  --checkpoint other
refuses 1 "--validate-bleu translates sentence pairs; leave it out with --data." "$bin/heddle-run" train texts.heddle \
  --data train.texts --valid-data valid.texts --checkpoint other --validate-bleu
refuses 2 "--data" "$bin/heddle-run" train texts.heddle --data train.texts --src a --tgt b --checkpoint other
refuses 1 "line 1 is not JSON" bash -c "echo red | '$bin/heddle-run' predict texts.heddle --checkpoint texts --records"
model wider classifier 4
refuses 1 "was trained with another model: classes (3, now 4)" "$bin/heddle-run" predict wider.heddle --checkpoint texts
refuses 1 "the artifact's model is one that gives texts labels, and translate takes" \
  "$bin/heddle-run" translate texts.heddle --checkpoint texts
printf 'architecture = "decoder"\nd_model = 16\nheads = 2\nd_ff = 16\nencoder_layers = 0\ndecoder_layers = 1\nvocab_size = 40\n' > lm.toml
quietly "$bin/heddle-compile" lm.toml -o lm.heddle
refuses 1 "of prompts with completions only the completions count: compile it with --set token_weights=true" "$bin/heddle-run" train lm.heddle --data train.texts --checkpoint other
refuses 1 "the artifact's model gives no labels, which predict takes" "$bin/heddle-run" predict lm.heddle --checkpoint texts
[ -z "$(ls -d other 2> /dev/null)" ] || fail "a training that never began leaves a folder"
echo "all as expected"
