#!/usr/bin/env bash
# Builds and runs the examples against an installed Heddle only: C with CMake and with pkg-config, C++, Python with pip,
# and a plug-in of the compiler.
#
#   use_package.sh SOURCE_DIR PREFIX PYTHON      reads only the examples, runtime/python and test/lit.py of SOURCE_DIR
set -euo pipefail
source=$1 prefix=$2 python=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lib=$(dirname "$(find "$prefix/lib" -name 'libheddle.so')")
export CMAKE_GENERATOR=Ninja

cat >"$work/model.toml" <<'END'
model = "encoder.weft"
vocab_size = 30
d_model = 16
heads = 2
d_ff = 32
encoder_layers = 1
max_tokens = 64
max_length = 16
END
"$prefix/bin/heddle-compile" "$work/model.toml" -o "$work/model.heddle" >/dev/null
expected=$("$prefix/bin/heddle-run" devices | grep -c .)
[ "$expected" -gt 0 ]

for example in c cpp; do
  cmake -S "$source/runtime/c/examples/$example" -B "$work/$example" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
  cmake --build "$work/$example" >/dev/null
  "$work/$example/call_entry" "$work/model.heddle" encode | grep '^hidden' >"$work/$example.out"
done
if ldd "$work/cpp/call_entry" | grep libheddle; then
  echo "Heddle::session is not static" >&2
  exit 1
fi
# Both draw the same weights and call with the same zeros, so they print the same numbers, apart from the shape.
diff <(sed 's/.*: //' "$work/c.out") <(sed 's/.*: //' "$work/cpp.out")

cc -std=c99 -Wall -Wextra -Werror -pedantic "$source/runtime/c/examples/c/call_entry.c" -o "$work/call_entry" \
  $(PKG_CONFIG_PATH="$lib/pkgconfig" pkg-config --cflags --libs heddle) -Wl,-rpath,"$lib"
"$work/call_entry" "$work/model.heddle" encode | grep '^hidden' | diff - "$work/c.out"
cc -std=c99 "$source/runtime/c/examples/c/call_entry.c" -o "$work/call_entry" \
  $(PKG_CONFIG_PATH="$lib/pkgconfig" pkg-config --cflags --libs heddle-train) -Wl,-rpath,"$lib"
"$work/call_entry" "$work/model.heddle" encode | grep '^hidden' | diff - "$work/c.out"
if "$work/c/call_entry" "$work/model.heddle" nothing 2>"$work/error"; then
  echo "an entry that is not there is called" >&2
  exit 1
fi
grep -q "nothing" "$work/error"

# The plug-in is built from a copy, so that no file of the source tree beside it can be included.
cp -r "$source/compiler/examples/pass-plugin" "$work/plugin"
cmake -S "$work/plugin" -B "$work/plugin/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release -DLIT="$source/test/lit.py" >/dev/null
cmake --build "$work/plugin/build" >/dev/null
ctest --test-dir "$work/plugin/build" --output-on-failure >"$work/plugin.log" || { cat "$work/plugin.log" >&2; exit 1; }
# All scales are powers of two, so the pass changes no bit.
"$python" -c 'import numpy as np, sys; np.random.seed(1); [np.save(f"{sys.argv[1]}/{name}.npy", np.random.randn(*shape).astype("f4")) for name, shape in (("x", (5, 8)), ("w", (8, 4)))]' "$work"
for kind in plain folded; do
  flags=()
  [ $kind = plain ] || flags=(--load-pass-plugin="$work/plugin/build/FoldScales.so" --pass-after=derive:fold-scales)
  "$prefix/bin/heddle-compile" "$work/plugin/test/fold-scales.mlir" "${flags[@]}" -o "$work/$kind.heddle" >/dev/null
  "$prefix/bin/heddle-run" call "$work/$kind.heddle" --entry product --input "x=@$work/x.npy" --input "w=@$work/w.npy" \
    --output "y=@$work/$kind.npy" >/dev/null
done
cmp "$work/plain.npy" "$work/folded.npy"

# A training and a translation within a program; heddle-run translates the same with its checkpoint.
"$python" -c 'import random; random.seed(3); print("\n".join(" ".join(random.choices("abcdefgh", k=random.randint(2, 5))) for _ in range(600)))' >"$work/pairs.txt"
"$prefix/bin/heddle-compile" "$prefix/share/heddle/models/transformer-base.toml" --set vocab_size=16 --set d_model=32 --set heads=2 --set d_ff=64 \
  --set encoder_layers=1 --set decoder_layers=1 --set max_tokens=512 --set max_sequences=64 --set max_length=16 --set warmup=40 \
  --set schedule='"constant"' --set learning_rate=0.005 --set label_smoothing=0 --set dropout=0 -o "$work/copy.heddle" >/dev/null
(cd "$work" && cpp/learn_to_translate copy.heddle pairs.txt pairs.txt copied 300 "a b c d" "h f h" >copied.out)
printf 'a b c d\nh f h\n' | "$prefix/bin/heddle-run" translate "$work/copy.heddle" --checkpoint "$work/copied" 2>/dev/null | diff - "$work/copied.out"
printf 'a b c d\nh f h\n' | diff - "$work/copied.out"

cp -r "$source/runtime/python" "$work/python"
"$python" -m pip install --quiet --no-build-isolation --no-deps --no-index --target "$work/site" "$work/python" 2>"$work/pip.log" ||
  { cat "$work/pip.log" >&2; exit 1; }
"$prefix/bin/heddle-compile" "$prefix/share/heddle/models/transformer-base.toml" --set vocab_size=12 --set d_model=32 --set heads=2 --set d_ff=64 \
  --set encoder_layers=1 --set decoder_layers=1 --set max_tokens=512 --set max_sequences=64 --set max_length=16 --set warmup=40 \
  --set schedule='"constant"' --set learning_rate=0.005 --set label_smoothing=0 --set dropout=0 -o "$work/train.heddle" >/dev/null
cd "$work"
export HEDDLE_LIBRARY=$lib/libheddle-train.so PYTHONPATH=$work/site
"$python" "$source/runtime/c/examples/python/train.py" "$work/train.heddle" 200 | tee "$work/python.out"
awk '/^step 40:/ { first = $4 } /^step 200:/ { last = $4 } END { exit !(first > 0 && last > 0 && last < 0.7 * first) }' "$work/python.out"
"$python" - "$work/train.heddle" <<'END'
import sys
import numpy as np
import heddle
with heddle.open(sys.argv[1]) as model:
    model.load("weights.safetensors", heddle.WEIGHTS)
    name = next(v.name for v in model.variables if v.kind == heddle.WEIGHTS and len(v.shape) == 2)
    value = model[name]
    model[name] = 2 * value
    assert np.array_equal(model[name], 2 * value), name
    assert model.memory["weights"] > 0 and "train_step" in model.entries
    for wrong, kind in ((lambda: model.call("nothing"), "not found"), (lambda: model["nothing"], "not found"),
                        (lambda: model.call("eval", source=np.float64([0.5])), "invalid argument"),
                        (lambda: heddle.open("nothing.heddle"), "not found")):
        try:
            wrong()
        except heddle.Error as error:
            assert error.kind == kind, (error.kind, kind, str(error))
        else:
            sys.exit("no error")
try:
    model.entries
except heddle.Error as error:
    assert "closed" in str(error)
else:
    sys.exit("a closed model answers")
END
echo "the package serves C, C++, Python and plug-ins of the compiler"
