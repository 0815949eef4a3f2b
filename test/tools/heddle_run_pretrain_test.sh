#!/usr/bin/env bash
# Trains a model on hidden words and on sentences that follow each other: heddle_run_pretrain_test.sh BIN
# On text of a grammar, it must guess at least twice as many words as the most frequent word accounts for, and 95% of
# the sentences. Without HEDDLE_LONG=1 training ends before that.
# ends before that.
set -euo pipefail
bin=$1
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

steps=$([ -n "${HEDDLE_LONG-}" ] && echo 800 || echo 24)
/usr/bin/python3 "$tests/grammar_text.py" train.txt valid.txt
cat > model.toml << 'END'
model = "pretraining.weft"
vocab_size = 320
d_model = 64
heads = 4
d_ff = 128
encoder_layers = 2
activation = "gelu"
dropout = 0.0
label_smoothing = 0.0
max_length = 24
max_tokens = 1024
max_sequences = 80
learning_rate = 4e-3
warmup = 100
accumulate = true
END
quietly "$bin/heddle-compile" model.toml -o model.heddle
text=(--text train.txt --valid-text valid.txt --documents blank-lines --vocab-type word)
train=("$bin/heddle-run" train model.heddle "${text[@]}")
losses() { grep -o '"step":[0-9]*,"loss":[^,]*' "$1"; }

quietly "${train[@]}" --checkpoint ck --log log.jsonl --steps $steps --seed 1 --validate-every $((steps / 4))
grep validation said.txt
"$bin/heddle-run" score model.heddle --checkpoint ck --text valid.txt --documents blank-lines --log score.jsonl > score.txt 2> said.txt ||
  fail "$(cat said.txt)"
cat score.txt
/usr/bin/python3 - $steps << 'END' || fail "the model has not learnt enough: $(cat score.txt)"
import collections, json, sys
count = lambda path: collections.Counter(open(path).read().split())
frequent = count("train.txt").most_common(1)[0][0]
held_out = count("valid.txt")
unigram = held_out[frequent] / sum(held_out.values())
score = json.load(open("score.jsonl"))
print(f"words {score['accuracy']:.3f}, always {frequent!r} {unigram:.3f}; next sentences {score['sentence_accuracy']:.3f}")
assert score["labels"] > 300 and score["sentence_pairs"] > 300
assert sys.argv[1] == "24" or score["accuracy"] >= 2 * unigram and score["sentence_accuracy"] >= 0.95
logged = [json.loads(line) for line in open("log.jsonl")]
last = [record for record in logged if "validation_loss" in record][-1]
assert abs(last["validation_loss"] - score["loss"]) < 1e-5 and abs(last["validation_accuracy"] - score["accuracy"]) < 1e-9
assert abs(last["validation_sentence_accuracy"] - score["sentence_accuracy"]) < 1e-9
END
quietly "$bin/heddle-run" report log.jsonl --html report.html

# Each epoch hides other words. A resumed training hides the same words as one that was not interrupted.
quietly "${train[@]}" --checkpoint whole --log whole.jsonl --steps 24 --seed 5 --shuffle-window 500
quietly "${train[@]}" --checkpoint parts --log parts.jsonl --steps 11 --seed 5 --shuffle-window 500
quietly "$bin/heddle-run" train model.heddle "${text[@]}" --checkpoint parts --log parts.jsonl --steps 24 --resume --shuffle-window 500
diff <(losses whole.jsonl) <(losses parts.jsonl) || fail "a resumed training has other losses"
for file in weights.safetensors optimizer.safetensors spm.model; do
  cmp "whole/step-00000024/$file" "parts/step-00000024/$file" || fail "a resumed training has another $file"
done
quietly "${train[@]}" --checkpoint proof --steps 6 --accumulate 2 --batch-sequences 20 --verify-resume

