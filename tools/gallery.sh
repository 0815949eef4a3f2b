#!/usr/bin/env bash
# A gallery of attention: trains systems of the literature on tasks where their ideas make the difference, and writes one page with their
# figures beside those without the idea, and pictures of what they attend to. Needs a built Heddle; 13 minutes on two cores.
# Fails where a figure is not what is expected.
#
#   tools/gallery.sh [bench/gallery.py's own options, for example --system "memory network" --seed 1]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p build/gallery
exec bench/gallery.py --bin build/bin --out build/gallery/index.html "$@"
