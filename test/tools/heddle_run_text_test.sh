#!/usr/bin/env bash
# Trains a decoder-only model on plain text, resumes, scores and continues text: heddle_run_text_test.sh BIN MODELS
set -euo pipefail
bin=$1
models=$2
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

# A line counts on from one of ten words and is four to nine words long: only its first word and its length are random.
awk 'BEGIN {
  srand(3)
  split("one two three four five six seven eight nine ten", word, " ")
  for (n = 0; n < 8200; ++n) {
    first = int(10 * rand()); length_ = 4 + int(6 * rand()); line = word[first + 1]
    for (i = 1; i < length_; ++i) line = line " " word[(first + i) % 10 + 1]
    print line > (n < 8000 ? "train.txt" : "valid.txt")
  }
}'
sizes=(--set architecture=decoder --set encoder_layers=0 --set decoder_layers=1 --set d_model=32 --set d_ff=64
       --set vocab_size=60 --set max_length=12 --set max_tokens=512 --set max_sequences=64 --set warmup=50
       --set learning_rate=3e-3 --set accumulate=true)
quietly "$bin/heddle-compile" "$models/numbers.toml" "${sizes[@]}" -o lm.heddle
train=("$bin/heddle-run" train lm.heddle --text train.txt --valid-text valid.txt)
losses() { grep -o '"step":[0-9]*,"loss":[^,]*' "$1"; }

# The model must reach the entropy of the text, which is that of a line's first word and length.
quietly "${train[@]}" --checkpoint ck --log log.jsonl --steps 400 --seed 1 --validate-every 100
grep -q 'training: 8000 documents in 8000 sequences' said.txt || fail "$(cat said.txt)"
"$bin/heddle-run" score lm.heddle --checkpoint ck --text valid.txt --log score.jsonl > score.txt 2> said.txt || fail "$(cat said.txt)"
grep -qE '^loss [0-9.]+ per token of [0-9]+, perplexity [0-9.]+$' score.txt || fail "score prints $(cat score.txt)"
/usr/bin/python3 - << 'END' || fail "the model has not learnt to count: $(cat score.txt)"
import json, math
score = json.load(open("score.jsonl"))
per_line = score["loss"] * score["tokens"] / 200
print(f"{per_line:.3f} nats a line of entropy {math.log(60):.3f}")
assert 0.97 * math.log(60) < per_line < 1.05 * math.log(60)
assert abs(score["perplexity"] / math.exp(score["loss"]) - 1) < 1e-6
logged = [json.loads(line) for line in open("log.jsonl")]
validations = [record["validation_loss"] for record in logged if "validation_loss" in record]
assert len(validations) == 4 and abs(validations[-1] - score["loss"]) < 1e-5, validations
assert all(record["source_tokens"] == 0 for record in logged if "loss" in record)
END
[ "$(readlink ck/best)" != "" ] || fail "no best checkpoint"
quietly "$bin/heddle-run" report log.jsonl --html report.html

# The model continues to count. A prompt gets the same continuation alone as among others, and an empty prompt begins a
# line.
printf 'one two three\n\nnine ten\n' | "$bin/heddle-run" generate lm.heddle --checkpoint ck > out.txt 2> said.txt || fail "$(cat said.txt)"
grep -q '^one two three four' out.txt && grep -q '^nine ten one two' out.txt || fail "the model continues by: $(cat out.txt)"
grep -qE '^(one|two|three|four|five|six|seven|eight|nine|ten) ' <(sed -n 2p out.txt) || fail "an empty prompt gives: $(cat out.txt)"
for flags in "" "--sample --seed 2 --temperature 0.5"; do
  # shellcheck disable=SC2086
  echo "seven eight nine" | "$bin/heddle-run" generate lm.heddle --checkpoint ck/best --tokens 2 $flags > out.txt 2> said.txt ||
    fail "$(cat said.txt)"
  [ "$(cat out.txt)" = "seven eight nine ten one" ] || fail "two tokens with '$flags' give $(cat out.txt)"
