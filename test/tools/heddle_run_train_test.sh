#!/usr/bin/env bash
# Trains, resumes, translates and scores with a very small model: heddle_run_train_test.sh BIN MODELS
set -euo pipefail
bin=$1
models=$2
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

quietly "$bin/heddle-data" numbers --out data --train 400 --valid 20 --test 30 --maximum 9999
quietly "$bin/heddle-compile" "$models/numbers.toml" --set d_model=32 --set d_ff=64 --set encoder_layers=1 \
  --set decoder_layers=1 --set max_tokens=256 --set max_sequences=16 --set dropout=0.1 --set accumulate=true \
  --set logits_entry=true -o n.heddle
train=("$bin/heddle-run" train n.heddle --src data/train.en --tgt data/train.de --valid-src data/valid.en
       --valid-tgt data/valid.de)
# The inputs of `bench` are valid even if a call holds fewer tokens than sequences.
quietly "$bin/heddle-compile" "$models/numbers.toml" --set d_model=32 --set d_ff=64 --set encoder_layers=1 \
  --set decoder_layers=1 --set max_tokens=8 --set max_length=1 --set max_sequences=16 --set accumulate=true --set logits_entry=true \
  --set explain_entry=true -o narrow.heddle
quietly "$bin/heddle-run" bench narrow.heddle --repeat 1 --warmup 0 --ceilings none
# Prints the steps of a log and their losses; the other fields depend on the clock.
losses() { grep -o '"step":[0-9]*,"loss":[^,]*' "$1"; }

# A training stopped by a signal and resumed has the same losses as one that was not interrupted.
quietly "${train[@]}" --checkpoint whole --log whole.jsonl --steps 40 --seed 5
[ "$(losses whole.jsonl | wc -l)" = 40 ] || fail "not 40 steps are logged"
"${train[@]}" --checkpoint parts --log parts.jsonl --tensorboard parts-events --steps 40 --seed 5 --save-every 0 > said.txt 2>&1 &
training=$!
until [ -f parts.jsonl ] && [ "$(wc -l < parts.jsonl)" -ge 5 ]; do
  kill -0 "$training" 2> /dev/null || break
  sleep 0.02
done
kill -TERM "$training" 2> /dev/null || true
wait "$training" || fail "a stopped training ends with an error: $(cat said.txt)"
quietly "${train[@]}" --checkpoint parts --log parts.jsonl --tensorboard parts-events --steps 40 --resume
/usr/bin/python3 "$tests/read_events.py" parts-events parts.jsonl || fail "TensorBoard's events are not those of the log"
diff <(losses whole.jsonl) <(losses parts.jsonl) || fail "a resumed training has other losses"
for file in weights.safetensors optimizer.safetensors spm.model manifest.json; do
  cmp "whole/step-00000040/$file" "parts/step-00000040/$file" || fail "a resumed training has another $file"
done
grep -q '"validation_loss"' whole.jsonl || fail "no validation is logged"
[ "$(readlink whole/best)" = step-00000040 ] || fail "the best checkpoint is $(readlink whole/best)"
quietly "${train[@]}" --checkpoint proof --steps 11 --seed 5 --verify-resume
grep -q '^11 steps at once, and 5 and 6 with a checkpoint between them, end alike:$' said.txt || fail "$(cat said.txt)"
[ "$(grep -cE '^[0-9a-f]{32} (weights|optimizer)\.safetensors$' said.txt)" = 2 ] || fail "$(cat said.txt)"
[ -z "$(ls -d proof* 2> /dev/null)" ] || fail "--verify-resume leaves something behind"

