# Sourced by tests of pages: opens pages in Chromium without a window. Without Chromium the test is skipped. A page
# states in <body data-drawn="N"> how many things it drew. The test defines `fail` and $dir.
browser=$(command -v chromium || command -v chromium-headless-shell || command -v chromium-browser ||
  command -v google-chrome || true)
if [ -z "$browser" ]; then
  echo "the page is not opened: install Chromium (tools/setup.sh does)"
  exit 77
fi
# view N PAGE ADDRESS: writes the page's elements to dom.html, once its script has run and drawn N things
view() {
  timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$dir/profile" --enable-logging=stderr \
    --virtual-time-budget=2000 --dump-dom "file://$dir/$2$3" > dom.html 2> browser.txt || fail "$browser: $(cat browser.txt)"
  ! grep ':CONSOLE' browser.txt || fail "the page's script has an error"
  grep -q "data-drawn=\"$1\"" dom.html || fail "$2$3 draws $(grep -o 'data-drawn="[0-9]*"' dom.html), not $1"
}
# has N WORDS: fails unless WORDS occurs N times in the page
has() { [ "$(grep -o -- "$2" dom.html | wc -l)" = "$1" ] || fail "not $1 times $2 in the page"; }
