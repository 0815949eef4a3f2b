"""Compiled models from Python: numpy arrays in and out. A thin layer over heddle.h, which libheddle.so has.

    import heddle
    with heddle.open("model.heddle") as model:
        model.init(seed=1)
        outputs = model.call("logits", source=tokens, source_starts=[0], ...)
        outputs["logits"]                       # a numpy array
        model["output.weight"]                  # a variable, copied from the device
        model.save("weights.safetensors", heddle.WEIGHTS)

The library is the one that HEDDLE_LIBRARY names, or the one that the system's loader finds. A failure raises heddle.Error.
"""

import ctypes
import ctypes.util
import json
import os
from collections import namedtuple

import numpy as np

__all__ = ["CACHE", "COUNTER", "FROZEN", "GRADIENT", "OPTIMIZER_STATE", "TRAINING_STATE", "WEIGHTS", "Error", "Model", "Port", "Variable",
           "devices", "open", "version"]

# Kinds of variables.
WEIGHTS, OPTIMIZER_STATE, GRADIENT, COUNTER, CACHE, FROZEN = (1 << kind for kind in range(6))
TRAINING_STATE = WEIGHTS | OPTIMIZER_STATE | COUNTER

# `shape` has a number for each fixed extent, and for each other one the pair of its name and its maximum.
Port = namedtuple("Port", "name dtype shape value_limit")
Variable = namedtuple("Variable", "name kind dtype shape bytes")

_API = 1  # of heddle.h
_DTYPES = (np.dtype(np.float32), np.dtype(np.int32))
_STATUSES = {1: "invalid argument", 2: "not found", 3: "io", 4: "malformed", 5: "unsupported", 6: "out of memory", 7: "device lost"}
_size, _text, _pointer = ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p


class Error(RuntimeError):
    """What failed, where, and what to do. `kind` is one of "invalid argument", "not found", "io", "malformed", "unsupported",
    "out of memory" and "device lost"."""

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


class _Memory(ctypes.Structure):
    _fields_ = [("struct_size", _size)] + [(name, ctypes.c_uint64) for name in (
        "weights", "optimizer_state", "gradients", "counters", "caches", "arena", "peak")]


def _load():
    path = os.environ.get("HEDDLE_LIBRARY") or ctypes.util.find_library("heddle") or "libheddle.so"
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"cannot load Heddle's library: {error}. Install Heddle (cmake --install), or set HEDDLE_LIBRARY to the path "
                          "of libheddle.so.") from None
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


def _check(status):
    if status:
        raise Error(_STATUSES.get(status, str(status)), _library.heddle_error_message().decode())


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
    return _library.heddle_version().decode()


def devices():
    """The devices of this machine, (id, name), the preferred ones first."""
    found = [_filled(_Device, _library.heddle_device_at, _size(i)) for i in range(_count(_library.heddle_device_count))]
    return [(device.id.decode(), device.name.decode()) for device in found]


def open(artifact, device=None, target=None, check_numbers=False):
    """A model on a device: `artifact` is a path, or the bytes of a file. Close it, or use it in a `with`."""
    return Model(artifact, device, target, check_numbers)