# The signals of a closed terminal, a CPU time limit and a closed pipe save a checkpoint first; under nohup the training
# goes on.
for signal in HUP XCPU; do
  "${train[@]}" --checkpoint "by$signal" --log "by$signal.jsonl" --steps 100000 --seed 5 --save-every 0 > said.txt 2>&1 &
  training=$!
  until [ -f "by$signal.jsonl" ] && [ "$(wc -l < "by$signal.jsonl")" -ge 2 ]; do
    kill -0 "$training" 2> /dev/null || break
    sleep 0.02
  done
  kill -s "$signal" "$training" && kill -s "$signal" "$training" 2> /dev/null || true
  wait "$training" || fail "SIG$signal ends a training with an error: $(cat said.txt)"
  grep -q "stopped by a signal after step" said.txt || fail "SIG$signal: $(cat said.txt)"
  ls "by$signal"/step-* > /dev/null || fail "SIG$signal leaves no checkpoint"
done
{ "${train[@]}" --checkpoint unread --steps 100000 --seed 5 --save-every 0 2>&1; echo $? > code.txt; } | head -n 1 > said.txt
[ "$(cat code.txt)" = 0 ] && [ -d unread/step-* ] || fail "a lost reader gives $(cat code.txt), and $(ls unread)"

# A log on a full disk causes one warning.
quietly "${train[@]}" --checkpoint unlogged --log /dev/full --steps 3 --seed 5
[ "$(grep -c "cannot write to the log '/dev/full'" said.txt)" = 1 ] || fail "a log on a full disk: $(cat said.txt)"
[ -d unlogged/step-00000003 ] || fail "a log on a full disk leaves $(ls unlogged)"

# A training that diverges stops. It reports the step and, if asked, the op of the model.
quietly "$bin/heddle-compile" "$models/numbers.toml" --set d_model=32 --set d_ff=64 --set encoder_layers=1 \
  --set decoder_layers=1 --set max_tokens=256 --set max_sequences=16 --set learning_rate=1000 --set warmup=1 \
  --set norm=pre -o wild.heddle
wild=("$bin/heddle-run" train wild.heddle --src data/train.en --tgt data/train.de --steps 60 --seed 5)
"${wild[@]}" --checkpoint wild > said.txt 2>&1 && fail "a diverging training ends well"
grep -q 'the loss is .* at step .*the training has diverged' said.txt || fail "$(cat said.txt)"
quietly "${train[@]}" --checkpoint looked --log looked.jsonl --steps 3 --seed 5 --debug-numerics
diff <(losses whole.jsonl | head -3) <(losses looked.jsonl) || fail "looking for NaN changes a training"

# A resumed training also restores the average of the weights and a scaled loss, whose first scales overflow; skipped
# steps are reported.
quietly "$bin/heddle-compile" "$models/numbers.toml" --set d_model=32 --set d_ff=64 --set encoder_layers=1 \
  --set decoder_layers=1 --set max_tokens=256 --set max_sequences=16 --set dropout=0.1 --set accumulate=true \
  --set clip_norm=0.5 --set ema_decay=0.9 --set loss_scale=1e21 --set loss_scale_interval=3 -o scaled.heddle
scaled=("$bin/heddle-run" train scaled.heddle --src data/train.en --tgt data/train.de --seed 5)
quietly "${scaled[@]}" --checkpoint scaled --log scaled.jsonl --steps 14
grep -Eq 'of all 14 steps, [0-9]+ were skipped: their gradients overflowed' said.txt || fail "$(cat said.txt)"
grep -Eq 'step 14 of 14 .* [0-9]+ skipped ' said.txt || fail "$(cat said.txt)"
grep -Eq '"step":1,.*"loss_scale":5\.0000[0-9]*e\+20,"skipped_steps":1}' scaled.jsonl || fail "$(head -1 scaled.jsonl)"
quietly "${scaled[@]}" --checkpoint proof --steps 11 --verify-resume
quietly "${scaled[@]}" --checkpoint proof --steps 7 --accumulate 2 --verify-resume

# Compressed text gives the same training.
gzip -k data/train.en
zstd -q data/train.de
quietly "$bin/heddle-run" train n.heddle --src data/train.en.gz --tgt data/train.de.zst --valid-src data/valid.en \
  --valid-tgt data/valid.de --checkpoint packed --log packed.jsonl --steps 40 --seed 5 --tensorboard events
