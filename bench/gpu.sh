#!/usr/bin/env bash
# Parity and speed on a GPU in one call, on a machine that has CUDA and PyTorch but no Rust.
#
#   bench/gpu.sh BIN_DIR [OUT_DIR [argument of `bench-step gpu` …]]
#
# BIN_DIR holds the binaries couplet and bench-step. What is printed goes to OUT_DIR too (default: bench-gpu). PYTHON names a
# Python that has torch, numpy and safetensors (default: python3). A part that fails does not keep the later ones from
# running; the exit status says whether one did.
set -euo pipefail

if (($# < 1)); then
  echo "usage: $0 BIN_DIR [OUT_DIR [argument of bench-step gpu ...]]" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$1" && pwd)
out=${2:-bench-gpu}
python=${PYTHON:-python3}
failed=()
mkdir -p "$out"
pictures=$(mktemp -d)
trap 'rm -rf "$pictures"' EXIT

# Runs a part: its title, the file that keeps its output, its command.
part() {
  local title=$1 file=$out/$2
  shift 2
  printf '\n## %s\n\n' "$title" | tee -a "$file"
  if ! "$@" 2>&1 | tee -a "$file"; then
    failed+=("$title")
    echo "failed: $title" | tee -a "$file"
  fi
}

machine() {
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader &&
    "$python" -c 'import torch; print("PyTorch", torch.__version__, "CUDA", torch.version.cuda)'
}

demo() {
  "$bin/couplet" demo --device "$1" --json --out "$pictures/$1"
}

# The validation losses of a run of the demo: update and loss.
losses() {
  sed -n 's/^update \([0-9]*\): validation loss \([0-9.]*\).*/\1 \2/p' "$out/demo-$1.txt"
}

# Both runs see the same batches; roundings drive them apart little by little, so a twentieth and 0.02 are allowed for.
same_losses() {
  paste -d ' ' <(losses cpu) <(losses cuda) | awk '
    BEGIN { print "update     cpu    cuda" }
    {
      apart = $4 > $2 ? $4 - $2 : $2 - $4
      wrong = $1 != $3 || apart > 0.02 + $2 / 20
      bad += wrong
      printf "%6d  %6.4f  %6.4f%s\n", $1, $2, $4, wrong ? "  too far apart" : ""
    }
    END { exit NR == 0 || bad > 0 }'
}

rm -f "$out"/{machine,selftest,demo-cpu,demo-cuda,losses}.txt "$out"/steps.md
part 'The machine' machine.txt machine

# The processor trains its demo while the GPU checks itself; nothing is timed yet.
demo cpu >"$out/demo-cpu.txt" 2>&1 &
cpu_demo=$!
for precision in fp32 tf32 bf16; do
  part "Self-test, $precision" selftest.txt "$bin/couplet" selftest --device cuda --precision "$precision"
done
part 'The demo on the GPU' demo-cuda.txt demo cuda
if ! wait "$cpu_demo"; then
  failed+=('The demo on the processor')
fi
part 'The demo: validation losses' losses.txt same_losses

part 'Training steps' steps.md \
  "$bin/bench-step" gpu --python "$python" --twin "$here/step/twin.py" "${@:3}"

if ((${#failed[@]} > 0)); then
  printf '\nfailed:\n'
  printf '  %s\n' "${failed[@]}"
  exit 1
fi
printf '\nall parts passed\n'
