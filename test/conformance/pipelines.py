"""Checks how AMD's compiler (Mesa's ACO) compiles each kernel of a model, for GPUs that need not be present: no kernel
may take long, spill or use scratch memory, and matmul loops must consist mostly of multiply-adds.

    pipelines.py --bin build/bin --model FILE|packed|gpt2|bert|qwen3|gemma2|gpt-oss --target vulkan:NAME [--precision NAME] [--set key=value]
                 [--without PART]

The names other than FILE and packed are folders of published sizes; the compiler reads only a configuration. `packed`
is a GGUF file with matrices of many packed types."""

import argparse
import glob
import json
import math
import os
import subprocess
import sys
import tempfile

import packed_types

SKIPPED = 77  # ctest's SKIP_RETURN_CODE
# Newer Mesa versions rename a family, and end programs that ask for a family they do not know.
FAMILIES = [("VEGA10",), ("NAVI10",), ("NAVI21",), ("GFX1100", "NAVI31")]
# The lanes of a subgroup, and the least number of subgroups that a SIMD unit must hold at once. Subgroups of 64 lanes
# have half as many registers.
SUBGROUPS = {"VEGA10": (64, 2)}
SUBGROUPS_OF_NAVI = (32, 4)
# Bytes of shared memory of four SIMD units, which are one compute unit on VEGA10 and two on NAVI.
SHARED_BYTES = {"VEGA10": 64 << 10}
SHARED_BYTES_OF_NAVI = 128 << 10
MILLISECONDS = 2000  # for a kernel
SECONDS = 20  # for all kernels of a family
# The share of multiply-adds among the vector instructions of the loop that has the most of them, in f32 (other types
# convert operands there). It applies to blocked matmuls, which use shared memory; a kernel's name begins with what it
# computes.
FEW_ROWS_BYTES = 12 << 10  # matmuls of few rows use at most this much shared memory, only for their sums
MULTIPLY_ADDS = {"matmul": 0.6, "project": 0.6, "attention_T": 0.4, "attention_truncf_T": 0.4}
PUBLISHED = {
    "gpt2": {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
             "vocab_size": 50257, "n_positions": 1024, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
             "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1, "bos_token_id": 50256, "eos_token_id": 50256},
    "bert": {"architectures": ["BertForMaskedLM"], "model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12,
             "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522, "max_position_embeddings": 512,
             "type_vocab_size": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
             "layer_norm_eps": 1e-12, "pad_token_id": 0},
    # With smaller vocabularies and fewer layers; layers are all alike or alternate.
    "qwen3": {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 2,
              "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072,
              "vocab_size": 8000, "max_position_embeddings": 40960, "hidden_act": "silu", "rms_norm_eps": 1e-6,
              "rope_theta": 1e6, "tie_word_embeddings": True},
    "gemma2": {"architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 2,
               "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 9216,
               "vocab_size": 8000, "max_position_embeddings": 8192, "rms_norm_eps": 1e-6},
    # Attention sinks, and experts.
    "gpt-oss": {"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 2,
                "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880, "num_local_experts": 4,
                "num_experts_per_tok": 2, "vocab_size": 8000, "max_position_embeddings": 131072, "initial_context_length": 4096,
                "rms_norm_eps": 1e-5, "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"], "attention_bias": True,
                "swiglu_limit": 7.0, "rope_theta": 150000, "hidden_act": "silu", "tie_word_embeddings": False,
                "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
                                 "original_max_position_embeddings": 4096}},
}


def fit_by_shared_memory(kernel, family, lanes):
    """The number of subgroups for which a SIMD unit has shared memory. Mesa's own number counts parts of workgroups."""
    shared = kernel["driver"]["LDS size"]
    if not shared:
        return math.inf
    workgroups = SHARED_BYTES.get(family, SHARED_BYTES_OF_NAVI) // int(shared)
    return math.ceil(workgroups * kernel["workgroup"] / (4 * lanes))