diff <(losses whole.jsonl) <(losses packed.jsonl) || fail "compressed text trains otherwise"
head -c 1000 data/train.en.gz > cut.gz
/usr/bin/python3 "$tests/read_events.py" events packed.jsonl || fail "TensorBoard's events are not those of the log"

# A full disk (here a small disk in memory) leaves the previous checkpoint unchanged. A plain user may mount in a user
# namespace, if the machine allows it. Root in a chroot may not create such a namespace, but can mount without one.
mkdir disk
mounting=
for way in "--map-root-user --mount" "--mount --propagation unchanged"; do
  # shellcheck disable=SC2086
  if unshare $way sh -c 'mount -t tmpfs tmpfs disk && umount disk' 2> /dev/null; then
    mounting=$way
    break
  fi
done
if [ -n "$mounting" ]; then
  quietly "${train[@]}" --checkpoint before --steps 6 --seed 5
  # shellcheck disable=SC2086
  unshare $mounting bash -euo pipefail -c '
    mount -t tmpfs -o size=$(($(du -sk before | cut -f1) * 3 / 2))k tmpfs disk
    trap "umount disk" EXIT
    cp -a before disk/full
    got=0
    "$@" --checkpoint disk/full --steps 40 --resume --save-every 3 > said.txt 2>&1 || got=$?
    echo "exit code $got" >> said.txt
    cp -a disk/full full' full-disk "${train[@]}" || fail "the small disk: $(cat said.txt)"
  grep -q "checkpoint of step 9 could not be written: .*No space left.*is whole: .*full/step-00000006" said.txt ||
    fail "a full disk is not said: $(cat said.txt)"
  [ "$(tail -n 1 said.txt)" = "exit code 1" ] || fail "a full disk gives $(cat said.txt)"
  [ "$(ls full)" = "$(printf 'best\nstep-00000006')" ] || fail "a full disk leaves $(ls full)"
  quietly "${train[@]}" --checkpoint full --steps 40 --resume
  cmp full/step-00000040/weights.safetensors whole/step-00000040/weights.safetensors || fail "a full disk is not got over"
else
  echo "not tested: a full disk, as this machine lets nobody mount a small disk"
fi

# A folder that is a link stays a link when the next training starts anew; text may come through pipes.
ln -s elsewhere link
for run in 1 2; do
  quietly "${train[@]}" --checkpoint link/ --steps 2 --seed 5
done
[ -L link ] && [ -d elsewhere/step-00000002 ] && [ -d elsewhere.1/step-00000002 ] || fail "a link: $(ls -d else* link)"
quietly timeout 60 "$bin/heddle-run" train n.heddle --src <(cat data/train.en) --tgt <(gzip < data/train.de) \
  --valid-src <(cat data/valid.en) --valid-tgt <(cat data/valid.de) --validate-bleu --checkpoint piped --log piped.jsonl \
  --steps 3 --seed 5
diff <(losses whole.jsonl | head -n 3) <(losses piped.jsonl) || fail "text from pipes trains otherwise"
"$bin/heddle-run" score n.heddle --checkpoint whole --src <(cat data/test.en) --tgt <(cat data/test.de) > out.txt 2> said.txt ||
  fail "a score of pipes: $(cat said.txt)"

# The mean of checkpoints can translate, but not be resumed.
quietly "${train[@]}" --checkpoint kept --steps 12 --seed 5 --save-every 3 --keep-last 3 --vocab-type unigram
quietly "$bin/heddle-run" average --checkpoint kept --last 3 --output mean
quietly "$bin/heddle-run" average --checkpoint kept --output all
cmp mean/weights.safetensors all/weights.safetensors || fail "the default averages other checkpoints than all three"
got=0
(ulimit -f 16; "$bin/heddle-run" average --checkpoint kept --last 3 --output large) > said.txt 2>&1 || got=$?
[ "$got" = 1 ] && grep -q "File too large" said.txt || fail "a limit on files gives $got: $(cat said.txt)"
[ -z "$(ls -d large* 2> /dev/null)" ] || fail "a limit on files leaves $(ls -d large*)"
head -n 2 data/test.en | "$bin/heddle-run" translate n.heddle --checkpoint mean > out.txt 2> said.txt || fail "$(cat said.txt)"

