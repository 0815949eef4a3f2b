#!/usr/bin/env bash
# Translates in every way, with a very small model: heddle_run_translate_test.sh BIN MODELS
set -euo pipefail
bin=$1
models=$2
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

quietly "$bin/heddle-data" numbers --out data --train 400 --valid 20 --test 60 --maximum 9999
quietly "$bin/heddle-compile" "$models/numbers.toml" --set d_model=32 --set d_ff=64 --set encoder_layers=1 \
  --set decoder_layers=1 --set max_tokens=512 --set max_sequences=20 --set logits_entry=true -o n.heddle
quietly "$bin/heddle-run" train n.heddle --src data/train.en --tgt data/train.de --checkpoint c --steps 80 --seed 5
# translate OUTPUT FLAG...: translates the lines of in.txt
translate() {
  local out=$1
  shift
  "$bin/heddle-run" translate n.heddle --checkpoint c "$@" < in.txt > "$out" 2> said.txt || fail "$* $(cat said.txt)"
}
{ cat data/test.en; echo; echo "   "; printf 'caf\xe9\n'; printf 'one %.0s' {1..100}; echo; } > in.txt
lines=$(wc -l < in.txt)

# A file of weights works with the vocabulary beside it, or with the artifact's.
translate greedy.txt
weights=$(ls -d c/step-*)/weights.safetensors
"$bin/heddle-run" translate n.heddle --checkpoint "$weights" < in.txt 2> said.txt | cmp - greedy.txt || fail "a file of weights: $(cat said.txt)"
grep -q "does not say which model" said.txt || fail "a file of weights is not told: $(cat said.txt)"
mkdir alone && cp "$weights" alone
! "$bin/heddle-run" translate n.heddle --checkpoint alone/weights.safetensors < in.txt > out.txt 2> said.txt || fail "no vocabulary, and no error"
grep -q "beside no vocabulary" said.txt || fail "no vocabulary: $(cat said.txt)"
quietly "$bin/heddle-compile" "$models/numbers.toml" --set d_model=32 --set d_ff=64 --set encoder_layers=1 --set decoder_layers=1 \
  --set max_tokens=512 --set max_sequences=20 --entries=inference --vocabulary="$(dirname "$weights")/spm.model" -o own.heddle
"$bin/heddle-run" translate own.heddle --checkpoint alone/weights.safetensors < in.txt 2> said.txt | cmp - greedy.txt ||
  fail "a file of weights, and the artifact's vocabulary: $(cat said.txt)"

# Neither the cache nor neighbouring lines change a translation.
translate greedy.txt
translate beam.txt --beam 4
translate plain.txt --beam 4 --no-cache
cmp beam.txt plain.txt || fail "translations by beam search differ with and without the cache"
[ "$(wc -l < beam.txt)" = "$lines" ] || fail "not as many lines come out as went in"
[ -z "$(sed -n 61p beam.txt)$(sed -n 62p beam.txt)" ] || fail "an empty line is translated"
head -n 1 data/test.en > one.txt
"$bin/heddle-run" translate n.heddle --checkpoint c --beam 4 < one.txt 2> said.txt | cmp - <(head -n 1 beam.txt) ||
  fail "a line alone is translated in another way than among others"

# Scores are as many as requested, in falling order, and never below the greedy score if both translations are complete.
translate nbest.txt --beam 4 --n-best 3
translate scores.txt --n-best 1
[ "$(cut -f 1 nbest.txt | uniq | wc -l)" = "$lines" ] || fail "n-best does not name every line"
diff <(awk -F '\t' '$1 != last { print $3; last = $1 }' nbest.txt) beam.txt || fail "the first of n-best is not the best"
diff <(cut -f 3 scores.txt) greedy.txt || fail "n-best of 1 is not the greedy translation"
awk -F '\t' '$1 == last && $2 > score { exit 1 } { last = $1; score = $2 }' nbest.txt || fail "scores rise within a line"
awk -F '\t' 'NR == FNR { greedy[$1] = $2; next } $1 <= 60 && $1 != last { if ($2 < greedy[$1] - 1e-5) exit 1; last = $1 }' \
  scores.txt nbest.txt || fail "a beam scores below greedy"
