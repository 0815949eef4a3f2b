#!/usr/bin/env bash
# Tests `heddle-run report`: pages for the logs of two training runs and their scores, in a browser; errors for bad
# input.
# heddle_run_report_test.sh BIN MODELS
set -euo pipefail
bin=$1
models=$2
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

# refuses CODE WORDS ARGUMENT...: fails unless report exits with CODE, prints WORDS and writes nothing
refuses() {
  local wanted=$1 words=$2 code=0
  shift 2
  "$bin/heddle-run" report "$@" > said.txt 2>&1 || code=$?
  [ "$code" = "$wanted" ] || fail "report $* ends with $code: $(cat said.txt)"
  grep -q -- "$words" said.txt || fail "report $* says: $(cat said.txt)"
  [ ! -e refused.html ] || fail "report $* leaves a page"
}

quietly "$bin/heddle-data" numbers --out data --train 400 --valid 8 --test 8 --maximum 9999
quietly "$bin/heddle-compile" "$models/numbers.toml" --set d_model=32 --set d_ff=64 --set max_tokens=256 \
  --set max_sequences=10 --set max_length=40 -o n.heddle
for seed in 1 2; do
  quietly "$bin/heddle-run" train n.heddle --src data/train.en --tgt data/train.de --valid-src data/valid.en \
    --valid-tgt data/valid.de --validate-every 10 --validate-bleu --checkpoint "c$seed" --steps 30 --seed $seed \
    --log "run $seed.jsonl"
  grep -q ', BLEU [0-9.]*' said.txt || fail "training says no BLEU: $(cat said.txt)"
done
[ "$(grep -c '"validation_bleu":' 'run 1.jsonl')" = 3 ] || fail "not three validations with BLEU are logged"
quietly "$bin/heddle-run" score n.heddle --checkpoint c1 --src data/test.en --tgt data/test.de --log "run 1.jsonl"
tail -n 1 "run 1.jsonl" | grep '"step":30,.*"bleu":' > /dev/null || fail "a score says no step: $(tail -n 1 'run 1.jsonl')"

refuses 1 "absent.jsonl" absent.jsonl --html refused.html
refuses 1 "no record of a training" data/train.en --html refused.html
refuses 1 "none/p.html" "run 1.jsonl" --html none/p.html
refuses 2 "--html" "run 1.jsonl"
cp "run 1.jsonl" kept.jsonl
refuses 1 "--html 'run 1.jsonl' would replace a file that is read" "run 2.jsonl" "run 1.jsonl" --html "run 1.jsonl"
cmp "run 1.jsonl" kept.jsonl || fail "a page replaces its log"
refuses 2 "log" --html refused.html
quietly "$bin/heddle-run" report "run 1.jsonl" --html one.html
quietly "$bin/heddle-run" report "run 1.jsonl" "run 2.jsonl" --html two.html

. "$tests/browser.sh"
view 4 one.html "" # loss, BLEU, learning rate, tokens per second
has 1 '<figure data-chart="BLEU">'
has 1 'data-curve="loss"'
has 1 'data-curve="validation_loss"'
has 1 'data-curve="validation_bleu"'
has 1 'data-curve="bleu"'
has 0 'NaN'
has 1 '>run 1.jsonl</button>'
view 4 two.html "#seconds/logarithmic"
has 2 'data-curve="validation_loss"'
has 2 'data-curve="validation_bleu"'
has 1 'data-curve="bleu"'
has 0 'NaN'
has 1 'aria-pressed="true">time of the steps<'
has 1 'aria-pressed="true">logarithmic<'
