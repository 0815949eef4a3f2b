"""Compiled models from Python: numpy arrays in and out. A thin layer over heddle.h, the C API of libheddle.so.

    import heddle
    with heddle.open("model.heddle") as model:
        model.init(seed=1)
        outputs = model.call("logits", source=tokens, source_starts=[0], ...)
        outputs["logits"]                       # a numpy array
        model["output.weight"]                  # a variable, copied from the device
        model.save("weights.safetensors", heddle.WEIGHTS)
        model.train("checkpoints", src="train.en", tgt="train.de", steps=1000, report=print)

The package loads the library that HEDDLE_LIBRARY names, or else libheddle-train.so or libheddle.so, the first that the system's loader can load.
Only libheddle-train.so can train. A failure raises heddle.Error.
"""

import ctypes
import ctypes.util
import json
import os
import signal
import threading
from collections import namedtuple
from contextlib import contextmanager

import numpy as np

__all__ = ["CACHE", "COUNTER", "FROZEN", "GRADIENT", "OPTIMIZER_STATE", "TRAINING_STATE", "WEIGHTS", "Error", "Model", "Port", "Variable",
           "devices", "open", "version"]

# Kinds of variables.
WEIGHTS, OPTIMIZER_STATE, GRADIENT, COUNTER, CACHE, FROZEN = (1 << kind for kind in range(6))
TRAINING_STATE = WEIGHTS | OPTIMIZER_STATE | COUNTER

# `shape` has a number for each fixed extent, and a pair (name, maximum) for each run-time size.
Port = namedtuple("Port", "name dtype shape value_limit")
Variable = namedtuple("Variable", "name kind dtype shape bytes")

_API = 2  # HEDDLE_API_VERSION of heddle.h
_DTYPES = (np.dtype(np.float32), np.dtype(np.int32))
_STATUSES = {1: "invalid argument", 2: "not found", 3: "io", 4: "malformed", 5: "unsupported", 6: "out of memory", 7: "device lost"}
_INT32 = np.iinfo(np.int32)
_size, _text, _pointer = ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p


