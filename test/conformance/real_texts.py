"""Compares greedy texts of published GGUF files with llama.cpp's (the package xllamacpp), which computes them in f32 from
the file's numbers.

    real_texts.py --bin build/bin FILE.gguf... [--target=NAME]

Needs a Python with xllamacpp, gguf and numpy. Each file continues twelve texts, and answers four conversations if it has a
chat template, with 48 tokens each. Texts may differ from a token on at which the two best logits of llama.cpp differ by
less than 0.02."""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np

from compiled import Report

TOKENS, CLOSE = 48, 0.02
TEXTS = ("Once upon a time", "The capital of France is", "def fibonacci(n):\n", "Water boils at", "In 1969, two men",
         "The opposite of hot is", "for (int i = 0; i < n; ++i)", "Dear Sir or Madam,", "Zwei Brüder lebten", "1, 2, 3, 4,",
         "SELECT name FROM users", "The three primary colours are")
CHATS = (["What is the capital of Italy?"], ["Write one sentence about the sea."],
         ["Say hello.", "Hello! How can I help you today?", "Count from one to five."], ["Name a prime number above ten."])


def unpack(source, target):
    """Writes a file with the same model, all of whose numbers are f32. Returns true if it has a chat template."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.get_field("general.architecture").contents())
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name not in ("general.architecture", "general.file_type"):
            isArray = field.types[0] == gguf.GGUFValueType.ARRAY
            writer.add_key_value(field.name, field.contents(), field.types[0], **({"sub_type": field.types[-1]} if isArray else {}))
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        writer.add_tensor(tensor.name, values.reshape([int(extent) for extent in tensor.shape][::-1]))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return reader.get_field("tokenizer.chat_template") is not None


def messages(chat):
    return [{"role": "assistant" if i % 2 else "user", "content": text} for i, text in enumerate(chat)]


def peer(file, has_chats):
    """Returns, for each text and conversation, the pieces that llama.cpp appends, with the difference of the two best
    logits at each."""
    script = f"""
import json, sys, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.n_parallel, p.n_ctx, p.use_jinja = {file!r}, 1, 512, True
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = {os.cpu_count()}
server = xllamacpp.Server(p)
read = lambda answer: answer if isinstance(answer, dict) else json.loads(answer)
greedy = {{"temperature": 0, "cache_prompt": False}}
texts = [read(server.handle_completions({{"prompt": text, "n_predict": {TOKENS}, "n_probs": 2, **greedy}})) for text in {TEXTS!r}]
chats = [read(server.handle_chat_completions({{"messages": chat, "max_tokens": {TOKENS}, "logprobs": True, "top_logprobs": 2, **greedy}}))
         for chat in {[messages(chat) for chat in CHATS] if has_chats else []!r}]
print("\\nANSWERS" + json.dumps([answer["choices"][0]["logprobs"]["content"] for answer in (*texts, *chats)]))"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    answers = json.loads(said[said.index("ANSWERS") + len("ANSWERS"):].splitlines()[0])

    def piece(token):
        best = sorted((other["logprob"] for other in token["top_logprobs"]), reverse=True)
        return bytes(token["bytes"]), best[0] - best[1] if len(best) > 1 else math.inf

    return [[piece(token) for token in answer] for answer in answers]


def ours(arguments, artifact, file, lines, *flags):
    said = subprocess.run([f"{arguments.bin}/heddle-run", "generate", artifact, "--checkpoint", file, "--tokens", str(TOKENS),
                           "--greedy", "--json", *flags], input="".join(line + "\n" for line in lines), capture_output=True, text=True,
                          check=True).stdout
    return [json.loads(line)["completion"] for line in said.splitlines()]


def compare(answer, text):
    """Returns how many tokens agree, and whether all do that must."""
    whole, agreed, certain = b"", 0, True
    expected = text.encode()
    for piece, margin in answer:
        certain &= margin >= CLOSE
        whole += piece
        if not expected.startswith(whole):
            return agreed, not certain
        agreed += 1
    return agreed, expected == whole or not certain


def main():
    global gguf, dequantize
    try:
        import gguf
        import xllamacpp # noqa: F401
        from gguf.quants import dequantize
    except ImportError as error:
        print(f"skipped: there is no package {error.name}")
        sys.exit(77)
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--target", default="native")
    arguments = parser.parse_args()
    report = Report()
    for file in arguments.files:
        with tempfile.TemporaryDirectory() as folder:
            unpacked, artifact = f"{folder}/f32.gguf", f"{folder}/model.heddle"
            has_chats = unpack(file, unpacked)
            expected = peer(unpacked, has_chats)
            subprocess.run([f"{arguments.bin}/heddle-compile", file, "-o", artifact, f"--target={arguments.target}", "--entries=inference",
                            "--max-tokens=512", "--max-sequences=4"], check=True, capture_output=True)
            found = ours(arguments, artifact, file, [text.replace("\n", "\\n") for text in TEXTS])
            if has_chats:
                found += ours(arguments, artifact, file, [json.dumps({"messages": messages(chat)}) for chat in CHATS], "--chat")
        differing, agreed, all_tokens = 0, 0, 0
        for answer, text in zip(expected, found, strict=True):
            tokens, is_right = compare(answer, text)
            agreed, all_tokens, differing = agreed + tokens, all_tokens + len(answer), differing + (not is_right)
            if not is_right:
                print(f"llama.cpp: {b''.join(piece for piece, _ in answer)!r}\nHeddle:    {text.encode()!r}\nmargins:   "
                      f"{[round(margin, 3) for _, margin in answer[:tokens + 1]][-3:]}")
        report.check(f"{os.path.basename(file)}: {agreed} of {all_tokens} tokens agree; texts that differ", differing, 0)
    print(f"{report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