# refuses CODE TEXT COMMAND...
refuses() {
  local code=$1 text=$2 got=0
  shift 2
  "$@" > said.txt 2>&1 < /dev/null || got=$?
  [ "$got" = "$code" ] || fail "exit code $got instead of $code: $* $(cat said.txt)"
  grep -qF -- "$text" said.txt || fail "'$text' is not said by: $* $(cat said.txt)"
}
refuses 1 "which sentences follow each other: give --documents=blank-lines" "$bin/heddle-run" train model.heddle --text train.txt \
  --checkpoint other
refuses 1 "--data is not for the artifact's model, one that guesses hidden words: give --text instead." \
  "$bin/heddle-run" train model.heddle --data train.txt --checkpoint other
refuses 1 "the artifact's model gives no labels, which predict takes" "$bin/heddle-run" predict model.heddle --checkpoint ck
printf 'a b c\n\nd e f\n' > alone.txt # documents of a single sentence have no pair
refuses 1 "leaves no document to score" "$bin/heddle-run" score model.heddle --checkpoint ck --text alone.txt --documents blank-lines

# An encoder that only guesses hidden words reads lines, paragraphs or the whole file.
cat > words.toml << 'END'
model = "bert.weft"
head = "words"
vocab_size = 320
d_model = 64
heads = 4
d_ff = 128
encoder_layers = 1
dropout = 0.0
max_length = 24
max_tokens = 1024
max_sequences = 80
learning_rate = 4e-3
schedule = "constant"
warmup = 10
accumulate = true
END
quietly "$bin/heddle-compile" words.toml -o words.heddle
for documents in lines blank-lines file; do
  text=(--text train.txt --valid-text valid.txt --documents $documents --vocab-type word)
  train=("$bin/heddle-run" train words.heddle "${text[@]}")
  quietly "${train[@]}" --checkpoint words.$documents --log words.$documents.jsonl --steps $((steps / 2)) --seed 1 --validate-every $((steps / 2))
  quietly "$bin/heddle-run" score words.heddle --checkpoint words.$documents --text valid.txt --documents $documents --log words.score
  /usr/bin/python3 - words.$documents.jsonl $steps << 'END' || fail "$(cat words.score)"
import json, sys
score = json.loads(open("words.score").read().splitlines()[-1])
logged = [json.loads(line) for line in open(sys.argv[1])]
last = [record for record in logged if "validation_loss" in record][-1]
assert abs(last["validation_loss"] - score["loss"]) < 1e-5 and abs(last["validation_accuracy"] - score["accuracy"]) < 1e-9
assert score["labels"] > 200 and "sentence_accuracy" not in score
assert score["loss"] < logged[0]["loss"] - (0.3 if sys.argv[2] == "24" else 1.5), (score, logged[0])
END
  quietly "${train[@]}" --checkpoint whole.$documents --steps 14 --seed 5 --shuffle-window 500
  quietly "${train[@]}" --checkpoint parts.$documents --steps 6 --seed 5 --shuffle-window 500
  quietly "$bin/heddle-run" train words.heddle "${text[@]}" --checkpoint parts.$documents --steps 14 --resume --shuffle-window 500
  cmp whole.$documents/step-00000014/weights.safetensors parts.$documents/step-00000014/weights.safetensors ||
    fail "a resumed training of $documents has other weights"
done
echo "$(head -n 1 valid.txt | sed 's/[a-z]*$/[MASK]/')" | "$bin/heddle-run" fill words.heddle --checkpoint words.lines > filled.txt 2> said.txt || fail "$(cat said.txt)"
[ -s filled.txt ] || fail "fill says nothing"
refuses 1 "--data is not for the artifact's model, an encoder alone: give --text instead." \
  "$bin/heddle-run" train words.heddle --data train.txt --checkpoint other
sed 's/"words"/"none"/' words.toml > none.toml
quietly "$bin/heddle-compile" none.toml -o none.heddle
refuses 1 "the artifact's model is an encoder alone, and train takes" "$bin/heddle-run" train none.heddle --text train.txt --checkpoint other
echo "all as expected"
