#!/usr/bin/env bash
# A vocabulary in the artifact (heddle-compile --vocabulary): commands use it, and one that does not fit is refused.
# heddle_run_vocabulary_test.sh BIN MODELS
set -euo pipefail
bin=$1
models=$2
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

# refuses CODE WORDS COMMAND...
refuses() {
  local wanted=$1 words=$2 code=0
  shift 2
  "$@" > said.txt 2>&1 < /dev/null || code=$?
  [ "$code" = "$wanted" ] || fail "exit code $code instead of $wanted: $* $(cat said.txt)"
  grep -qF -- "$words" said.txt || fail "'$words' is not said by: $* $(cat said.txt)"
}

compile=("$bin/heddle-compile" "$models/numbers.toml" --set d_model=32 --set d_ff=64 --set encoder_layers=1
         --set decoder_layers=1 --set max_tokens=256 --set max_sequences=16)
quietly "$bin/heddle-data" numbers --out data --train 400 --valid 5 --test 20 --maximum 9999
train=(--src data/train.en --tgt data/train.de --steps 10 --seed 5)
quietly "${compile[@]}" -o plain.heddle
quietly "$bin/heddle-run" train plain.heddle "${train[@]}" --checkpoint learnt
grep -q "learning a vocabulary" said.txt || fail "no vocabulary is learnt"
spm=learnt/step-00000010/spm.model

# The artifact stores it unchanged, and training with it equals the training that learnt it.
quietly "${compile[@]}" --vocabulary="$spm" -o full.heddle
quietly "$bin/heddle-inspect" full.heddle
grep -A 1 '^vocabulary$' said.txt | grep '^  spm.model .* KiB$' > /dev/null || fail "heddle-inspect shows no vocabulary"
quietly "$bin/heddle-inspect" --json full.heddle
/usr/bin/python3 - "$spm" << 'END' || fail "heddle-inspect --json shows another vocabulary"
import json, os, sys
vocabulary = json.load(open("said.txt"))["vocabulary"]
assert vocabulary == [{"name": "spm.model", "bytes": os.path.getsize(sys.argv[1])}], vocabulary
END
quietly "$bin/heddle-run" train full.heddle "${train[@]}" --checkpoint given
! grep -q "learning a vocabulary" said.txt || fail "a vocabulary is learnt though the artifact has one"
for file in spm.model weights.safetensors; do
  cmp "learnt/step-00000010/$file" "given/step-00000010/$file" || fail "another $file with the artifact's vocabulary"
done
# --vocab overrides it.
quietly "$bin/heddle-run" train full.heddle "${train[@]}" --vocab "$spm" --checkpoint named
for folder in learnt learnt/step-00000010; do
  quietly "$bin/heddle-run" train full.heddle "${train[@]}" --vocab "$folder" --checkpoint named
  cmp "$spm" named/step-00000010/spm.model || fail "another vocabulary with --vocab $folder"
done

# A checkpoint without a vocabulary takes it from the artifact; without that, it fails.
cp -r learnt/step-00000010 bare
rm bare/spm.model
/usr/bin/python3 - << 'END'
import json
manifest = json.load(open("bare/manifest.json"))
del manifest["files"]["spm.model"]
json.dump(manifest, open("bare/manifest.json", "w"))
END
"$bin/heddle-run" translate plain.heddle --checkpoint learnt < data/test.en > wanted.de 2> said.txt || fail "$(cat said.txt)"
"$bin/heddle-run" translate full.heddle --checkpoint bare < data/test.en > got.de 2> said.txt || fail "$(cat said.txt)"
cmp wanted.de got.de || fail "the artifact's vocabulary translates otherwise"
quietly "$bin/heddle-run" score full.heddle --checkpoint bare --src data/test.en --tgt data/test.de
refuses 1 "has no vocabulary" "$bin/heddle-run" translate plain.heddle --checkpoint bare

# Encodes and decodes with the vocabulary of a training run's folder, or with its file.
"$bin/heddle-run" tokenize learnt < data/test.en > tokens.txt 2> said.txt || fail "$(cat said.txt)"
"$bin/heddle-run" tokenize learnt --decode < tokens.txt 2> said.txt | cmp - data/test.en || fail "tokens are another text"
"$bin/heddle-run" tokenize learnt/step-00000010/spm.model < data/test.en 2> said.txt | cmp - tokens.txt || fail "other tokens of the file"
grep -q $'^[0-9 ]*\t\xe2\x96\x81' tokens.txt || fail "no pieces beside the ids: $(head -n 1 tokens.txt)"
refuses 1 "has no vocabulary" "$bin/heddle-run" tokenize bare

refuses 1 "pieces and the model room for 50; compile it with --set vocab_size=" \
  "${compile[@]}" --set vocab_size=50 --vocabulary="$spm" -o refused.heddle
refuses 1 "is not a SentencePiece model" "${compile[@]}" --vocabulary=data/train.en -o refused.heddle
refuses 1 "absent.model" "${compile[@]}" --vocabulary=absent.model -o refused.heddle
refuses 2 "--vocabulary is a part of the artifact" "${compile[@]}" --vocabulary="$spm" --compile-to=fuse
[ ! -e refused.heddle ] || fail "a refused compilation leaves an artifact"
echo "all as expected"