class Model:
    def __init__(self, artifact, device=None, target=None, check_numbers=False):
        self._session = None
        encode = lambda text: None if text is None else text.encode()
        options = _Options(ctypes.sizeof(_Options), encode(device), encode(target), bool(check_numbers))
        session = _pointer()
        if isinstance(artifact, (bytes, bytearray, memoryview)):
            data = bytes(artifact)
            _check(_library.heddle_open_bytes(data, _size(len(data)), ctypes.byref(options), ctypes.byref(session)))
        else:
            _check(_library.heddle_open(os.fsencode(artifact), ctypes.byref(options), ctypes.byref(session)))
        self._session = session

    def close(self):
        if self._session:
            _library.heddle_close(self._session)
        self._session = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    @property
    def _open(self):
        if not self._session:
            raise Error("invalid argument", "the model is closed.")
        return self._session

    @property
    def device(self):
        return _library.heddle_session_device(self._open).decode()

    @property
    def target(self):
        return _library.heddle_session_target(self._open).decode()

    @property
    def description(self):
        """What the model was compiled from: a dictionary of the description's keys."""
        return json.loads(_library.heddle_session_description(self._open))

    @property
    def entries(self):
        return [_library.heddle_entry_name(self._open, _size(i)).decode() for i in range(_library.heddle_entry_count(self._open))]

    def _ports(self, entry, direction):
        count = _count(_library.heddle_port_count, self._open, entry.encode(), direction)
        for i in range(count):
            port = _filled(_Port, _library.heddle_port_at, self._open, entry.encode(), direction, _size(i))
            shape = tuple((dim.size.decode(), dim.extent) if dim.size else dim.extent for dim in port.dimensions[:port.rank])
            yield Port(port.name.decode(), _DTYPES[port.type], shape, port.value_limit or None)

    def inputs(self, entry):
        return list(self._ports(entry, 0))

    def outputs(self, entry):
        return list(self._ports(entry, 1))

    @staticmethod
    def _variable(raw):
        return Variable(raw.name.decode(), raw.kind, _DTYPES[raw.type], tuple(raw.shape[:raw.rank]), raw.bytes)

    @property
    def variables(self):
        return [self._variable(_filled(_Variable, _library.heddle_variable_at, self._open, _size(i)))
                for i in range(_library.heddle_variable_count(self._open))]

    def __getitem__(self, name):
        """A copy of a variable."""
        info = self._variable(_filled(_Variable, _library.heddle_variable_named, self._open, name.encode()))
        value = np.empty(info.shape, info.dtype)
        _check(_library.heddle_read_variable(self._open, name.encode(), value.ctypes.data_as(_pointer), _size(value.nbytes)))
        return value

    def __setitem__(self, name, value):
        info = self._variable(_filled(_Variable, _library.heddle_variable_named, self._open, name.encode()))
        tensor, keep = _tensor(name, value, info.dtype)
        _check(_library.heddle_write_variable(self._open, ctypes.byref(tensor)))
        del keep

    def prepare(self, *entries):
        names = (_text * len(entries))(*(entry.encode() for entry in entries))
        _check(_library.heddle_prepare(self._open, names, _size(len(entries))))

    def init(self, seed=1):
        """Seeds the model's random numbers and draws every weight."""
        _check(_library.heddle_init(self._open, ctypes.c_uint64(seed)))

    def _inputs(self, entry, inputs):
        dtypes = {port.name: port.dtype for port in self.inputs(entry)}
        made = [_tensor(name, value, dtypes.get(name)) for name, value in inputs.items()]
        return (_Tensor * len(made))(*(tensor for tensor, _ in made)), made

    def call(self, entry, **inputs):
        """Runs an entry, and gives its outputs by name. Inputs are arrays, or lists of numbers."""
        tensors, keep = self._inputs(entry, inputs)
        outputs = _pointer()
        _check(_library.heddle_call(self._open, entry.encode(), tensors, _size(len(tensors)), ctypes.byref(outputs)))
        del keep
        return _take(outputs)

    def run(self, entry, **inputs):
        """Starts an entry and does not wait for it, so that Python prepares the next call meanwhile."""
        tensors, keep = self._inputs(entry, inputs)
        _check(_library.heddle_run(self._open, entry.encode(), tensors, _size(len(tensors))))
        del keep

    def read_outputs(self):
        """The outputs of the last run."""
        outputs = _pointer()
        _check(_library.heddle_read_outputs(self._open, ctypes.byref(outputs)))
        return _take(outputs)

    def wait(self):
        _check(_library.heddle_wait(self._open))

    def save(self, path, kinds=TRAINING_STATE):
        """Writes variables as a safetensors file."""
        _check(_library.heddle_save(self._open, os.fsencode(path), ctypes.c_uint32(kinds)))

    def load(self, path, kinds=TRAINING_STATE):
        _check(_library.heddle_load(self._open, os.fsencode(path), ctypes.c_uint32(kinds)))

    @property
    def memory(self):
        """Device memory in bytes, by what it is for."""
        report = _filled(_Memory, _library.heddle_session_memory, self._open)
        return {name: getattr(report, name) for name, _ in _Memory._fields_[1:]}


def _tensor(name, value, dtype):
    """The structure, and what it points to: keep that as long as the structure is in use."""
    array = np.asarray(value)
    if dtype is not None and array.dtype != dtype:
        if not np.can_cast(array.dtype, dtype, "same_kind") and not (array.size == 0 or array.dtype == np.bool_):
            raise Error("invalid argument", f"the input '{name}' has numbers of {array.dtype}, and the model takes {dtype}.")
        array = array.astype(dtype)
    array = np.ascontiguousarray(array)
    if array.dtype not in _DTYPES:
        raise Error("invalid argument", f"'{name}' has numbers of {array.dtype}; Heddle takes float32 and int32.")
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    encoded = name.encode()
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
            result[tensor.name.decode()] = np.frombuffer(data, dtype).reshape(shape).copy()
        return result
    finally:
        _library.heddle_free_outputs(outputs)
