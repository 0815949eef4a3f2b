#!/usr/bin/env bash
# Tests heddle-run render: its lines, errors and exit codes. heddle_run_render_test.sh HEDDLE_RUN INPUTS, where INPUTS
# has chat templates.
set -euo pipefail
run=$1
inputs=$2
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

# prints EXPECTED COMMAND...
prints() {
  local expected=$1
  shift
  "$@" > out.txt 2> said.txt < in.txt || fail "exit code $?: $* $(cat said.txt)"
  [ "$(cat out.txt)" = "$expected" ] || fail "$* prints $(cat out.txt) instead of $expected"
}

# refuses CODE WORDS COMMAND...
refuses() {
  local wanted=$1 words=$2 code=0
  shift 2
  "$@" > said.txt 2>&1 < in.txt || code=$?
  [ "$code" = "$wanted" ] || fail "exit code $code instead of $wanted: $* $(cat said.txt)"
  grep -qF -- "$words" said.txt || fail "'$words' is not said by: $* $(cat said.txt)"
}

# One line of JSON per conversation; variables override the model's special tokens.
cat > in.txt << 'END'
{"messages": [{"role": "user", "content": "Grüß \"Gott\"\n"}], "add_generation_prompt": true, "variables": {"bos_token": "<s>"}}
{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "variables": {"eos_token": "[E]"}}
END
mkdir model
cp "$inputs/marked.jinja" model/chat_template.jinja
echo '{"bos_token": {"content": "<B>"}, "eos_token": "<E>"}' > model/tokenizer_config.json
prints '"<s><|user|>\nGrüß \"Gott\"\n<|assistant|>\n"
"<B><|user|>\na\n<|assistant|>\nb[E]\n"' "$run" render model
prints '"<s><|user|>\nGrüß \"Gott\"\n<|assistant|>\n"
"<|user|>\na\n<|assistant|>\nb[E]\n"' "$run" render model/chat_template.jinja

# A conversation that the template refuses gets an answer like any other.
printf '{{ messages[0].content }}\n{%% if messages | length > 1 %%}{{ raise_exception("one message only") }}{%% endif %%}{{ messages[0].x.y }}' > strict.jinja
prints '{"error":"UndefinedError: '"'dict object' has no attribute 'x'"'","line":2}
{"error":"TemplateError: one message only","line":2}' "$run" render strict.jinja

echo '{"messages": []}' > in.txt
echo '{{ strftime_now("%d %B %Y, %H:%M:%S") }}' > clock.jinja
prints '"02 January 2026, 03:04:05"' "$run" render clock.jinja --now=2026-01-02T03:04:05
"$run" render clock.jinja < in.txt | grep -q "$(date +%Y)" || fail "the clock's year is not printed"

refuses 2 "'yesterday' is no time such as 2026-01-02T03:04:05" "$run" render clock.jinja --now=yesterday
refuses 2 "model is required" "$run" render
refuses 1 "'$PWD' has no chat template" "$run" render "$PWD"
refuses 1 "nope" "$run" render nope.jinja
echo '{% if %}' > broken.jinja
refuses 1 "heddle-run render: the chat template of 'broken.jinja' cannot be read: '%}' stands where an expression is expected (line 1 of the template)" \
  "$run" render broken.jinja
printf '\n' > in.txt
refuses 1 "line 1 of the standard input is not usable JSON" "$run" render clock.jinja
echo '{"messages": [], "variables": 5}' > in.txt
refuses 1 "line 1 of the standard input: 'variables' is an object." "$run" render clock.jinja
echo '[]' > in.txt
refuses 1 "a conversation is an object with the key 'messages'" "$run" render clock.jinja
: > in.txt
prints '' "$run" render clock.jinja
