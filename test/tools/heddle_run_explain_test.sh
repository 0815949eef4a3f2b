#!/usr/bin/env bash
# Tests the error messages of `heddle-run explain`, and its page in Chromium; without Chromium the test is skipped.
# explain.py tests the weights: heddle_run_explain_test.sh BIN MODELS
set -euo pipefail
bin=$1
models=$2
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

# refuses WORDS FLAG...: fails unless explain prints WORDS and writes nothing
refuses() {
  local words=$1 artifact=$2 code=0
  shift 2
  "$bin/heddle-run" explain "$artifact" --checkpoint c --html refused.html "$@" > said.txt 2>&1 || code=$?
  [ "$code" = 1 ] || fail "explain $* ends with $code: $(cat said.txt)"
  grep -q -- "$words" said.txt || fail "explain $* says: $(cat said.txt)"
  [ ! -e refused.html ] || fail "explain $* leaves a page"
}

small=(--set d_model=32 --set d_ff=64 --set encoder_layers=2 --set decoder_layers=2 --set max_tokens=256
  --set max_sequences=10 --set max_length=40)
quietly "$bin/heddle-data" numbers --out data --train 400 --valid 1 --test 1 --maximum 9999
quietly "$bin/heddle-compile" "$models/numbers.toml" "${small[@]}" -o plain.heddle
quietly "$bin/heddle-compile" "$models/numbers.toml" "${small[@]}" --set explain_entry=true -o n.heddle
quietly "$bin/heddle-run" train plain.heddle --src data/train.en --tgt data/train.de --checkpoint c --steps 20 --seed 5

# A checkpoint of an artifact without the entry works with an artifact that has it.
refuses "--set explain_entry=true" plain.heddle --src "four hundred"
refuses "is blank" n.heddle --src " "
refuses "is blank" n.heddle --src "four" --tgt ""
refuses "not UTF-8" n.heddle --src $'caf\xe9'
refuses "--src has .* 39 beside" n.heddle --src "$(printf 'one %.0s' {1..60})"
refuses "--tgt has .* 39 beside" n.heddle --src "four" --tgt "$(printf 'eins %.0s' {1..60})"
quietly "$bin/heddle-run" explain n.heddle --checkpoint c --src "nine thousand and twelve" --html own.html
quietly "$bin/heddle-run" explain n.heddle --checkpoint c --src "<b>four</b> & </script>\"" --tgt "vier <i>" --html p.html
# Without an end mark the source may be a token longer, and the page shows only the source's tokens.
quietly "$bin/heddle-compile" "$models/numbers.toml" "${small[@]}" --set explain_entry=true --set source_end=false -o open.heddle
refuses "--src has .* for 40 (max_length" open.heddle --force --src "$(printf 'one %.0s' {1..60})"
quietly "$bin/heddle-run" explain open.heddle --checkpoint c --force --src "nine thousand and twelve" --html open.html
grep -o '"source":\[[^]]*\]' own.html > own.tokens
grep -o '"source":\[[^]]*\]' open.html > open.tokens
[ "$(cat own.tokens)" = "$(sed 's|\]$|,"\\u003c/s>"]|' open.tokens)" ] || fail "the page shows $(cat open.tokens), not $(cat own.tokens)"

. "$tests/browser.sh"
view 4 own.html ""
has 4 '<canvas '
has 1 'aria-pressed="true">encoder self<'
view 4 own.html "#decoder.cross/1/lines"
has 0 '<canvas '
has 4 '<svg '
has 1 'aria-pressed="true">decoder to source<'
has 1 'aria-pressed="true">2<'
grep -q '<line ' dom.html || fail "no line is drawn"
view 4 p.html "#decoder.self/7/lines"
has 1 'aria-pressed="true">2<' # the last layer
has 1 '<h1 id="source">&lt;b&gt;four&lt;/b&gt; &amp; &lt;/script&gt;"</h1>'
has 0 '<b>'
has 0 '<i>'