done
# Several devices (here the same one twice) give the same answers.
device=$(sed -n 's/.*device \([a-z]*:[0-9]*\):.*/\1/p' said.txt)
{ cut -d ' ' -f 1-2 valid.txt; echo; printf 'one %.0s' {1..30}; echo; } > prompts.txt
for flags in "" "--sample --seed 2 --stop six --json"; do
  for devices in "--device=$device" "--devices=$device,$device"; do
    # shellcheck disable=SC2086
    "$bin/heddle-run" generate lm.heddle --checkpoint ck $flags "$devices" < prompts.txt > "of$devices.txt" 2> said.txt || fail "$(cat said.txt)"
    grep -q 'line 202 has .* tokens and is not continued' said.txt || fail "line 202 is not named: $(cat said.txt)"
  done
  [ "$(wc -l < "of$devices.txt")" = 202 ] || fail "not as many answers as prompts"
  cmp "of--device=$device.txt" "of$devices.txt" || fail "several devices with '$flags' continue in another way"
done
ids=$(echo "one two" | "$bin/heddle-run" tokenize ck | cut -f 1)
[ "$(echo "$ids" | "$bin/heddle-run" tokenize ck --decode)" = "one two" ] || fail "tokens of a checkpoint: $ids"
quietly "$bin/heddle-run" average --checkpoint ck --last 2 --output mean
echo "two three" | "$bin/heddle-run" generate lm.heddle --checkpoint mean --tokens 2 > out.txt 2> said.txt || fail "$(cat said.txt)"
[ "$(cat out.txt)" = "two three four five" ] || fail "the mean of checkpoints gives $(cat out.txt)"

# A training stopped by a signal and resumed equals one that was not interrupted, also from compressed text and from a
# pipe.
quietly "${train[@]}" --checkpoint whole --log whole.jsonl --steps 40 --seed 5
"${train[@]}" --checkpoint parts --log parts.jsonl --steps 40 --seed 5 > said.txt 2>&1 &
training=$!
until [ -f parts.jsonl ] && [ "$(wc -l < parts.jsonl)" -ge 5 ]; do
  kill -0 "$training" 2> /dev/null || break
  sleep 0.02
done
kill -TERM "$training" 2> /dev/null || true
wait "$training" || fail "a stopped training ends with an error: $(cat said.txt)"
gzip -k train.txt
quietly "$bin/heddle-run" train lm.heddle --text train.txt.gz --valid-text <(cat valid.txt) --checkpoint parts --log parts.jsonl \
  --steps 40 --resume
diff <(losses whole.jsonl) <(losses parts.jsonl) || fail "a resumed training has other losses"
for file in weights.safetensors optimizer.safetensors spm.model manifest.json; do
  cmp "whole/step-00000040/$file" "parts/step-00000040/$file" || fail "a resumed training has another $file"
done
quietly "${train[@]}" --checkpoint proof --steps 9 --accumulate 2 --batch-sequences 20 --verify-resume
grep -q '^9 steps at once, and 4 and 5 with a checkpoint between them, end alike:$' said.txt || fail "$(cat said.txt)"
quietly "${train[@]}" --checkpoint patient --steps 100000 --validate-every 1 --patience 3 --batch-tokens 60
grep -q 'the last 3 validations were no better' said.txt || fail "$(cat said.txt)"
quietly "${train[@]}" --checkpoint seen --steps 9 --profile trace.json

# In documents of several lines, line ends are tokens, also in generated text.
printf 'a b\nc d\n\n\nb a\n' > verses.txt
for n in 1 2 3 4 5 6 7; do cat verses.txt verses.txt; echo; done > text.txt
quietly "$bin/heddle-compile" "$models/numbers.toml" "${sizes[@]}" --set max_length=64 -o long.heddle
for kind in blank-lines file; do
  quietly "$bin/heddle-run" train long.heddle --text text.txt --documents $kind --checkpoint $kind --steps 120 --seed 1
  echo 'a b' | "$bin/heddle-run" generate long.heddle --checkpoint $kind --tokens 4 > out.txt 2> said.txt || fail "$(cat said.txt)"
  grep -qF 'a b\nc d' out.txt || fail "with --documents=$kind the answer is $(cat out.txt)"
