"""The Python package: numbers that do not fit, text that is not UTF-8, threads, forks, packed weights, misspelt names,
models as mappings, and training, which takes the same steps as heddle-run's. Tests that may crash or hang run in processes of their own.

    python_package.py --bin build/bin --library build/runtime/c/libheddle-train.so [TEST ...]"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parents[2]
SIZES = {"vocab_size": 12, "d_model": 32, "heads": 2, "d_ff": 64, "encoder_layers": 1, "decoder_layers": 1, "max_tokens": 128,
         "max_sequences": 4, "max_length": 16, "dropout": 0}
BATCH = dict(source=[3, 2], source_positions=[0, 1], source_starts=[0], source_lengths=[2], target_in=[1, 3], target_out=[3, 2],
             target_positions=[0, 1], target_starts=[0], target_lengths=[2])

# Two threads call with different inputs. Each gets its own results, until the model is closed while they run.
THREADS = f"""
import sys, threading, time
import numpy as np
import heddle
model = heddle.open(sys.argv[1])
model.init(1)
call = lambda number: model.call("eval", **{{**{BATCH}, "source": [number, 2]}})["token_loss"]
numbers = [3, 4]
expected = [call(number) for number in numbers]
assert not np.array_equal(*expected)
done, closing = [0, 0], False
def work(i):
    try:
        while True:
            assert np.array_equal(call(numbers[i]), expected[i])
            assert {{variable.name: variable for variable in model.variables}}["embedding"].shape == (12, 32)
            done[i] += 1
    except heddle.Error as error:
        assert closing and "the model is closed" in str(error), error
        done[i] = -1
threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
for thread in threads:
    thread.start()
while min(done) < 100 and all(thread.is_alive() for thread in threads):
    time.sleep(0.01)
closing = True
model.close()
for thread in threads:
    thread.join()
assert done == [-1, -1], done
"""

# A child that must end by itself within 20 seconds, while another thread of its parent is in a call. Like
# multiprocessing's children it ends by _exit: exit's handlers include the drivers', which may wait for a lock that the
# parent's thread held at the fork.
FORK = f"""
import multiprocessing, sys, threading
import heddle
model = heddle.open(sys.argv[1])
model.init(1)
ended = threading.Event()
def work():
    while not ended.is_set():
        model.call("eval", **{BATCH})
thread = threading.Thread(target=work)
thread.start()
def child(body):
    process = multiprocessing.get_context("fork").Process(target=body)
    process.start()
    process.join(20)
    if process.is_alive():
        process.kill()
        return "hangs"
    return process.exitcode
def close():
    model.close()
def drop():
    global model
    del model
def leave():
    with model:
        sys.exit(0)
def use():
    for use in (lambda: model["step"], lambda: model.call("eval", **{BATCH}), lambda: model.variables, lambda: model.device):
        try:
            use()
        except heddle.Error as error:
            assert error.kind == "invalid argument" and "a fork of it" in str(error) and "spawn" in str(error), error
        else:
            sys.exit("a forked process used the model")
def anew():
    try:
        heddle.open(sys.argv[1]).close()
    except heddle.Error as error:
        assert error.kind == "unsupported" and "is a fork of process" in str(error), error
    else:
        sys.exit("a fork of a process with an open model opened another")
results = {{body.__name__: child(body) for body in (close, drop, leave, use, anew)}}
ended.set()
thread.join()
model.call("eval", **{BATCH})
if any(results.values()):
    sys.exit(str(results))