class Error(RuntimeError):
    """The message says what failed, where, and what to do. `kind` is "invalid argument", "not found", "io", "malformed", "unsupported",
    "out of memory" or "device lost"."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class _Tensor(ctypes.Structure):
    _fields_ = [("name", _text), ("type", ctypes.c_int), ("rank", _size), ("shape", ctypes.POINTER(ctypes.c_int64)), ("data", _pointer)]


class _Device(ctypes.Structure):
    _fields_ = [("struct_size", _size), ("id", _text), ("name", _text)]


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", _size), ("device", _text), ("target", _text), ("check_numbers", ctypes.c_int)]


class _Dimension(ctypes.Structure):
    _fields_ = [("size", _text), ("extent", ctypes.c_int64)]


class _Port(ctypes.Structure):
    _fields_ = [("struct_size", _size), ("name", _text), ("type", ctypes.c_int), ("rank", _size),
                ("dimensions", ctypes.POINTER(_Dimension)), ("value_limit", ctypes.c_int64)]


class _Variable(ctypes.Structure):
    _fields_ = [("struct_size", _size), ("name", _text), ("kind", ctypes.c_int), ("type", ctypes.c_int), ("rank", _size),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_uint64)]


class _Text(ctypes.Structure):
    _fields_ = [("path", _text), ("lines", ctypes.POINTER(_text)), ("count", _size)]


class _Report(ctypes.Structure):
    _fields_ = [("struct_size", _size), ("is_validation", ctypes.c_int), ("step", ctypes.c_uint64), ("loss", ctypes.c_double),
                ("record", _text)]


_REPORT = ctypes.CFUNCTYPE(ctypes.c_int, _pointer, ctypes.POINTER(_Report))


class _Training(ctypes.Structure):
    _fields_ = [("struct_size", _size), ("checkpoint", _text)] + [
        (name, kind) for kind, names in (
            (_Text, "src tgt text data valid_src valid_tgt valid_text valid_data"),
            (_text, "documents vocab vocab_type weights base chat_template"),
            (ctypes.c_uint64, "steps"), (ctypes.c_int64, "seed"),
            (ctypes.c_uint64, "accumulate shuffle_window validate_every patience save_every keep_last"),
            (ctypes.c_int64, "batch_sequences batch_tokens"), (ctypes.c_int, "resume validate_bleu force"),
            (_REPORT, "report"), (_pointer, "user")) for name in names.split()]


class _Memory(ctypes.Structure):
    _fields_ = [("struct_size", _size)] + [(name, ctypes.c_uint64) for name in (
        "weights", "optimizer_state", "gradients", "counters", "caches", "arena", "peak")]


def _load():
    wanted = os.environ.get("HEDDLE_LIBRARY")
    found = [path for path in map(ctypes.util.find_library, ("heddle-train", "heddle")) if path]
    library, errors = None, []
    for path in [wanted] if wanted else [*found, "libheddle-train.so", "libheddle.so"]:
        try:
            library = ctypes.CDLL(path)
            break
        except OSError as error:  # it is not there, or a library that it needs is not
            errors.append(str(error))
    if not library:
        raise ImportError(f"cannot load Heddle's library: {errors[0]}. Install Heddle (cmake --install), or set HEDDLE_LIBRARY to the path "
                          "of libheddle.so.")
    if library.heddle_api_version() < _API:
        raise ImportError(f"{path} has version {library.heddle_api_version()} of Heddle's C API, and this package needs {_API}.")
    for name in ("heddle_error_message", "heddle_version", "heddle_session_device", "heddle_session_target",
                 "heddle_session_description", "heddle_entry_name"):
        getattr(library, name).restype = _text
    for name in ("heddle_entry_count", "heddle_variable_count", "heddle_output_count"):
        getattr(library, name).restype = _size
    for name in ("heddle_close", "heddle_free_outputs"):
        getattr(library, name).restype = None
    return library


_library = _load()


def _decoded(text):
    """Decodes a name or a message. It may contain bytes from files that are not UTF-8."""
    return text.decode(errors="replace")


def _whole(encoded):
    """Checks that a name or a path has no zero byte, at which the library would end it."""
    if b"\0" in encoded:
        raise Error("invalid argument", f"{_decoded(encoded)!r} has a zero in it, at which the library would cut it.")
    return encoded


def _name(text):
    return _whole(text.encode())


def _path(path):
    return _whole(os.fsencode(path))


def _unsigned(kind, number, what):
    """Returns the number as a ctypes integer. Raises an error if it does not fit: ctypes would drop bits silently."""
    most = 2 ** (8 * ctypes.sizeof(kind) - (kind is ctypes.c_int64)) - 1
    if not 0 <= number <= most:
        raise Error("invalid argument", f"{what} is {number}, which is not between 0 and {most}.")
    return kind(number)


def _check(status):
    if status:
        raise Error(_STATUSES.get(status, str(status)), _decoded(_library.heddle_error_message()))


def _filled(structure, function, *arguments):
    result = structure()
    result.struct_size = ctypes.sizeof(structure)
    _check(function(*arguments, ctypes.byref(result)))
    return result


def _count(function, *arguments):
    count = _size()
    _check(function(*arguments, ctypes.byref(count)))
    return count.value


def version():
    return _decoded(_library.heddle_version())


def devices():
    """Returns the devices of this machine as pairs (id, name), the preferred ones first."""
    found = [_filled(_Device, _library.heddle_device_at, _size(i)) for i in range(_count(_library.heddle_device_count))]
    return [(_decoded(device.id), _decoded(device.name)) for device in found]


def open(artifact, device=None, target=None, check_numbers=False):
    """Opens a model on a device. `artifact` is a path or the bytes of a file. Close the model, or use it in a `with`."""
    return Model(artifact, device, target, check_numbers)


class Model:
    """An open model, and a mapping from names to variables. Threads may share it; they take turns. A forked process cannot use its
    parent's models. It must end with `os._exit`, as multiprocessing's processes do: exit handlers can wait for a lock that was held
    at the fork."""

    _session = None

    def __init__(self, artifact, device=None, target=None, check_numbers=False):
        self._process, self._lock = os.getpid(), threading.RLock()
        encode = lambda text: None if text is None else _name(text)
        options = _Options(ctypes.sizeof(_Options), encode(device), encode(target), bool(check_numbers))
        session = _pointer()
        if isinstance(artifact, (bytes, bytearray, memoryview)):
            data = bytes(artifact)
            _check(_library.heddle_open_bytes(data, _size(len(data)), ctypes.byref(options), ctypes.byref(session)))
        else:
            _check(_library.heddle_open(_path(artifact), ctypes.byref(options), ctypes.byref(session)))
        self._session = session

    def close(self):
        if not self._session or os.getpid() != self._process:  # closing waits for the device's threads, which a fork does not have
            return
        with self._lock:
            _library.heddle_close(self._session)
            self._session = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    @contextmanager
    def _use(self):
        """Yields the session to one thread at a time: ctypes lets other threads run during a call. Read what it points to within, too."""
        if os.getpid() != self._process:  # check before locking: another thread may have held the lock at the fork
            raise Error("invalid argument", f"the model was opened by process {self._process}, and this is a fork of it, {os.getpid()}, "
                        "which cannot use its models: start processes by multiprocessing's 'spawn', and open the model in each.")
        with self._lock:
            if not self._session:
                raise Error("invalid argument", "the model is closed.")
            yield self._session

    @property
    def device(self):
        with self._use() as session:
            return _decoded(_library.heddle_session_device(session))

    @property
    def target(self):
        with self._use() as session:
            return _decoded(_library.heddle_session_target(session))

    @property
    def description(self):
        """The model description, as a dictionary."""
        with self._use() as session:
            return json.loads(_decoded(_library.heddle_session_description(session)))

    @property
    def entries(self):
        with self._use() as session:
            return [_decoded(_library.heddle_entry_name(session, _size(i))) for i in range(_library.heddle_entry_count(session))]

    def _ports(self, entry, direction):
        ports = []
        with self._use() as session:
            for i in range(_count(_library.heddle_port_count, session, _name(entry), direction)):
                port = _filled(_Port, _library.heddle_port_at, session, _name(entry), direction, _size(i))
                shape = tuple((_decoded(dim.size), dim.extent) if dim.size else dim.extent for dim in port.dimensions[:port.rank])
                ports.append(Port(_decoded(port.name), _DTYPES[port.type], shape, port.value_limit or None))
        return ports

    def inputs(self, entry):
        return self._ports(entry, 0)

    def outputs(self, entry):
        return self._ports(entry, 1)

    def _variable(self, function, key):
        with self._use() as session:
            raw = _filled(_Variable, function, session, key)
            return Variable(_decoded(raw.name), raw.kind, _DTYPES[raw.type], tuple(raw.shape[:raw.rank]), raw.bytes)

    @property
    def variables(self):
        with self._use() as session:
            return [self._variable(_library.heddle_variable_at, _size(i)) for i in range(_library.heddle_variable_count(session))]

    def __iter__(self):
        """The names of the variables."""
        return iter([variable.name for variable in self.variables])

    def __len__(self):
        return len(self.variables)

    def __bool__(self):
        return True  # even if the model is closed or has no variables

    def __contains__(self, name):
        with self._use() as session:
            return not _library.heddle_variable_named(session, _name(name), ctypes.byref(_Variable(ctypes.sizeof(_Variable))))

    def __getitem__(self, name):
        """Returns a copy of a variable."""
        info = self._variable(_library.heddle_variable_named, _name(name))
        value = np.empty(info.shape, info.dtype)
        with self._use() as session:
            _check(_library.heddle_read_variable(session, _name(name), value.ctypes.data_as(_pointer), _size(value.nbytes)))
        return value

    def __setitem__(self, name, value):
        info = self._variable(_library.heddle_variable_named, _name(name))
        tensor, keep = _tensor(name, value, info.dtype)
        with self._use() as session:
            _check(_library.heddle_write_variable(session, ctypes.byref(tensor)))
        del keep

    def prepare(self, *entries):
        names = (_text * len(entries))(*(_name(entry) for entry in entries))
        with self._use() as session:
            _check(_library.heddle_prepare(session, names, _size(len(entries))))

    def init(self, seed=1):
        """Seeds the model's random numbers and draws initial weights."""
        with self._use() as session:
            _check(_library.heddle_init(session, _unsigned(ctypes.c_uint64, seed, "seed")))

    def _inputs(self, entry, inputs):
        dtypes = {port.name: port.dtype for port in self.inputs(entry)}
        # A value with an unknown name becomes float32. The library refuses it, with a message that lists the names.
        made = [_tensor(name, value, dtypes.get(name, _DTYPES[0])) for name, value in inputs.items()]
        return (_Tensor * len(made))(*(tensor for tensor, _ in made)), made

    def call(self, entry, **inputs):
        """Runs an entry and returns its outputs by name. Inputs are arrays or lists of numbers."""
        tensors, keep = self._inputs(entry, inputs)
        outputs = _pointer()
        with self._use() as session:
            _check(_library.heddle_call(session, _name(entry), tensors, _size(len(tensors)), ctypes.byref(outputs)))
        del keep
        return _take(outputs)

    def run(self, entry, **inputs):
        """Starts an entry without waiting for it, so that Python can prepare the next call meanwhile."""
        tensors, keep = self._inputs(entry, inputs)
        with self._use() as session:
            _check(_library.heddle_run(session, _name(entry), tensors, _size(len(tensors))))
        del keep

    def read_outputs(self):
        """Waits for the last run and returns its outputs by name."""
        outputs = _pointer()
        with self._use() as session:
            _check(_library.heddle_read_outputs(session, ctypes.byref(outputs)))
        return _take(outputs)

    def wait(self):
        with self._use() as session:
            _check(_library.heddle_wait(session))

    def save(self, path, kinds=TRAINING_STATE):
        """Writes the variables of these kinds to a safetensors file."""
        with self._use() as session:
            _check(_library.heddle_save(session, _path(path), _unsigned(ctypes.c_uint32, kinds, "kinds")))

    def load(self, path, kinds=TRAINING_STATE):
        """Reads the variables of these kinds from a safetensors file. Weights may also come from the published model that the artifact was
        compiled from: its folder, its GGUF file, or its model.safetensors."""
        with self._use() as session:
            _check(_library.heddle_load(session, _path(path), _unsigned(ctypes.c_uint32, kinds, "kinds")))

    def train(self, checkpoint, report=None, **options):
        """Trains the model as `heddle-run train` does with the same options: losses and checkpoints are the same bits, and either resumes
        the other's training. `checkpoint` is the folder of the checkpoints. Options have the names of the flags, with _ for -:

            src, tgt                   sentence pairs; or text, plain text; or data, records of JSON
            valid_src, valid_tgt       pairs to validate on; or valid_text; or valid_data
            steps, seed, resume        steps in all, those before a resume included
            validate_every, validate_bleu, patience, save_every, keep_last
            batch_sequences, batch_tokens, accumulate, shuffle_window, documents
            vocab, vocab_type, weights, base, chat_template, force

        A text is the path of a file, or a list of lines (str); a list with one path is a text of one line. `heddle-run train --help` explains the options; error messages name them as flags.
        `report` is called after each step and each validation with a dictionary, which `heddle-run train --log` writes as a line; the next step
        may already run. If it returns a true value, training ends after that step, with a checkpoint. If it raises an exception, training ends
        so too, and the exception is raised again.

        Ctrl-C (SIGINT) in the main thread also ends training so, and then calls the handler of SIGINT, which raises KeyboardInterrupt unless
        you have set another. It waits until the step ends: nothing interrupts a step or a validation that runs, or what comes before the first
        step, such as learning a vocabulary and compiling kernels. A training in another thread ends only by its `report`.

        Returns "finished", "stopped" (by `report`) or "patience". The model then has the weights of the last step."""
        if not hasattr(_library, "heddle_train"):
            raise Error("unsupported", "this library of Heddle cannot train. Install libheddle-train.so, or set HEDDLE_LIBRARY to its path.")
        training = _filled(_Training, _library.heddle_training_defaults)
        training.checkpoint = _path(checkpoint)
        kinds = dict(_Training._fields_[2:-2])
        for name, value in options.items():
            if name not in kinds:
                raise TypeError(f"train() has no option '{name}'")
            if value is not None:
                setattr(training, name, _option(kinds[name], value, name))
        raised, interrupts = [], []

        def tell(_, told):
            try:
                return bool(report and report(json.loads(told.contents.record))) or bool(interrupts)
            except BaseException as error:  # cannot pass through C
                raised.append(error)
                return True

        training.report = _REPORT(tell)
        end = ctypes.c_int()
        with self._use() as session, _interrupts_in(interrupts):
            try:
                _check(_library.heddle_train(session, ctypes.byref(training), ctypes.byref(end)))
            except Error as error:  # such as a disk too full for the last checkpoint
                raise error from (raised[0] if raised else None)
            if raised:
                raise raised[0]
        return ("finished", "stopped", "patience")[end.value]

    @property
    def memory(self):
        """Device memory in bytes, by purpose."""
        with self._use() as session:
            report = _filled(_Memory, _library.heddle_session_memory, session)
        return {name: getattr(report, name) for name, _ in _Memory._fields_[1:]}


