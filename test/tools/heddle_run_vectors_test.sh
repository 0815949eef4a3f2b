#!/usr/bin/env bash
# Trains vectors of texts on pairs, resumes, embeds and searches: heddle_run_vectors_test.sh BIN
set -euo pipefail
bin=$1
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

# A question shares no word with its answer. The grade says whether both texts are of one subject.
/usr/bin/python3 - << 'END'
import json, random
random.seed(2)
subjects = [[f"{kind}{i}{letter}" for letter in "abc"] for i in range(6) for kind in "qa"]
questions, answers = subjects[0::2], subjects[1::2]
text = lambda words: " ".join(random.sample(words + ["the", "of"], 4))
def write(name, count):
    with open(f"{name}.ranking", "w") as ranking, open(f"{name}.cosine", "w") as cosine:
        for _ in range(count):
            i, j = random.randrange(6), random.randrange(6)
            print(json.dumps({"left": text(questions[i]), "right": text(answers[i])}), file=ranking)
            j = random.choice([i, j])
            print(json.dumps({"left": text(questions[i]), "right": text(answers[j]), "grade": float(i == j)}), file=cosine)
write("train", 400)
write("valid", 60)
with open("questions", "w") as left, open("answers", "w") as right:
    for i in range(6):
        print(text(questions[i]), file=left)
        print(text(answers[i]), file=right)
END
cat > model.toml << 'END'
model = "embedder.weft"
d_model = 32
heads = 2
d_ff = 64
encoder_layers = 1
vocab_size = 48
dropout = 0
learning_rate = 5e-3
schedule = "constant"
warmup = 10
max_tokens = 256
max_sequences = 32
max_length = 8
END
search() { # CHECKPOINT ARTIFACT: the share of questions whose answer is the nearest
  for side in questions answers; do
    "$bin/heddle-run" embed $2 --checkpoint $1 --output=$side.npy < $side > said.txt 2>&1 || fail "$(cat said.txt)"
  done
  /usr/bin/python3 -c '
import numpy as np
questions, answers = np.load("questions.npy"), np.load("answers.npy")
assert np.allclose(np.linalg.norm(questions, axis=1), 1, atol=1e-5), "vectors have another length than 1"
print(np.mean((questions @ answers.T).argmax(1) == np.arange(6)))'
}
for kind in ranking cosine; do
  quietly "$bin/heddle-compile" model.toml --set similarity=$kind --set accumulate=true -o $kind.heddle
  train=("$bin/heddle-run" train $kind.heddle --data train.$kind --valid-data valid.$kind --vocab-type word)
  quietly "${train[@]}" --checkpoint $kind --steps 60 --validate-every 30 --seed 1 --log $kind.jsonl
  [ "$(search $kind $kind.heddle)" = 1.0 ] || fail "$kind: the model finds $(search $kind $kind.heddle) of the answers"
  quietly "$bin/heddle-run" score $kind.heddle --checkpoint $kind --data valid.$kind --log $kind.score

  # A run that is stopped goes on bit for bit.
  quietly "${train[@]}" --checkpoint whole.$kind --steps 12 --accumulate 2 --seed 5
  quietly "${train[@]}" --checkpoint parts.$kind --steps 5 --accumulate 2 --seed 5
  quietly "$bin/heddle-run" train $kind.heddle --data train.$kind --valid-data valid.$kind --checkpoint parts.$kind --steps 12 --accumulate 2 --resume
  cmp whole.$kind/step-00000012/weights.safetensors parts.$kind/step-00000012/weights.safetensors || fail "a resumed run differs"
done
/usr/bin/python3 - << 'END' || fail "$(cat ranking.score cosine.score)"
import json, math
first = json.loads(open("ranking.jsonl").readline())["loss"]
assert 1 < first < 12, first
validation = {kind: [json.loads(line) for line in open(f"{kind}.jsonl") if "validation" in line][-1] for kind in ("ranking", "cosine")}
score = {kind: json.load(open(f"{kind}.score")) for kind in validation}
# Six subjects in a batch of 16: at best the nearest answer is of the right subject.
assert score["ranking"]["accuracy"] > 0.2 and score["cosine"]["pearson"] > 0.9
for kind in score:
    assert abs(validation[kind]["validation_loss"] - score[kind]["loss"]) < 1e-5
END
# The loss that is trained may change: the weights are the same model's.
quietly "$bin/heddle-run" train cosine.heddle --weights ranking --data train.cosine --checkpoint both --steps 5
[ "$(search both ranking.heddle)" = 1.0 ] || fail "the weights of another loss do not fit"

refuses() { # TEXT COMMAND...
  local text=$1 got=0
  shift
  "$@" > said.txt 2>&1 < /dev/null || got=$?
  [ $got -ge 1 ] && [ $got -le 2 ] && grep -q -- "$text" said.txt || fail "$* gave $got: $(cat said.txt)"
}
refuses 'has no "grade"' "$bin/heddle-run" train cosine.heddle --data train.ranking --checkpoint other --steps 1
echo '{"left": "a", "label": "b"}' > half.jsonl
refuses 'has no "right", a string' "$bin/heddle-run" train ranking.heddle --data half.jsonl --checkpoint other --steps 1
refuses '--text is not for the artifact' "$bin/heddle-run" train ranking.heddle --text questions --checkpoint other --steps 1
refuses 'a pair of texts has two' "$bin/heddle-run" train ranking.heddle --data train.ranking --batch-sequences 1 --checkpoint other --steps 1
refuses 'one that learns vectors of texts' "$bin/heddle-run" generate ranking.heddle --checkpoint ranking
