#!/usr/bin/env bash
# Opens the page of `heddle-compile --report=FILE.html` in Chromium; without Chromium the test is skipped.
# report-page.test checks the page's data: heddle_compile_report_test.sh BIN MODELS
set -euo pipefail
bin=$1
models=$2
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"
most=5000000 # bytes of the page of a model with six entries

quietly "$bin/heddle-compile" "$models/transformer-base.toml" -o base.heddle --report=base.html
[ "$(stat -c %s base.html)" -lt $most ] || fail "the page has $(stat -c %s base.html) bytes"
! grep -q 'https\?://[^w]' base.html || fail "the page names something on the network"
cat > hostile.mlir << 'END'
heddle.size @n max 64
#n = #heddle.dims<"n">
func.func @"<img src=x onerror=alert(1)>"(%x: tensor<?x16xf32, #n> {heddle.name = "</script><b>"}, %w: tensor<16x8xf32> {heddle.name = "w"})
    -> (tensor<?x8xf32, #n> {heddle.name = "y"}) {
  %y = heddle.matmul %x, %w : tensor<?x16xf32, #n>, tensor<16x8xf32> -> tensor<?x8xf32, #n>
  return %y : tensor<?x8xf32, #n>
}
END
quietly "$bin/heddle-compile" hostile.mlir -o hostile.heddle --report=hostile.html --target=vulkan:software,vulkan:nvidia

. "$tests/browser.sh"
# look N PAGE ADDRESS: like `view`, but without the contents of scripts in dom.html
look() {
  view "$@"
  sed -i '/^<script type="application/,$d' dom.html
}
# atLeast N WORDS: fails unless WORDS occurs at least N times in the page
atLeast() { [ "$(grep -o -- "$2" dom.html | wc -l)" -ge "$1" ] || fail "not $1 times $2 in the page"; }

look 6 base.html "" # entries
atLeast 6 '<tr class="opens">'
has 1 '<td class="text">train_step</td>'
has 0 'NaN\|undefined'

look 6 base.html "#phases/0/train_step/differentiate/fuse"
has 2 '<option value="fuse-attention"'
atLeast 40 'data-line="'                   # the model's text
atLeast 3000 '<div data-place="'           # both panes
atLeast 50 'heddle.attention'
atLeast 100 '<span class="op">heddle.kernel<'
look 6 base.html "#phases/0/(declarations)/import/plan"
atLeast 2 'heddle.size</span> @source_tokens'

look 6 base.html "#kernels/0/train_step"
atLeast 40 '<tr class="opens">'
atLeast 5 '>compute</td>'
atLeast 5 '>memory</td>'
has 1 'aria-sort="descending"'
has 0 'NaN\|undefined'

look 6 base.html "#arena/0/train_step"
has 1 '<svg .*id="arena"'
atLeast 500 '<rect '
has 1 'class="peakText"[^>]*>peak 8[0-9.]* MiB<'
has 0 'NaN\|undefined'
look 6 base.html "#arena/0/init" # which has no arena
has 0 '<rect '

look 6 base.html "#fusion/0/train_step"
atLeast 15 '>fused</td>'
atLeast 15 '>not fused</td>'
for pass in attention projections cross-entropy updates kernels; do
  atLeast 1 "<td class=\"text\">fuse-$pass</td>"
done
has 0 'undefined'

# A click on an op highlights its part of the model in both panes; a click on a kernel shows its IR.
click='start().then(async () => {
  [...document.querySelectorAll("#left .known")].find(line => line.textContent.includes("heddle.attention "))?.click();
  document.querySelector("#kernels tr.opens")?.click();
  await new Promise(resolve => setTimeout(resolve, 300));
  document.body.dataset.lit = ["left", "right", "source"].map(id => document.querySelectorAll(`#${id} .lit`).length > 0).join();
});'
awk -v "click=$click" '$0 == "start();" { $0 = click } { print }' base.html > clicked.html
look 6 clicked.html "#phases/0/train_step/differentiate/fuse"
has 1 'data-lit="true,true,true"'
look 6 clicked.html "#kernels/0/train_step"
has 1 'aria-pressed="true">after tile<'
has 1 '<pre>tile.func @'

# Names are shown as text, whatever they contain, and each target has its own kernels.
for tab in overview phases kernels arena fusion; do
  look 2 hostile.html "#$tab/1"
  has 0 '<img\|<b>'
  has 1 'aria-pressed="true">vulkan:nvidia<'
done