# Training with gradients accumulated over two batches learns.
quietly "${train[@]}" --checkpoint accumulated --log accumulated.jsonl --steps 20 --accumulate 2 --batch-sequences 8
first=$(losses accumulated.jsonl | head -n 1 | sed 's/.*://')
last=$(losses accumulated.jsonl | tail -n 1 | sed 's/.*://')
awk "BEGIN { exit !($last < $first) }" || fail "the loss went from $first to $last"

# Each input line gives an output line, and the key-value cache does not change it.
{ cat data/test.en; echo; echo "   "; echo "zéro ☃ unknown"; printf 'caf\xe9\n'; printf 'one %.0s' {1..100}; echo; } > in.txt
"$bin/heddle-run" translate n.heddle --checkpoint whole < in.txt > cached.txt 2> said.txt || fail "$(cat said.txt)"
grep -q "line 35 has .* tokens and is cut" said.txt || fail "a line that is too long is not reported: $(cat said.txt)"
grep -q 'line 33 holds "é", "☃", .*which was never seen in training' said.txt || fail "unknown text is not reported: $(cat said.txt)"
grep -q "line 34 is not UTF-8" said.txt || fail "a line that is not UTF-8 is not reported: $(cat said.txt)"
[ "$(wc -l < cached.txt)" = "$(wc -l < in.txt)" ] || fail "not as many lines come out as went in"
[ -z "$(sed -n 31p cached.txt)" ] || fail "an empty line is translated"
"$bin/heddle-run" translate n.heddle --checkpoint whole --no-cache < in.txt > uncached.txt 2> said.txt || fail "$(cat said.txt)"
cmp cached.txt uncached.txt || fail "translations differ with and without the cache"
head -n 1 in.txt | "$bin/heddle-run" translate n.heddle --checkpoint whole 2> said.txt | cmp - <(head -n 1 cached.txt) ||
  fail "a line alone is translated in another way than among others"
"$bin/heddle-run" translate n.heddle --checkpoint whole < /dev/null > out.txt 2> said.txt || fail "no input is an error"
[ ! -s out.txt ] || fail "no input gives output"

"$bin/heddle-run" score n.heddle --checkpoint whole --src data/test.en --tgt data/test.de > score.txt 2> said.txt ||
  fail "$(cat said.txt)"
tail -n 1 score.txt | grep -E '^exact match [0-9]+\.[0-9]% of 30$' > /dev/null || fail "score prints $(cat score.txt)"
grep -qE '^loss [0-9.]+ per token of [0-9]+, perplexity [0-9.]+$' score.txt || fail "score prints $(cat score.txt)"
grep -q '^BLEU is left out: it counts sequences of four words' score.txt || fail "$(cat score.txt)"
grep -qE '^words in place [0-9]+\.[0-9]% of 30$' score.txt || fail "$(cat score.txt)"
grep -q '^chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:[^ ]* = [0-9.]*$' score.txt || fail "$(cat score.txt)"
# Given translations get the same scores as the model's own.
"$bin/heddle-run" translate n.heddle --checkpoint whole < data/test.en > made.txt 2> said.txt || fail "$(cat said.txt)"
diff <("$bin/heddle-run" score --hyp made.txt --tgt data/test.de) <(tail -n 4 score.txt) || fail "--hyp scores otherwise"
# The lines' log-probabilities add up to the loss; lines that cannot be scored have none.
{ cat data/test.en; echo; } > lines.en
{ cat data/test.de; echo eins; } > lines.de
"$bin/heddle-run" score n.heddle --checkpoint whole --src lines.en --tgt lines.de --per-line > lines.txt 2> said.txt ||
  fail "$(cat said.txt)"
