"""Checks the traces that heddle-compile and heddle-run write with --profile: they parse, spans nest, every thread and
process has a name, kernels have the numbers that the compiler counted, and recording does not change a training.
profile.py BIN MODELS"""
import json
import os
import subprocess
import sys
import tempfile

BIN, MODELS = (os.path.abspath(path) for path in sys.argv[1:])
SMALL = ["d_model=32", "d_ff=64", "max_tokens=512", "max_sequences=32", "explain_entry=true"]


def fail(message):
    sys.exit("FAILED: " + message)


def run(program, *arguments, code=0, text=None):
    done = subprocess.run([os.path.join(BIN, program), *arguments], capture_output=True, text=True, input=text)
    if done.returncode != code:
        fail(f"{program} {' '.join(arguments)} ends with {done.returncode}: {done.stderr}")
    return done.stdout + done.stderr


class Trace:
    """A trace as a viewer reads it: slices by (process, thread), outermost first, times in integer nanoseconds."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
        self.notes = trace["otherData"]
        events = trace["traceEvents"]
        processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
        self.tracks = {(processes[pid], name): [] for (pid, _), name in threads.items()}
        if len(self.tracks) != len(threads):
            fail(f"{path}: two threads of a process have one name")
        for event in events:
            if event["ph"] == "X":
                begin, length = round(event["ts"] * 1000), round(event["dur"] * 1000)
                event["begin"], event["end"] = begin, begin + length
                track = processes[event["pid"]], threads[event["pid"], event["tid"]]
                self.tracks[track].append(event)
        for track, slices in self.tracks.items():
            self.check_nesting(path, track, slices)

    def check_nesting(self, path, track, slices):
        open_slices, last = [], 0
        for event in slices:
            if event["begin"] < last or event["end"] < event["begin"]:
                fail(f"{path}: {track}: {event['name']} is out of order")
            last = event["begin"]
            while open_slices and open_slices[-1]["end"] <= event["begin"]:
                open_slices.pop()
            if open_slices and event["end"] > open_slices[-1]["end"]:
                fail(f"{path}: {track}: {event['name']} ends after {open_slices[-1]['name']}, in which it began")
            event["parent"] = open_slices[-1] if open_slices else None
            open_slices.append(event)

    def slices(self, name, thread=None):
        return [event for (_, on), events in self.tracks.items() for event in events
                if event["name"] == name and thread in (None, on)]

    def kernels(self, entry):
        return [event for (_, thread), events in self.tracks.items() for event in events
                if thread == "queue" and event["args"].get("entry") == entry]

    def check_has(self, *names, thread=None):
        for name in names:
            if not self.slices(name, thread):
                fail(f"no '{name}' in the trace; it has {sorted({e['name'] for t in self.tracks.values() for e in t})}")


def close(value, expected):
    return abs(value - expected) <= 1e-9 * abs(expected)


def check_kernels(trace, entry):
    kernels = trace.kernels(entry)
    if not kernels:
        fail(f"no kernel of {entry}")
    for event in kernels:
        values, duration = event["args"], event["end"] - event["begin"]
        if not values.get("ops"):
            fail(f"{event['name']} of {entry} does not say which ops of the model it computes")
        if event["parent"]["name"] != entry:
            fail(f"{event['name']} of {entry} is in {event['parent']['name']}")
        if duration > 0 and not (close(values["GFLOP/s"] * duration, values["flops"]) and
                                 close(values["GB/s"] * duration, values["bytes"])):
            fail(f"{event['name']}: rates are not what was done over the time: {values}")
    for call in trace.slices(entry, "queue"):
        own = [event for event in kernels if event["parent"] is call]
        if call["args"]["launches"] != len(own):
            fail(f"{entry} has {len(own)} launches and says {call['args']['launches']}")
        for key in "flops", "model_flops", "bytes":
            if not close(call["args"][key], sum(event["args"][key] for event in own)):
                fail(f"the {key} of {entry} are not those of its kernels")


def compile_models():
    settings = [word for setting in SMALL for word in ("--set", setting)]
    run("heddle-compile", f"{MODELS}/numbers.toml", *settings, "-o", "plain.heddle")
    run("heddle-compile", f"{MODELS}/numbers.toml", *settings, "-o", "n.heddle", "--profile=compile.json",
        "--report=report.json")
    with open("plain.heddle", "rb") as plain, open("n.heddle", "rb") as profiled:
        if plain.read() != profiled.read():
            fail("--profile changes what is compiled")
    trace = Trace("compile.json")
    phases = ["read model", "import", "derive", "fuse-attention", "differentiate", "prepare", "fuse", "tile", "layout", "lower", "plan", "emit"]
    found = [event["name"] for event in trace.tracks["heddle-compile", "main"] if event["parent"] is None]
    if found != phases:
        fail(f"the phases are {found}")
    if trace.slices("heddle-fuse-attention")[0]["parent"]["name"] != "fuse-attention":
        fail("a pass is not in its phase")
    with open("report.json", encoding="utf-8") as file:
        kernels = max(entry["kernels"] for entry in json.load(file))
    for step, within in [("heddle-lower-to-lanes", "lower"), ("lower to SPIR-V", "heddle-lower-to-spirv"),
                         ("serialize", "emit")]:
        found = trace.slices(step)
        names = {event["args"].get("on") for event in found}
        if None in names or len(names) < kernels:
            fail(f"{step}: of over {kernels} kernels there are {len(names)}: {names}")
        whole, = trace.slices(within, "main")
        if any(event["begin"] < whole["begin"] or event["end"] > whole["end"] for event in found):
            fail(f"{step} is not done while {within} is")

    # A failed compilation is recorded, too. A profile that cannot be written is an error.
    run("heddle-compile", f"{MODELS}/numbers.toml", "--set", "heads=3", "-o", "x.heddle", "--profile=failed.json", code=2)
    Trace("failed.json").check_has("read model")
    said = run("heddle-compile", f"{MODELS}/numbers.toml", "-o", "x.heddle", "--profile=none/x.json", code=1)
    if "none/x.json" not in said:
        fail(f"heddle-compile says: {said}")


def train():
    common = ["train", "n.heddle", "--src", "data/train.en", "--tgt", "data/train.de", "--valid-src", "data/valid.en",
              "--valid-tgt", "data/valid.de", "--steps", "14", "--validate-every", "7", "--shuffle-window", "32"]
    run("heddle-run", *common, "--checkpoint", "plain")
    said = run("heddle-run", *common, "--checkpoint", "c", "--profile=train.json", "--profile-steps=4:5")
    if "wrote the profile" not in said:
        fail(f"train says: {said}")
    for name in "weights.safetensors", "optimizer.safetensors":
        with open(f"plain/step-00000014/{name}", "rb") as plain, open(f"c/step-00000014/{name}", "rb") as profiled:
            if plain.read() != profiled.read():
                fail(f"--profile changes {name}")
    trace = Trace("train.json")
    trace.check_has("read artifact", "open device", "learn vocabulary", "compile kernel", "record launches",
                    "get batches", "validate", "save checkpoint", "check and hash files", thread="main")
    trace.check_has("read and tokenise block", "make batches", thread="text reader")
    steps = trace.slices("step")
    if [event["args"]["step"] for event in steps] != [4, 5, 6, 7, 8]:
        fail(f"steps {[event['args'] for event in steps]} are recorded")
    if [event["args"]["step"] for event in trace.slices("validate")] != [7]:
        fail("not the validation of step 7 alone is recorded")
    if [event["args"]["step"] for event in trace.slices("save checkpoint")] != [7]:
        fail("not the checkpoint of step 7 alone is recorded")
    check_kernels(trace, "train_step")
    check_kernels(trace, "eval")
    calls = trace.slices("train_step", "queue")
    if len(calls) != 5:
        fail(f"{len(calls)} calls of train_step are recorded")
    # The device works while the host waits for it.
    for call, step in zip(calls, steps):
        if not step["begin"] <= call["begin"] <= call["end"] <= step["end"]:
            fail("a call of train_step is not within its step")

    # A resumed training counts its own steps.
    resumed = [*common, "--checkpoint", "c", "--resume", "--profile=resumed.json", "--profile-steps", "2:1"]
    resumed[resumed.index("14")] = "18"
    run("heddle-run", *resumed)
    if [event["args"]["step"] for event in Trace("resumed.json").slices("step")] != [16]:
        fail("not the second step of the resumed training is recorded")

    for flags, code, words in [(["--profile-steps=2:3"], 2, "--profile"),
                               (["--profile=x.json", "--profile-steps=0:3"], 2, "FIRST:COUNT"),
                               (["--profile=x.json", "--profile-steps=3"], 2, "FIRST:COUNT"),
                               (["--profile=x.json", "--debug-numerics"], 2, "--debug-numerics"),
                               (["--profile=none/x.json"], 1, "none/x.json"),
                               (["--profile=x.json", "--verify-resume"], 2, "--verify-resume excludes --profile")]:
        said = run("heddle-run", *common, "--checkpoint", "none", *flags, code=code)
        if words not in said:
            fail(f"train {flags} says: {said}")
    if os.path.exists("none"):
        fail("a training began whose profile cannot be written")


def use():
    with open("data/test.en", encoding="utf-8") as file:
        lines = file.read()
    plain = run("heddle-run", "translate", "n.heddle", "--checkpoint", "c", "--beam", "2", text=lines)
    run("heddle-run", "translate", "n.heddle", "--checkpoint", "c", "--beam", "2", "--profile=t.json", text=lines)
    trace = Trace("t.json")
    trace.check_has("load weights", "wait for lines", "tokenise lines", "encode", "decoding step", "write answers")
    check_kernels(trace, "encode")
    check_kernels(trace, "beam_step")
    if not plain.strip():
        fail("nothing is translated")

    run("heddle-run", "score", "n.heddle", "--checkpoint", "c", "--src", "data/test.en", "--tgt", "data/test.de",
        "--profile=s.json")
    trace = Trace("s.json")
    trace.check_has("evaluate", "decoding step", "compare with references")
    check_kernels(trace, "eval")
    run("heddle-run", "explain", "n.heddle", "--checkpoint", "c", "--src", "four", "--html", "p.html", "--profile=e.json")
    trace = Trace("e.json")
    trace.check_has("write page")
    check_kernels(trace, "explain")

    # The kernels' work adds up to the compiler's count for the same inputs.
    measured = run("heddle-run", "bench", "n.heddle", "--entry", "train_step", "--entry", "eval", "--repeat", "2",
                   "--ceilings", "none", "--json", "--profile=b.json")
    trace = Trace("b.json")
    for entry in json.loads(measured[measured.index("{"):].splitlines()[0])["entries"]:
        check_kernels(trace, entry["entry"])
        call, = trace.slices(entry["entry"], "queue")
        for key in "flops", "model_flops", "bytes":
            if not close(call["args"][key], entry[key]):
                fail(f"{entry['entry']}: {key} {call['args'][key]} in the trace, {entry[key]} counted")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    run("heddle-data", "numbers", "--out", "data", "--train", "1000", "--valid", "20", "--test", "40", "--maximum", "9999")
    compile_models()
    if "vulkan:" not in run("heddle-run", "devices"):
        print("no Vulkan device")
        sys.exit(77)
    train()
    use()