[ "$(awk -F '\t' '$1 == 1' nbest.txt | wc -l)" = 3 ] || fail "a line has not three translations"
# Without a penalty scores are log-probabilities, which ranks longer lines differently.
translate sums.txt --beam 4 --n-best 1 --length-penalty 0
! cmp -s <(cut -f 2 sums.txt) <(awk -F '\t' '$1 != last { print $2; last = $1 }' nbest.txt) || fail "the penalty changes nothing"

# Samples depend on the seed, not on neighbouring lines; sampling only the most probable token is greedy.
translate sampled.txt --sample --temperature 1.5 --seed 3
translate again.txt --sample --temperature 1.5 --seed 3
translate other.txt --sample --temperature 1.5 --seed 4
cmp sampled.txt again.txt || fail "the same seed draws other samples"
! cmp -s sampled.txt other.txt || fail "another seed draws the same samples"
"$bin/heddle-run" translate n.heddle --checkpoint c --sample --temperature 1.5 --seed 3 < one.txt 2> said.txt |
  cmp - <(head -n 1 sampled.txt) || fail "a sample depends on the lines beside it"
translate topk.txt --sample --top-k 1
cmp topk.txt greedy.txt || fail "the most probable token alone is not greedy"
translate cold.txt --sample --temperature 0
cmp cold.txt greedy.txt || fail "a temperature of 0 is not greedy"
translate minp.txt --sample --min-p 1
cmp minp.txt greedy.txt || fail "the tokens that are as probable as the most probable one are not greedy"

# Prefixes come from a file or a column.
LC_ALL=C sed "s/.*/zwei/" in.txt > prefix.txt
for beam in 1 3; do
  translate prefixed.txt --beam "$beam" --prefix prefix.txt
  [ "$(head -n 60 prefixed.txt | grep -c '^zwei')" = 60 ] || fail "not every translation begins with its prefix"
  paste in.txt prefix.txt > columns.txt
  "$bin/heddle-run" translate n.heddle --checkpoint c --beam "$beam" --prefix-column < columns.txt 2> said.txt |
    cmp - prefixed.txt || fail "a prefix in a column is another one than in a file"
done

# With several devices (here the same one twice), lines are shared out, and answers, their order and warnings stay the
# same.
warnings() { grep -v 'device\|checkpoint' said.txt | sort; }
translate greedy.txt
warnings > warnings.txt
[ "$(wc -l < warnings.txt)" -ge 2 ] || fail "no warnings to compare: $(cat said.txt)"
device=$(sed -n 's/.*device \([a-z]*:[0-9]*\):.*/\1/p' said.txt)
two=--devices=$device,$device
translate two.txt "$two"
[ "$(grep -c "device $device:" said.txt)" = 2 ] || fail "$two does not name two devices: $(cat said.txt)"
cmp two.txt greedy.txt || fail "several devices translate in another way"
diff <(warnings) warnings.txt || fail "several devices name other lines in warnings"
# Lines end in calls with other lines. Kernels for few rows add in another order than those for many, so the scores' last digits differ.
translate two.txt "$two" --beam 4 --n-best 3
cmp <(cut -f 1,3 two.txt) <(cut -f 1,3 nbest.txt) || fail "several devices give other n-best translations"
paste <(cut -f 2 two.txt) <(cut -f 2 nbest.txt) | awk '{ d = $1 - $2; if (d > 1e-5 || d < -1e-5) exit 1 }' || fail "several devices give other scores"
translate two.txt "$two" --sample --temperature 1.5 --seed 3
cmp two.txt sampled.txt || fail "samples depend on the number of devices"
translate two.txt "$two" --beam 3 --prefix prefix.txt
cmp two.txt prefixed.txt || fail "several devices mix up the prefixes"
translate all.txt --devices=all
cmp all.txt greedy.txt || fail "all devices translate in another way"

# Through a pipe, a line is answered while the input stays open, and it is no error if the reader leaves.
for flags in "" "$two"; do
  # shellcheck disable=SC2086
  coproc PIPE { "$bin/heddle-run" translate n.heddle --checkpoint c $flags 2> said.txt; }
  pid=$PIPE_PID
  for line in 1 2; do
    sed -n "${line}p" in.txt >&"${PIPE[1]}"
    read -r -t 60 answer <&"${PIPE[0]}" || fail "no answer to line $line in a pipe: $(cat said.txt)"
    [ "$answer" = "$(sed -n "${line}p" greedy.txt)" ] || fail "another answer in a pipe: $answer"
  done
  eval "exec ${PIPE[1]}>&-"
  wait "$pid" || fail "a pipe that ends is an error"
  # shellcheck disable=SC2086
  yes "two" | "$bin/heddle-run" translate n.heddle --checkpoint c $flags 2> said.txt | head -n 3 > three.txt || true
  [ "$(wc -l < three.txt)" = 3 ] || fail "not three lines"
  [ "$(grep -cv 'device\|checkpoint\|target' said.txt)" = 0 ] || fail "a reader that leaves is an error: $(cat said.txt)"
