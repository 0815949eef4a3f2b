# For tests of pages, which source it: opens them in Chromium without a window. Without a Chromium the test counts as
# skipped. Pages say in <body data-drawn="N"> how many things they drew; `fail` and $dir are the test's.
browser=$(command -v chromium || command -v chromium-headless-shell || command -v chromium-browser ||
  command -v google-chrome || true)
if [ -z "$browser" ]; then
  echo "the page is not opened: install Chromium (tools/setup.sh does)"
  exit 77
fi
# view N PAGE ADDRESS: leaves the page's elements, once its script has run and drawn N things, in dom.html
view() {
  timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$dir/profile" --enable-logging=stderr \
    --virtual-time-budget=2000 --dump-dom "file://$dir/$2$3" > dom.html 2> browser.txt || fail "$browser: $(cat browser.txt)"
  ! grep ':CONSOLE' browser.txt || fail "the page's script has an error"
  grep -q "data-drawn=\"$1\"" dom.html || fail "$2$3 draws $(grep -o 'data-drawn="[0-9]*"' dom.html), not $1"
}
# has N WORDS: they stand N times in the page
has() { [ "$(grep -o -- "$2" dom.html | wc -l)" = "$1" ] || fail "not $1 times $2 in the page"; }
