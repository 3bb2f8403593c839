#!/bin/bash
# Every measurement of docs/speed.md that needs a GPU, in one go of under nine minutes, as Markdown:
#     bash bench/gpu_all.sh DATA_DIR > gpu.md
# DATA_DIR holds crows_pairs/ and stereoset/. What matters most comes first; what has no time left is named.
set -u
cd "$(dirname "$0")/.."
data=${1:?give a data folder}
python=${PYTHON:-python}
end=$((SECONDS + ${LIMIT:-520}))

step() {
    local left=$((end - SECONDS))
    printf '\n`python %s`\n\n' "$*"
    if [ "$left" -lt 10 ]; then
        echo "not run: no time left"
    elif ! timeout "$left" "$python" "$@"; then
        echo "not finished"
    fi
}

echo "commit $(git rev-parse --short HEAD 2> /dev/null || echo unknown), $(date -u +%F)"
step bench/gpu.py --quick --loop-pairs 0 --repeats 3 --modes fp16 certified bf16 --data-dir "$data"
step bench/gpu.py --quick --loop-pairs 0 --repeats 1 --modes TF32 fp32 --data-dir "$data"
step bench/precision.py builtin builtin-causal ${MODELS:-} --data crows-pairs stereoset --data-dir "$data"
step bench/training.py --steps 60 --rounds 1 --modes bf16 fp32
step bench/host.py --repeats 3 --data-dir "$data"