done

# A model whose sources have no end mark differs from the checkpoint's, which was trained with the mark, but is used the
# same way.
quietly "$bin/heddle-compile" "$models/numbers.toml" --set d_model=32 --set d_ff=64 --set encoder_layers=1 \
  --set decoder_layers=1 --set max_tokens=512 --set max_sequences=20 --set logits_entry=true --set source_end=false -o open.heddle
! "$bin/heddle-run" translate open.heddle --checkpoint c < one.txt > out.txt 2> said.txt || fail "a checkpoint with end marks is taken"
grep -qF "marks.source_end (true, now false)" said.txt || fail "the end mark is not named: $(cat said.txt)"
head -n 8 in.txt > few.txt
"$bin/heddle-run" translate open.heddle --checkpoint c --force < few.txt > open.txt 2> said.txt || fail "$(cat said.txt)"
"$bin/heddle-run" translate open.heddle --checkpoint c --force --no-cache < few.txt 2> said.txt | cmp - open.txt ||
  fail "without an end mark translations differ with and without the cache"
! cmp -s open.txt <(head -n 8 greedy.txt) || fail "the end mark changes nothing"
{ echo; head -n 2 data/test.en; } > open.src
{ echo eins; head -n 2 data/test.de; } > open.tgt
"$bin/heddle-run" score open.heddle --checkpoint c --force --src open.src --tgt open.tgt --per-line > open.lines 2> said.txt ||
  fail "$(cat said.txt)"
"$bin/heddle-run" score n.heddle --checkpoint c --src open.src --tgt open.tgt --per-line > ended.lines 2> said.txt || fail "$(cat said.txt)"
[ "$(head -n 1 open.lines)" = "nan	0" ] || fail "a blank line without an end mark has a score: $(head -n 1 open.lines)"
[ "$(paste open.lines ended.lines | awk '$2 == $4 && $1 != $3' | wc -l)" = 2 ] || fail "the end mark changes no score"

# refuses CODE TEXT FLAG...
refuses() {
  local code=$1 text=$2 got=0
  shift 2
  "$bin/heddle-run" translate n.heddle --checkpoint c "$@" < in.txt > out.txt 2> said.txt || got=$?
  [ "$got" = "$code" ] || fail "exit code $got instead of $code: $* $(cat said.txt)"
  grep -qF -- "$text" said.txt || fail "'$text' is not said by: $* $(cat said.txt)"
}
refuses 1 "--set beam=5" --beam 5
refuses 2 "widen --beam" --beam 2 --n-best 3
refuses 2 "--sample" --sample --beam 2
refuses 2 "--sample" --temperature 2
refuses 2 "0 or a number from 0.001 to 1000" --sample --temperature -1
refuses 2 "'top_k' is no sampler" --sample --samplers=top_k
refuses 1 "leaves it out" --sample --top-k 3 --samplers=temperature,top-p
refuses 2 "--top-p" --sample --top-p 1.5
refuses 2 "--prefix" --prefix prefix.txt --prefix-column
refuses 1 "cannot open 'absent'" --prefix absent
refuses 2 "--device excludes --devices" "$two" --device "$device"
refuses 2 "--profile excludes --devices" "$two" --profile trace.json
refuses 2 "names no device" --devices="$device,"
refuses 2 "'all' stands alone" --devices="all,$device"
refuses 1 "there is no device 'vulkan:99'" --devices="$device,vulkan:99"
head -n 5 prefix.txt > short.txt
refuses 1 "has 5 lines" --prefix short.txt
refuses 1 "has 5 lines" "$two" --prefix short.txt
if [ -e /dev/full ]; then
  got=0
  "$bin/heddle-run" translate n.heddle --checkpoint c < in.txt > /dev/full 2> said.txt || got=$?
  [ "$got" = 1 ] || fail "exit code $got for a full disk"
  grep -q "cannot write the answers" said.txt || fail "a full disk is not reported: $(cat said.txt)"
fi
echo "all as expected"
