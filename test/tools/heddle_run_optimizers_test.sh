#!/usr/bin/env bash
# Trains with an optimizer's text of the user's own, and with texts of the library: heddle_run_optimizers_test.sh BIN MODELS
set -euo pipefail
bin=$1
models=$2
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

awk 'BEGIN {
  srand(3)
  split("one two three four five six seven eight nine ten", word, " ")
  for (n = 0; n < 2100; ++n) {
    first = int(10 * rand()); line = word[first + 1]
    for (i = 1; i < 5; ++i) line = line " " word[(first + i) % 10 + 1]
    print line > (n < 2000 ? "train.txt" : "valid.txt")
  }
}'
# Adan: four states, of which one is the gradient of the step before.
cat > adan.weft << 'END'
param adan_beta1 = 0.9, adan_beta2 = 0.9, adan_beta3 = 0.99
update(weight, gradient) with m = zeros(weight), v = zeros(weight), n = zeros(weight), last = zeros(weight) {
  change = gradient - last
  new_m = adan_beta1 * m + (1 - adan_beta1) * gradient
  new_v = adan_beta2 * v + (1 - adan_beta2) * change
  new_n = adan_beta3 * n + (1 - adan_beta3) * (gradient + adan_beta2 * change) ^ 2
  moved = weight - rate / (sqrt(new_n) + adam_epsilon) * (new_m + adan_beta2 * new_v)
  moved / (1 + rate * weight_decay), new_m, new_v, new_n, gradient
}
END
# States that are kept, exchanged, given twice, and used a step later.
cat > states.weft << 'END'
update(w, g) with kept = zeros(w), a = zeros(w), b = zeros(w), c = zeros(w), d = zeros(w), count = zeros(1) {
  w - rate * (g + 0.1 * a - 0.1 * b + 0.1 * c), kept, b + g, a, g, g, count + 1
}
END
sizes=(--set architecture=decoder --set encoder_layers=0 --set decoder_layers=1 --set d_model=32 --set d_ff=64
       --set vocab_size=60 --set max_length=12 --set max_tokens=512 --set max_sequences=64 --set warmup=20
       --set learning_rate=3e-3 --set accumulate=true --set schedule=constant)
train=("$bin/heddle-run" train lm.heddle --text train.txt --valid-text valid.txt)

for optimizer in "--optimizer adan.weft" "--set optimizer=muon --set clip_norm=1 --set ema_decay=0.9" \
                 "--set optimizer=adafactor --set learning_rate=0.1"; do
  # shellcheck disable=SC2086
  quietly "$bin/heddle-compile" "$models/numbers.toml" "${sizes[@]}" $optimizer -o lm.heddle
  quietly "${train[@]}" --checkpoint proof --steps 9 --verify-resume
  quietly "${train[@]}" --checkpoint proof --steps 7 --accumulate 2 --batch-sequences 20 --verify-resume
  rm -rf ck
  quietly "${train[@]}" --checkpoint ck --log log.jsonl --steps 80 --validate-every 80
  loss=$(sed -n 's/.*"validation_loss":\([0-9.]*\).*/\1/p' log.jsonl | tail -n 1)
  awk -v loss="$loss" 'BEGIN { exit !(loss < 1.2) }' || fail "with $optimizer the loss is $loss"
done

quietly "$bin/heddle-compile" "$models/numbers.toml" "${sizes[@]}" --optimizer states.weft -o lm.heddle
quietly "${train[@]}" --checkpoint proof --steps 9 --verify-resume
quietly "${train[@]}" --checkpoint proof --steps 7 --accumulate 2 --batch-sequences 20 --verify-resume

# Another optimizer cannot go on with these states.
quietly "$bin/heddle-compile" "$models/numbers.toml" "${sizes[@]}" -o adam.heddle
if "$bin/heddle-run" train adam.heddle --text train.txt --checkpoint ck --steps 90 --resume > said.txt 2>&1; then
  fail "Adam resumes a training by Adafactor"
fi
grep -q "adam\|optimizer" said.txt || fail "$(cat said.txt)"