[ "$(tail -n 1 lines.txt)" = "$(printf 'nan\t0')" ] || fail "a blank line scores $(tail -n 1 lines.txt)"
head -n 30 lines.txt | awk '{ sum -= $1; tokens += $2 } END { printf "loss %.4f per token of %d\n", sum / tokens, tokens }' |
  diff - <(head -n 1 score.txt | sed 's/,.*//') || fail "--per-line does not add up"

# A user's mistakes are reported in one paragraph, and nothing is lost.
# refuses TEXT COMMAND...
refuses() {
  local text=$1 got=0
  shift
  "$@" > said.txt 2>&1 < /dev/null || got=$?
  [ "$got" = 1 ] || fail "exit code $got instead of 1: $* $(cat said.txt)"
  grep -qF -- "$text" said.txt || fail "'$text' is not said by: $* $(cat said.txt)"
}
head -n 399 data/train.de > short.de
refuses "--log and --profile both name 'same.json'" \
  "${train[@]}" --checkpoint refused --steps 1 --log ./same.json --profile same.json
refuses "has 400 lines and 'short.de' has 399" \
  "$bin/heddle-run" train n.heddle --src data/train.en --tgt short.de --checkpoint other
refuses "cut.gz' is a damaged gzip file: it ends early" \
  "$bin/heddle-run" train n.heddle --src cut.gz --tgt data/train.de --checkpoint other
refuses "is a single checkpoint of a training" "${train[@]}" --checkpoint whole/best --resume
refuses "holds 3 checkpoints" "$bin/heddle-run" average --checkpoint kept --last 4 --output other
refuses "--patience counts validations" "$bin/heddle-run" train n.heddle --src data/train.en --tgt data/train.de \
  --checkpoint other --patience 2
printf x | dd of=kept/step-00000012/weights.safetensors bs=1 seek=999 conv=notrunc status=none
refuses "weights.safetensors' is damaged" "${train[@]}" --checkpoint kept --steps 20 --resume
refuses "seed 6 contradicts" "${train[@]}" --checkpoint whole --resume --seed 6
refuses "holds no checkpoint" "$bin/heddle-run" translate n.heddle --checkpoint data
refuses "there is no folder 'nope'" "$bin/heddle-run" translate n.heddle --checkpoint nope
refuses "is a single checkpoint of a training" "$bin/heddle-run" average --checkpoint whole/best --output other
# Names that the training run itself uses, and places that it would remove, are refused; other names in its folder are
# free.
for name in step-00000099 step-00000099.tmp best.tmp .lock; do
  refuses "is a name that the training run in" "$bin/heddle-run" average --checkpoint whole --last 1 --output "whole/$name"
done
refuses "lies within the checkpoint" "$bin/heddle-run" average --checkpoint whole --last 1 --output whole/best/mean
quietly "$bin/heddle-run" average --checkpoint whole --last 1 --output whole/mean
refuses "exists" "$bin/heddle-run" average --checkpoint whole --last 1 --output whole/mean
refuses "max_sequences=17" "${train[@]}" --checkpoint other --batch-sequences 17
quietly "$bin/heddle-compile" "$models/numbers.toml" --set d_model=16 --set d_ff=64 --set encoder_layers=1 \
  --set decoder_layers=1 --set max_tokens=256 --set learning_rate=0 --set warmup=7 --set clip_norm=1 \
  --set label_smoothing=0.1 --set dropout=0.1 -o other.heddle
refuses "d_model (32, now 16)" "$bin/heddle-run" translate other.heddle --checkpoint whole
refuses "accumulate=true" "$bin/heddle-run" train other.heddle --src data/train.en --tgt data/train.de \
  --checkpoint other --accumulate 2
# The learning rate follows the paper's formula (5.3). Training with smoothing and clipping learns.
quietly "$bin/heddle-run" train other.heddle --src data/train.en --tgt data/train.de --checkpoint other --log other.jsonl \
  --steps 60
/usr/bin/python3 - << 'END' || fail "the learning rate is not the paper's"
import json
records = [json.loads(line) for line in open("other.jsonl")]
for record in records:
    step = record["step"]
    expected = 16**-0.5 * min(step**-0.5, step * 7**-1.5)
    assert abs(record["learning_rate"] / expected - 1) < 1e-5, (step, record["learning_rate"], expected)