"""


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = Path(cls.temporary.name)
        cls.artifact = cls.compile("model.heddle")
        cls.model = heddle.open(cls.artifact)
        cls.addClassCleanup(cls.model.close)

    @classmethod
    def compile(cls, name, *flags):
        sizes = [word for key, value in SIZES.items() for word in ("--set", f"{key}={value}")]
        subprocess.run([OPTIONS.bin / "heddle-compile", SOURCE / "models/transformer-base.toml", *sizes, *flags, "-o", cls.folder / name],
                       check=True, stdout=subprocess.DEVNULL)
        return cls.folder / name

    def setUp(self):
        self.model.init(1)

    def fails(self, kind, words, function, *arguments, **named):
        with self.assertRaises(heddle.Error) as caught:
            function(*arguments, **named)
        self.assertEqual(caught.exception.kind, kind)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def eval(self, **changed):
        return self.model.call("eval", **{**BATCH, **changed})["token_loss"]

    def runs(self, script, **environment):
        ran = subprocess.run([sys.executable, "-c", script, self.artifact], timeout=120, text=True, capture_output=True,
                             env={**os.environ, "PYTHONPATH": str(SOURCE / "runtime/python"), **environment})
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_integers_that_do_not_fit(self):
        limits = ["int32", "-2147483648", "2147483647"]
        for wrong, value in (([2**32 + 3, 2], 2**32 + 3), (np.array([3, 2**64 - 2**32 + 2], np.uint64), 2**64 - 2**32 + 2),
                             (np.array([-2**31 - 1, 2]), -2**31 - 1), ([3, 2**64], 2**64)):
            self.fails("invalid argument", ["'source'", str(value), *limits], self.eval, source=wrong)
            self.fails("invalid argument", ["'seed'", str(value), *limits], self.model.__setitem__, "seed", wrong)
        self.model["step"] = [7]
        self.fails("invalid argument", ["'step'", str(2**40), *limits], self.model.__setitem__, "step", [2**40])
        self.assertEqual(self.model["step"], [7])
        for right in (np.int64([-2**31, 2**31 - 1]), np.uint8([0, 255]), np.array([1, 2], ">i8"), [True, False]):
            self.model["seed"] = right
            np.testing.assert_array_equal(self.model["seed"], right)
        np.testing.assert_array_equal(self.eval(source=np.uint64([3, 2])), self.eval())
        self.assertEqual(len(self.eval(**{name: [] for name in BATCH})), 0)

    def test_what_is_no_number_of_the_right_kind(self):
        for wrong in ([3.0, 2.0], [np.nan, 2], [np.inf, 2]):
            self.fails("invalid argument", ["'source' is f32", "i32"], self.eval, source=wrong)
        for wrong in (["3", "2"], [None, 2], None, [1j, 2]):
            self.fails("invalid argument", ["'source' has numbers of", "float32 and int32"], self.eval, source=wrong)
        self.fails("invalid argument", ["'step' is i32[1]", "f32[1]"], self.model.__setitem__, "step", [5.0])

    def test_text_that_is_not_utf8(self):
        self.fails("not found", ["/nowhere/\ufffd.heddle"], heddle.open, "/nowhere/\udcff.heddle")
        file = self.folder / "weights.safetensors"
        self.model.save(file, heddle.WEIGHTS)
        file.write_bytes(file.read_bytes().replace(b'"embedding"', b'"embed\xff\xfeng"', 1))
        with self.assertRaises(heddle.Error):
            self.model.load(file, heddle.WEIGHTS)

    def test_names_with_zeros(self):
        words = ["has a zero in it"]
        for use in (self.model.__getitem__, self.model.__contains__, self.model.inputs, self.model.prepare, self.model.call, self.model.run):
            self.fails("invalid argument", words, use, "step\0more")
        self.fails("invalid argument", words, self.model.__setitem__, "step\0more", [1])
        self.fails("invalid argument", words, self.model.save, str(self.folder / "weights\0more"), heddle.WEIGHTS)
        self.fails("invalid argument", words, self.model.load, str(self.folder / "weights\0more"), heddle.WEIGHTS)
        self.fails("invalid argument", words, heddle.open, str(self.folder / "model.heddle\0more"))
        self.fails("invalid argument", words, heddle.open, str(self.folder / "model.heddle"), device="vulkan\0more")

    def test_numbers_that_c_would_cut(self):
        for seed in 2 ** 64, -1:
            self.fails("invalid argument", ["seed", str(seed), str(2 ** 64 - 1)], self.model.init, seed)
        self.model.init(2 ** 64 - 1)
        self.fails("invalid argument", ["kinds", str(2 ** 32 - 1)], self.model.save, self.folder / "none", 2 ** 32 + heddle.WEIGHTS)

    def test_threads_take_turns(self):
        self.runs(THREADS)

    def test_forked_processes(self):
        self.runs(FORK)

    def test_packed_weights_take_float32(self):
        with heddle.open(self.compile("packed.heddle", "--weights=int8")) as packed:
            for dtype in np.float32, np.float64:
                value = np.random.default_rng(1).normal(size=(12, 32)).astype(dtype)
                packed["embedding"] = value
                words, scales = packed["embedding"], packed["embedding.scales"]
                self.assertEqual(words.dtype, np.int32)
                numbers = np.stack([(words >> bits).astype(np.int8) for bits in (0, 8, 16, 24)], axis=1).reshape(12, 32)
                self.assertLessEqual(np.max(np.abs(numbers * scales - value) / scales), 0.51)
            packed["embedding"] = words // 2  # as stored on the device
            np.testing.assert_array_equal(packed["embedding"], words // 2)
            self.fails("invalid argument", ["f32[3,32]"], packed.__setitem__, "embedding", value[:3])

    def test_misspelt_names(self):
        others = {name: value for name, value in BATCH.items() if name != "source"}
        for value in ([3, 2], [3.0, 2.0], [2**40, 2], [2**64, 2], np.uint8([3, 2])):
            self.fails("invalid argument", ["no input 'sorce'", "source_positions"], self.model.call, "eval", sorce=value, **others)
        self.fails("not found", ["no entry 'evil'"], self.model.call, "evil", **BATCH)
        self.fails("not found", ["no variable 'stop'"], self.model.__setitem__, "stop", [2**40])

    def test_a_model_is_a_mapping(self):
        names = [variable.name for variable in self.model.variables]
        self.assertIn("embedding", self.model)
        self.assertNotIn("source", self.model)
        self.assertEqual(list(self.model), names)
        self.assertEqual(len(self.model), len(names))
        self.assertEqual({name: self.model[name].shape for name in self.model}["embedding"], (12, 32))
        with heddle.open(self.artifact) as closed:
            pass
        self.assertTrue(closed)
        self.fails("invalid argument", ["the model is closed"], list, closed)
        self.fails("invalid argument", ["the model is closed"], lambda: "embedding" in closed)

    def pairs(self):
        """Returns 90 sentences and their translations: the words in reverse."""
        random = np.random.default_rng(2)
        sentences = [random.choice(list("abcdefg"), random.integers(1, 5)) for _ in range(90)]
        return [" ".join(words) for words in sentences], [" ".join(words[::-1]) for words in sentences]

    def command(self, checkpoint, *flags):
        """Trains by heddle-run on the pairs, and returns the records of its log without the fields that depend on the clock."""
        source, target = self.pairs()
        for name, lines in ("src", source), ("tgt", target):
            (self.folder / name).write_text("".join(f"{line}\n" for line in lines))
        texts = [word for flag in ("src", "tgt", "valid-src", "valid-tgt") for word in (f"--{flag}", self.folder / flag[-3:])]
        log = self.folder / f"{checkpoint}.jsonl"
        subprocess.run([OPTIONS.bin / "heddle-run", "train", self.artifact, *texts, "--checkpoint", self.folder / checkpoint, "--log", log,
                        *flags], check=True, capture_output=True)
        return [self.timeless(json.loads(line)) for line in log.read_text().splitlines()]

    def timeless(self, record):
        return {key: value for key, value in record.items() if key not in ("seconds", "data_seconds", "tokens_per_second")}

    def train(self, checkpoint, report=None, **options):
        source, target = self.pairs()
        return self.model.train(self.folder / checkpoint, report, src=source, tgt=target, valid_src=source, valid_tgt=target, **options)

    def same(self, one, other):
        """Checks that two checkpoints have the same weights, optimizer state and vocabulary."""
        for name in "weights.safetensors", "optimizer.safetensors", "spm.model":
            self.assertEqual((self.folder / one / name).read_bytes(), (self.folder / other / name).read_bytes(), name)

    def test_training_is_that_of_heddle_run(self):
        expected = self.command("by-command", "--steps", "9", "--seed", "5", "--validate-every", "4", "--save-every", "5",
                                "--batch-sequences", "3", "--shuffle-window", "64", "--vocab-type", "word")
        options = dict(seed=5, validate_every=4, batch_sequences=3, shuffle_window=64, vocab_type="word")
        records = []
        self.assertEqual(self.train("whole", records.append, steps=9, save_every=5, **options), "finished")
        self.assertEqual([self.timeless(record) for record in records], expected)
        self.assertEqual([record["step"] for record in records if "validation_loss" in record], [4, 8, 9])
        self.same("by-command/step-00000009", "whole/step-00000009")
        trained = self.model["embedding"]
        self.model.load(self.folder / "whole/best/weights.safetensors", heddle.WEIGHTS)
        np.testing.assert_array_equal(self.model["embedding"], trained)

        # Either resumes the other's training.
        del options["seed"]
        self.assertEqual(self.train("by-command", steps=12, resume=True, **options), "finished")
        self.command("whole", "--steps", "12", "--validate-every", "4", "--batch-sequences", "3", "--shuffle-window", "64", "--resume")
        self.same("by-command/step-00000012", "whole/step-00000012")

    def test_a_report_stops_a_training(self):
        steps = []
        self.assertEqual(self.train("stopped", lambda record: steps.append(record["step"]) or len(steps) == 3, steps=50), "stopped")
        self.assertEqual(steps, [1, 2, 3, 4])  # the fourth step already ran
        self.assertTrue((self.folder / "stopped/step-00000004/manifest.json").exists())

        def fail(record):
            raise KeyError(record["step"])

        with self.assertRaises(KeyError):
            self.train("stopped", fail, steps=50, resume=True)
        self.assertTrue((self.folder / "stopped/step-00000006/manifest.json").exists())
        # Patience counts validations; with such a learning rate none is better than the first.
        with heddle.open(self.compile("still.heddle", "--set", "learning_rate=1e-30")) as self.model:
            self.addCleanup(setattr, self, "model", type(self).model)
            self.assertEqual(self.train("still", steps=50, validate_every=1, patience=2), "patience")

    def test_an_interrupt_stops_a_training(self):
        # The signal arrives while C runs: Python's main thread takes it when the next report begins.
        def train(**options):
            begun = threading.Event()
            thread = threading.Thread(target=lambda: begun.wait() and os.kill(os.getpid(), signal.SIGINT))
            thread.start()
            try:
                return self.train("interrupted", lambda record: begun.set(), steps=5000, **options)
            finally:
                begun.set()
                thread.join()

        with self.assertRaises(KeyboardInterrupt):
            train()
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        steps = [path for path in (self.folder / "interrupted").glob("step-*/manifest.json")]
        self.assertEqual(len(steps), 1)
        self.assertLess(int(steps[0].parent.name[5:]), 5000)
        # A handler of the program's own is called after the training.
        called = []
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, lambda *arguments: called.append(arguments[0])))
        self.assertEqual(train(resume=True), "stopped")
        self.assertEqual(called, [signal.SIGINT])

    def test_a_report_and_the_last_checkpoint_fail(self):
        folder = self.folder / "failing"

        def fail(record):
            shutil.rmtree(folder)
            folder.write_text("")
            raise KeyError("first")

        with self.assertRaises(heddle.Error) as caught:
            self.train("failing", fail, steps=50)
        self.assertEqual(caught.exception.__cause__.args, ("first",))

    def test_options_of_other_types(self):
        source, target = self.pairs()
        for name, value, words in (("src", [b"a"], "bytes"), ("data", [{"text": "a"}], "dict"), ("tgt", 5, "int"), ("vocab", 5, "int"),
                                   ("steps", "9", "str")):
            with self.assertRaisesRegex(TypeError, f"'{name}'.*{words}"):
                self.model.train(self.folder / "refused", **{"src": source, "tgt": target, name: value})
        self.assertFalse((self.folder / "refused").exists())

    def test_options_of_a_training(self):
        wrong = "invalid argument"
        source, target = self.pairs()
        train = lambda **options: self.model.train(self.folder / "refused", **options)
        self.fails(wrong, ["of one kind"], train)
        self.fails(wrong, ["of one kind"], train, src=source)
        self.fails(wrong, ["of one kind"], train, src=source, tgt=target, text=source)
        self.fails(wrong, ["--valid-src and --valid-tgt"], train, src=source, tgt=target, valid_text=source)
        self.fails(wrong, ["89"], train, src=source, tgt=target[:-1])
        self.fails(wrong, ["line 2 of a text holds a line feed"], train, src=["a", "b\nc"], tgt=["a", "b"])
        lines = heddle._Text(None, None, 5)
        with unittest.mock.patch.object(heddle, "_option", lambda kind, value, name: lines):
            self.fails(wrong, ["a text has 5 lines, and its `lines` is NULL"], train, src=source)
        self.fails("not found", ["nowhere"], train, src=self.folder / "nowhere", tgt=target)
        for name, flag in ("steps", "--steps"), ("accumulate", "--accumulate"), ("keep_last", "--keep-last"):
            self.fails(wrong, [f"{flag} is 0"], train, src=source, tgt=target, **{name: 0})
        self.fails(wrong, ["--vocab-type is 'letters'"], train, src=source, tgt=target, vocab_type="letters")
        self.fails(wrong, ["--documents is 'pages'"], train, src=source, tgt=target, documents="pages")
        self.fails(wrong, ["--batch-tokens 129"], train, src=source, tgt=target, batch_tokens=129)
        self.fails(wrong, ["seed is 9223372036854775808"], train, src=source, tgt=target, seed=2**63)
        self.fails("not found", ["refused"], train, src=source, tgt=target, resume=True)
        with self.assertRaises(TypeError):
            train(sauce=source)
        self.assertFalse((self.folder / "refused").exists())

    def test_a_library_that_cannot_be_loaded(self):
        plain = str(Path(OPTIONS.library).with_name("libheddle.so"))
        find = "import ctypes.util, sys\nctypes.util.find_library = {'heddle-train': '/nowhere/libheddle-train.so', 'heddle': %r}.get\n"
        self.runs(find % plain + "import heddle\nheddle.open(sys.argv[1]).close()\n", HEDDLE_LIBRARY="")
        self.runs(find % None + "try:\n  import heddle\nexcept ImportError as error:\n  assert '/nowhere' in str(error), error\n"
                  "else:\n  sys.exit('imported')\n", HEDDLE_LIBRARY="", LD_LIBRARY_PATH="")

    def test_a_library_without_training(self):
        self.runs("import heddle, sys\nmodel = heddle.open(sys.argv[1])\ntry:\n  model.train('none')\nexcept heddle.Error as error:\n"
                  "  assert error.kind == 'unsupported' and 'libheddle-train.so' in str(error), error\nelse:\n  sys.exit('it trains')\n",
                  HEDDLE_LIBRARY=str(Path(OPTIONS.library).with_name("libheddle.so")))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--library", required=True)
    OPTIONS, rest = parser.parse_known_args()
    os.environ["HEDDLE_LIBRARY"] = OPTIONS.library
    sys.path.insert(0, str(SOURCE / "runtime/python"))
    import heddle
    unittest.main(argv=[sys.argv[0], *rest])