def problems(kernel, family, precision):
    driver = kernel["driver"]
    lanes, residents = SUBGROUPS.get(family, SUBGROUPS_OF_NAVI)
    for name in ("Spilled VGPRs", "Scratch size"):
        if driver[name]:
            yield f"{name} {driver[name]:.0f}"
    fit = min(driver["Subgroups per SIMD"], fit_by_shared_memory(kernel, family, lanes))
    if fit < residents:
        yield f"{fit:.0f} subgroups on a SIMD unit, {residents} wanted"
    if kernel["milliseconds"] > MILLISECONDS:
        yield f"compiled in {kernel['milliseconds']:.0f} ms"
    loop = max(kernel["loops"], key=lambda loop: loop["multiply_adds"], default=None)
    least = next((share for part, share in MULTIPLY_ADDS.items() if kernel["name"].startswith(part)), 0)
    if loop and least and driver["LDS size"] > FEW_ROWS_BYTES and precision == "f32":
        share = loop["multiply_adds"] / (loop["arithmetic"] + loop["memory"])
        if share < least:
            yield f"{share:.0%} of the main loop's vector instructions are multiply-adds, {least:.0%} wanted"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--flag", action="append", default=[], help="one more for heddle-compile")
    parser.add_argument("--without", action="append", default=[], metavar="PART",
                        help="do not compile kernels with this in their name, which are known to be bad")
    arguments = parser.parse_args()
    drivers = glob.glob("/usr/share/vulkan/icd.d/radeon_icd*.json")
    if not drivers:
        print("Mesa's driver for AMD is not there")
        sys.exit(SKIPPED)
    failed = compiled = left_out = 0
    with tempfile.TemporaryDirectory() as folder:
        artifact, model = f"{folder}/model.heddle", arguments.model
        if model in PUBLISHED:
            with open(f"{folder}/config.json", "w") as file:
                json.dump(PUBLISHED[model], file)
            model = folder
        if model == "packed":
            model = packed_types.write_every(folder)
        sets = [word for value in arguments.set for word in ("--set", value)]
        sets += arguments.flag
        subprocess.run([f"{arguments.bin}/heddle-compile", model, "-o", artifact, f"--target={arguments.target}",
                        f"--precision={arguments.precision}", *sets], check=True, stdout=subprocess.DEVNULL)
        words = [f"{arguments.bin}/heddle-inspect", artifact, "--pipelines", "--json"]
        words += [word for part in arguments.without for word in ("--without", part)]

        def compile_for(family):
            # Validation layers would add nothing here: the tests on lavapipe use them.
            environment = {**os.environ, "VK_ICD_FILENAMES": drivers[0], "RADV_FORCE_FAMILY": family, "HEDDLE_VALIDATION": "0"}
            environment.pop("VK_DRIVER_FILES", None)
            return subprocess.run(words, capture_output=True, text=True, env=environment, timeout=SECONDS)

        for names in FAMILIES:
            family = names[0]
            try:
                done = next((done for done in map(compile_for, names) if done.returncode == 0), None)
            except subprocess.TimeoutExpired:
                failed += 1
                print(f"FAIL {family}: not all kernels are compiled after {SECONDS} s")
                continue
            if not done:
                sys.exit(f"{family}: {compile_for(family).stderr}")
            told = json.loads(done.stdout)
            milliseconds = sum(kernel["milliseconds"] for kernel in told["kernels"])
            compiled += len(told["kernels"])
            left_out = told["left_out"]
            print(f"{family}: {len(told['kernels'])} kernels in {milliseconds:.0f} ms")
            for kernel in told["kernels"]:
                for problem in problems(kernel, family, arguments.precision):
                    failed += 1
                    print(f"FAIL {family} {kernel['name']}: {problem}")
    print(f"{compiled} kernels, {failed} problems" + (f"; {left_out} a family left out" if left_out else ""))
    sys.exit(failed != 0 or not compiled)


if __name__ == "__main__":
    main()