assert len(records) == 60 and records[-1]["loss"] < 0.8 * records[0]["loss"], records[-1]
END
# With a rate that is far too high, training ends with an error that names the step and the entry, and leaves no
# checkpoint of that step.
quietly "$bin/heddle-compile" "$models/numbers.toml" --set d_model=16 --set d_ff=64 --set encoder_layers=1 \
  --set decoder_layers=1 --set max_tokens=256 --set learning_rate=1000 --set warmup=1 -o wild.heddle
refuses "in the entry 'train_step'" "$bin/heddle-run" train wild.heddle --src data/train.en --tgt data/train.de \
  --checkpoint wild --steps 50 --save-every 1
quietly "${train[@]}" --checkpoint whole --log whole.jsonl --steps 2
grep -q "held an earlier training, which is now at '.*whole.1'" said.txt || fail "an earlier training is not set aside"
[ -f whole.1/step-00000040/weights.safetensors ] || fail "an earlier training is lost"
# A training that cannot begin leaves the earlier training's folder and log, and its own text, unchanged.
find whole whole.jsonl data -type f -exec cksum {} + | sort > before.txt
again=("$bin/heddle-run" train n.heddle --src data/train.en --tgt data/train.de --checkpoint whole --steps 2)
refuses "cannot write the log 'absent/l'" "${again[@]}" --log absent/l
refuses "cannot write TensorBoard's events" "${again[@]}" --log whole.jsonl --tensorboard n.heddle/events
refuses "leaves no pair to use (0 of 400 pairs; skipped 400 longer than 1 tokens)" "${again[@]}" --log whole.jsonl \
  --batch-tokens 1
refuses "--log 'data/train.en' would replace a file that is read" "${again[@]}" --log data/train.en
refuses "--profile 'data/train.de' would replace a file that is read" "${again[@]}" --profile data/train.de
[ ! -e whole.2 ] || fail "a training that cannot begin sets another one aside"
find whole whole.jsonl data -type f -exec cksum {} + | sort | diff before.txt - ||
  fail "a training that cannot begin changes files"
# A log inside the checkpoints' folder is moved away with it.
mkdir whole/logs
for run in 2 3; do
  quietly "${again[@]}" --log whole/logs/log.jsonl
  [ "$(wc -l < whole/logs/log.jsonl)" = 2 ] && [ -d "whole.$run" ] || fail "a log among the checkpoints: $(ls whole*)"
done
[ "$(wc -l < whole.3/logs/log.jsonl)" = 2 ] || fail "an earlier log is lost"

# A second training in the same folder is refused, and the error names the process of the first. When that dies, the
# folder is free again.
"${train[@]}" --checkpoint shared --log shared.jsonl --steps 100000 --save-every 1 > first.txt 2>&1 &
training=$!
until [ -d shared/best ]; do
  kill -0 "$training" 2> /dev/null || fail "the first training has ended: $(cat first.txt)"
  sleep 0.05
done
for flags in "" --resume; do
  refuses "'shared' is the folder of a training that process $training is at" "${train[@]}" --checkpoint shared $flags
done
refuses "process $training" "${train[@]}" --checkpoint ./shared/
kill -KILL "$training"
wait "$training" 2> /dev/null || true
[ -f shared/.lock ] || fail "the first training had no lock"
quietly "${train[@]}" --checkpoint shared --resume --steps 1
quietly "${train[@]}" --checkpoint shared --steps 2
[ ! -e shared/.lock ] && [ ! -e shared.1/.lock ] || fail "a training that has ended leaves its lock"
refuses "contradicts" "${train[@]}" --checkpoint shared --resume --seed 77
refuses "cannot open" "$bin/heddle-run" train n.heddle --src absent --tgt data/train.de --checkpoint fresh
[ ! -e fresh ] || fail "a training that never began leaves a folder"
echo "all as expected"