done
quietly "$bin/heddle-run" train long.heddle --text text.txt --documents lines --checkpoint file --steps 121 --resume
grep -q 'batches differ from the batches of the checkpoint, by documents ("file", now "lines")' said.txt || fail "$(cat said.txt)"

# refuses CODE TEXT COMMAND...
refuses() {
  local code=$1 text=$2 got=0
  shift 2
  "$@" > said.txt 2>&1 < /dev/null || got=$?
  [ "$got" = "$code" ] || fail "exit code $got instead of $code: $* $(cat said.txt)"
  grep -qF -- "$text" said.txt || fail "'$text' is not said by: $* $(cat said.txt)"
}
quietly "$bin/heddle-compile" "$models/numbers.toml" --set d_model=32 --set d_ff=64 --set encoder_layers=1 --set decoder_layers=1 \
  -o pair.heddle
pairs=(--src train.txt --tgt train.txt)
refuses 1 "--text is not for the artifact's model, an encoder with a decoder: give --src and --tgt instead" \
  "$bin/heddle-run" train pair.heddle --text train.txt --checkpoint other
refuses 1 "--src and --tgt are not for the artifact's model, a decoder alone: give --text instead" \
  "$bin/heddle-run" train lm.heddle "${pairs[@]}" --checkpoint other
refuses 1 "--src and --tgt are not for the artifact's model, a decoder alone" "$bin/heddle-run" score lm.heddle "${pairs[@]}" --checkpoint ck
refuses 1 "--text is not for the artifact's model, an encoder with a decoder" "$bin/heddle-run" score pair.heddle --text train.txt --checkpoint ck
refuses 1 "give --valid-text beside --text." "$bin/heddle-run" train lm.heddle --text train.txt --valid-src train.txt \
  --valid-tgt train.txt --checkpoint other
refuses 1 "--patience counts validations: give --valid-text, or leave it out." \
  "$bin/heddle-run" train lm.heddle --text train.txt --checkpoint other --patience 2
refuses 1 "--validate-bleu translates sentence pairs" "${train[@]}" --checkpoint other --validate-bleu
: > empty.txt
printf '\n \n' > blank.txt
refuses 1 "'empty.txt' is empty; give text." "$bin/heddle-run" train lm.heddle --text empty.txt --checkpoint other
refuses 1 "'blank.txt' leaves no document to score (0 documents)." "$bin/heddle-run" score lm.heddle --checkpoint ck --text blank.txt
refuses 1 "'blank.txt' leaves no document to use (0 documents)." "$bin/heddle-run" train lm.heddle --text train.txt \
  --valid-text blank.txt --checkpoint other
refuses 1 "has no vocabulary that heddle-run reads" "$bin/heddle-run" train lm.heddle --text train.txt --vocab . \
  --checkpoint other
refuses 2 "--devices excludes --stream" "$bin/heddle-run" generate lm.heddle --checkpoint ck --devices=all --stream
refuses 1 "cannot open" "$bin/heddle-run" train lm.heddle --text absent.txt --checkpoint other
refuses 2 "--src and --tgt, or --text" "$bin/heddle-run" train lm.heddle --checkpoint other
refuses 2 "--text" "$bin/heddle-run" train lm.heddle --text train.txt "${pairs[@]}" --checkpoint other
refuses 2 "--tgt" "$bin/heddle-run" train lm.heddle --src train.txt --checkpoint other
refuses 2 "sentences not in" "$bin/heddle-run" train lm.heddle --text train.txt --documents sentences --checkpoint other
refuses 2 "--documents" "$bin/heddle-run" train lm.heddle "${pairs[@]}" --documents lines --checkpoint other
refuses 2 "or --hyp," "$bin/heddle-run" score lm.heddle --checkpoint ck
refuses 2 "--text" "$bin/heddle-run" score lm.heddle --checkpoint ck --text train.txt --per-line
[ -z "$(ls -d other* 2> /dev/null)" ] || fail "a training that never began leaves a folder"
echo "all as expected"
