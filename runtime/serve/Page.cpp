#include "runtime/serve/Page.h"

#include <nlohmann/json.hpp>

namespace heddle::serve {
namespace {

constexpr const char *kHead = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Heddle</title>
<link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark; --edge: color-mix(in srgb, currentColor 22%, transparent); --soft: color-mix(in srgb, currentColor 7%, transparent); }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; height: 100dvh; display: flex; flex-direction: column; }
header, footer { padding: .6rem 1rem; border: 0 solid var(--edge); }
header { border-bottom-width: 1px; display: flex; gap: .8rem; align-items: baseline; flex-wrap: wrap; }
header h1 { font-size: 1.05rem; margin: 0; overflow-wrap: anywhere; }
header details { margin-left: auto; }
header details[open] { flex-basis: 100%; }
footer { border-top-width: 1px; }
main { flex: 1; overflow-y: auto; padding: 1rem; }
main > *, footer > form, header { width: 100%; max-width: 52rem; margin-inline: auto; }
.turn { margin-block: 0 .9rem; padding: .55rem .8rem; border-radius: .6rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.user { background: var(--soft); }
.thought { opacity: .65; font-style: italic; border-left: 3px solid var(--edge); padding-left: .6rem; margin-bottom: .5rem; white-space: pre-wrap; }
.error { border: 1px solid #c33; color: light-dark(#a11, #f99); }
.note { opacity: .65; font-size: .85rem; }
form { display: flex; gap: .5rem; align-items: end; }
textarea, input, select, button { font: inherit; color: inherit; border: 1px solid var(--edge); border-radius: .5rem; padding: .5rem .6rem; background: transparent; }
textarea { flex: 1; min-width: 0; resize: vertical; min-height: 2.75rem; max-height: 40dvh; }
button { cursor: pointer; min-height: 2.75rem; background: var(--soft); }
button:focus-visible, textarea:focus-visible, input:focus-visible, select:focus-visible, summary:focus-visible { outline: 2px solid #48f; outline-offset: 1px; }
.settings { display: flex; flex-wrap: wrap; gap: .6rem; padding-top: .6rem; }
.settings label { display: flex; flex-direction: column; font-size: .85rem; flex: 1 1 8rem; }
.settings label.wide { flex-basis: 100%; }
.map { overflow-x: auto; font-size: .85rem; } .map td { padding: .1rem .4rem; white-space: nowrap; overflow-wrap: normal; }
table { border-collapse: collapse; } td { padding: .15rem .8rem .15rem 0; vertical-align: top; overflow-wrap: anywhere; }
td.number { white-space: nowrap; overflow-wrap: normal; font-variant-numeric: tabular-nums; }
</style>
</head>
<body>
<header>
<h1 id="title"></h1>
<span class="note" id="what"></span>
<details><summary>Settings</summary><div class="settings" id="settings"></div></details>
</header>
<main id="log" aria-live="polite" tabindex="0"></main>
<footer><form id="form">
<textarea id="text" rows="1" aria-label="Text" autofocus></textarea>
<button id="send">Send</button>
<button id="stop" type="button" hidden>Stop</button>
</form></footer>
<script type="application/json" id="model">)html";

constexpr const char *kTail = R"html(</script>
<script>
'use strict';
const model = JSON.parse(document.getElementById('model').textContent);
const by = id => document.getElementById(id);
const log = by('log'), text = by('text'), send = by('send'), stop = by('stop');
const purposes = {
  chat: 'Ask, and the model answers. Enter sends, Shift and Enter begin a line.',
  text: 'Begin a text, and the model goes on with it. Enter sends, Shift and Enter begin a line.',
  translate: 'Each line is translated. Enter sends, Shift and Enter begin a line.',
  predict: 'Each line gets a label. Enter sends, Shift and Enter begin a line.',
  embed: 'The other lines are ordered by their likeness to the first one. Enter sends, Shift and Enter begin a line.'
};
document.title = model.name;
by('title').textContent = model.name;
by('what').textContent = purposes[model.kind];

const fields = {};
function setting(name, label, value, options) {
  const input = document.createElement(options.tag || 'input');
  for (const [key, each] of Object.entries(options)) if (key !== 'tag' && key !== 'wide') input.setAttribute(key, each);
  input.value = value;
  const box = document.createElement('label');
  box.append(label, input);
  if (options.wide) box.className = 'wide';
  by('settings').append(box);
  fields[name] = input;
}
if (model.kind === 'chat' || model.kind === 'text') {
  setting('temperature', 'Temperature (0: the most probable)', model.kind === 'chat' ? 0.7 : 0, {type: 'number', min: 0, max: 2, step: 0.1});
  setting('tokens', 'Longest answer in tokens', model.kind === 'chat' ? 512 : 100, {type: 'number', min: 1});
}
if (model.kind === 'chat') setting('system', 'Instructions for the whole conversation', '', {tag: 'textarea', rows: 2, wide: 1});
if (model.kind === 'translate') setting('beam', 'Beam', 1, {type: 'number', min: 1});
if (model.needsKey) setting('key', 'Key of this server', '', {type: 'password', autocomplete: 'off', wide: 1});
if (model.needsKey) document.querySelector('details').open = true;

let messages = [], running = null;

function add(kind, content) {
  const turn = document.createElement('div');
  turn.className = 'turn ' + kind;
  if (content !== undefined) turn.textContent = content;
  log.append(turn);
  turn.scrollIntoView({block: 'end'});
  return turn;
}

async function post(path, body) {
  const headers = {'Content-Type': 'application/json'};
  if (fields.key && fields.key.value) headers.Authorization = 'Bearer ' + fields.key.value;
  const answer = await fetch(path, {method: 'POST', headers, body: JSON.stringify(body), signal: running.signal});
  if (answer.ok) return answer;
  let reason = 'The server answered ' + answer.status + '.';
  try { reason = (await answer.json()).error.message; } catch {}
  throw new Error(reason);
}

async function events(answer, each) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let held = ''; ;) {
    const {value, done} = await reader.read();
    if (done) return;
    held += value;
    for (let end; (end = held.indexOf('\n\n')) >= 0; held = held.slice(end + 2)) {
      const data = held.slice(0, end).replace(/^data: /, '');
      if (data === '[DONE]') return;
      const event = JSON.parse(data);
      if (event.error) throw new Error(event.error.message);
      each(event);
    }
  }
}

