"""Compares TensorBoard's event files with the JSON log of the same training: read_events.py FOLDER LOG

Reads the files only by their published format: TFRecord framing, masked CRC-32C, and protocol buffers.
"""
import json
import struct
import sys
from pathlib import Path


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def masked(data):
    value = crc32c(data)
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        (length,), (check,) = struct.unpack("<Q", data[:8]), struct.unpack("<I", data[8:12])
        assert check == masked(data[:8]), "the length's checksum is wrong"
        event, (check,) = data[12 : 12 + length], struct.unpack("<I", data[12 + length : 16 + length])
        assert len(event) == length and check == masked(event), "the record's checksum is wrong"
        yield event
        data = data[16 + length :]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                assert key & 7 == 2, "an unknown wire type"
                size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def main():
    scalars, dropped = {}, []
    for path in sorted(Path(sys.argv[1]).glob("events.out.tfevents.*")):
        events = [dict(fields(event)) for event in records(path.read_bytes())]
        assert events[0][3] == b"brain.Event:2", "no file version"
        for event in events[1:]:
            assert struct.unpack("<d", event[1])[0] > 1.6e9, "no time of day"
            if 7 in event:  # earlier records from this step on are void
                assert dict(fields(event[7])) == {1: 1}
                scalars = {key: value for key, value in scalars.items() if key[1] < event[2]}
                dropped.append(event[2])
            for number, value in fields(event.get(5, b"")):
                item = dict(fields(value))
                scalars[item[1].decode(), event[2]] = struct.unpack("<f", item[2])[0]
    expected = {}
    tags = {"loss": "train/loss", "learning_rate": "train/learning_rate", "tokens_per_second": "train/tokens_per_second",
            "validation_loss": "validation/loss", "validation_perplexity": "validation/perplexity"}
    for line in Path(sys.argv[2]).read_text().splitlines():
        record = json.loads(line)
        for key, tag in tags.items():
            if key in record:
                expected[tag, record["step"]] = struct.unpack("<f", struct.pack("<f", record[key]))[0]
    assert expected and scalars == expected, "the values differ"
    print(f"{len(scalars)} values, resumed at {dropped}")


main()