@contextmanager
def _interrupts_in(interrupts):
    """Adds each SIGINT within to the list, and calls its handler afterwards: an exception that a handler raises while C calls Python would be
    lost. Does nothing in other threads than the main thread, which cannot have handlers, and if SIGINT has no handler in Python."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    signal.signal(signal.SIGINT, lambda *arguments: interrupts.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if interrupts:
            handler(*interrupts[0])


def _option(kind, value, name):
    """Returns an option of a training in the form that its field has. Raises a TypeError that names the option if it is of another type."""
    try:
        if kind is _Text and not isinstance(value, (str, bytes, os.PathLike)):
            lines = list(value)
            for line in lines:
                if not isinstance(line, str):
                    raise TypeError(f"a text is a path or a list of str, and this list holds {type(line).__name__}")
            return _Text(None, (_text * len(lines))(*map(_name, lines)), len(lines))
        if kind is _Text:
            return _Text(_path(value))
        if kind is _text:
            return _path(value)
        if kind is ctypes.c_int:
            return int(bool(value))
        return _unsigned(kind, value, name)
    except TypeError as error:
        raise TypeError(f"train() cannot take this '{name}': {error}") from None


def _tensor(name, value, dtype):
    """Returns the structure and the objects that it points to, which must live as long as the structure is in use. `dtype` is that of
    the input or variable."""
    array = np.asarray(value)
    # An empty array counts as integers. Python integers that are too large for any dtype are objects.
    integers = array.dtype.kind in "biu" or all(isinstance(number, int) for number in array.flat)
    if not integers and array.dtype.kind != "f":
        raise Error("invalid argument", f"'{name}' has numbers of {array.dtype}; Heddle takes float32 and int32.")
    if not integers:
        dtype = _DTYPES[0]  # also for an int32 variable: the library packs the floats if it is a packed weight, else refuses them
    elif dtype == np.int32 and array.dtype != dtype and array.size:
        for number in int(array.min()), int(array.max()):
            if not _INT32.min <= number <= _INT32.max:
                raise Error("invalid argument", f"'{name}' holds {number}, and its numbers are int32: {_INT32.min} to {_INT32.max}.")
    array = np.ascontiguousarray(array, dtype)
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    encoded = _name(name)
    return _Tensor(encoded, _DTYPES.index(array.dtype), array.ndim, shape, array.ctypes.data_as(_pointer)), (array, shape, encoded)


def _take(outputs):
    try:
        result = {}
        for i in range(_library.heddle_output_count(outputs)):
            tensor = _Tensor()
            _check(_library.heddle_output_at(outputs, _size(i), ctypes.byref(tensor)))
            shape, dtype = tuple(tensor.shape[:tensor.rank]), _DTYPES[tensor.type]
            count = int(np.prod(shape, dtype=np.int64))
            data = ctypes.string_at(tensor.data, count * dtype.itemsize) if count else b""
            result[_decoded(tensor.name)] = np.frombuffer(data, dtype).reshape(shape).copy()
        return result
    finally:
        _library.heddle_free_outputs(outputs)
