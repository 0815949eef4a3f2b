#!/usr/bin/env bash
# A gallery of attention: trains systems from the literature on tasks for which their ideas matter, and writes one page
# with their figures beside those without the idea, and pictures of what they attend to. Needs a built Heddle; takes 13
# minutes on two cores. Fails if a figure is not as expected.
#
#   tools/gallery.sh [bench/gallery.py's own options, for example --system "memory network" --seed 1]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/help.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p build/gallery
exec bench/gallery.py --bin build/bin --out build/gallery/index.html "$@"
