#!/usr/bin/env bash
# Checks attention on tensor cores and times Heddle and PyTorch in turn, for a GPU that is available for minutes: each
# row is written as soon as it is measured (gpu_lease.py lists the rows). Runs in a pack of `bench/gpu-pack.sh OUT
# --preset=lease`; needs PyTorch.
#
#   ./gpu-lease.sh [--part=1|2] [--out=DIR] [--minutes=N] [--repeat=N] [--match=REGEX]
#
# Exit code: 0, all checks passed; 1, a check failed or was cut off.
set -euo pipefail
pack=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -x "$pack/heddle-run" ] || { echo "gpu-lease.sh: run it in a folder that bench/gpu-pack.sh made" >&2; exit 2; }
exec python3 -u "$pack/torch/gpu_lease.py" "$@"