function atEnd() { return log.scrollHeight - log.scrollTop - log.clientHeight < 80; }

async function generate(given) {
  const isChat = model.kind === 'chat';
  const body = {model: model.name, stream: true, temperature: Number(fields.temperature.value), max_tokens: Number(fields.tokens.value)};
  if (isChat) {
    messages.push({role: 'user', content: given});
    const system = fields.system.value.trim();
    body.messages = (system ? [{role: 'system', content: system}] : []).concat(messages);
  } else {
    body.prompt = given;
  }
  const turn = add('answer');
  const thought = document.createElement('div'), content = document.createElement('span');
  thought.className = 'thought';
  turn.append(content);
  try {
    await events(await post(isChat ? '/v1/chat/completions' : '/v1/completions', body), event => {
      for (const choice of event.choices) {
        const follow = atEnd();
        const more = isChat ? choice.delta : {content: choice.text};
        if (more.reasoning_content) { if (!thought.isConnected) turn.prepend(thought); thought.append(more.reasoning_content); }
        if (more.content) content.append(more.content);
        if (choice.finish_reason === 'length') add('note', 'The answer ends here: it has as many tokens as it may.');
        if (follow) log.scrollTop = log.scrollHeight;
      }
    });
  } finally {
    if (isChat && content.textContent) messages.push({role: 'assistant', content: content.textContent});
    else if (isChat) messages.pop();
    if (!turn.textContent) turn.remove();
  }
}

function table(rows) {
  const made = document.createElement('table');
  for (const row of rows) {
    const line = made.insertRow();
    for (const content of row) {
      const cell = line.insertCell();
      cell.textContent = content;
      if (/^-?[0-9.]+$/.test(content)) cell.className = 'number';
    }
  }
  add('answer').append(made);
}

// A row for each token of the translation, a column for each of the source: the darker, the more it is attended to.
function map(alignment) {
  const details = document.createElement('details'), summary = document.createElement('summary'), made = document.createElement('table');
  summary.textContent = 'Attention to the source';
  details.className = 'map';
  details.append(summary, made);
  const head = made.insertRow();
  for (const token of ['', ...alignment.source]) head.insertCell().textContent = token;
  alignment.weights.forEach((weights, i) => {
    const row = made.insertRow();
    row.insertCell().textContent = alignment.target[i];
    for (const weight of weights) {
      const cell = row.insertCell();
      cell.style.background = 'rgb(64 128 255 / ' + weight + ')';
      cell.title = weight.toFixed(3);
    }
  });
  return details;
}

async function translate(given) {
  const beam = Number(fields.beam.value);
  const answer = await (await post('/translate', {text: given.split('\n'), beam, n: beam, alignments: model.aligns})).json();
  for (const choices of answer.translations) {
    if (beam > 1) table(choices.map(each => [each.score.toFixed(3), each.text]));
    else add('answer', choices[0].text);
    if (choices[0].alignment) log.lastChild.append(map(choices[0].alignment));
  }
}

async function predict(given) {
  const lines = given.split('\n').filter(line => line.trim());
  const pair = line => line.includes('\t') ? line.split('\t').slice(0, 2) : line;
  const answer = await (await post('/predict', {text: lines.map(pair)})).json();
  const shown = each => each.score === undefined ? '' : each.score.toFixed(4);
  answer.predictions.forEach((each, i) => Array.isArray(each)
    ? table(each.map(label => [label.word, label.label, shown(label)]))
    : table([[lines[i], each.label || '', shown(each)]]));
}

async function rank(given) {
  const [query, ...documents] = given.split('\n').filter(line => line.trim());
  if (!documents.length) throw new Error('Give a line, and below it the lines to compare it with.');
  const answer = await (await post('/v1/rerank', {query, documents})).json();
  table(answer.results.map(each => [each.relevance_score.toFixed(4), documents[each.index]]));
}

const answers = {chat: generate, text: generate, translate, predict, embed: rank};

by('form').addEventListener('submit', async event => {
  event.preventDefault();
  const given = text.value;
  if (!given.trim() || running) return;
  running = new AbortController();
  text.value = '';
  send.hidden = true;
  stop.hidden = false;
  add('user', given);
  try {
    await answers[model.kind](given);
  } catch (error) {
    if (error.name !== 'AbortError') {
      add('error', error.message);
      text.value = given;
    }
  }
  running = null;
  send.hidden = false;
  stop.hidden = true;
  text.focus();
});
stop.addEventListener('click', () => running && running.abort());
text.addEventListener('keydown', event => {
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    by('form').requestSubmit();
  }
});
</script>
</body>
</html>
)html";

} // namespace

std::string pageOf(const PageOptions &options) {
  std::string json = nlohmann::json{
      {"name", options.model},
      {"kind", options.kind},
      {"needsKey", options.needsKey},
      {"aligns",
       options.aligns}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (size_t place = 0; (place = json.find('<', place)) != std::string::npos;)
    json.replace(place, 1, "\\u003c"); // "</script>" would end the script
  return kHead + json + kTail;
}

} // namespace heddle::serve
