#!/usr/bin/env bash
# The ladder on a corpus, several models side by side: a process of `couplet compare` for each, and at last one for all of them, which finds all
# done, takes the times while nothing else runs, and writes the report.
#
#   bench/ladder.sh BIN_DIR DATA_DIR [OUT_DIR [argument of `couplet compare` …]]
#
# BIN_DIR holds the binary couplet, DATA_DIR train.en.gz, valid.en and test.en, and the same of the language TARGET (default: de). Models, logs and
# the report go to OUT_DIR (default: bench-ladder). What is there is not made again, and what was stopped goes on.
#
# SEEDS (default 3) are the runs of each model. JOBS (default 1) models go side by side. RUNGS (default: all) are the names of configs in
# configs/ladder: RUNGS="01-rnn 02-lstm".
set -euo pipefail

if (($# < 2)); then
  echo "usage: $0 BIN_DIR DATA_DIR [OUT_DIR [argument of couplet compare ...]]" >&2
  exit 2
fi
configs=$(cd "$(dirname "$0")/../configs/ladder" && pwd)
bin=$(cd "$1" && pwd)
data=$(cd "$2" && pwd)
out=${3:-bench-ladder}
shift $(($# < 3 ? $# : 3))
mkdir -p "$out/logs"
target=${TARGET:-de}
jobs=${JOBS:-1}
rungs=()
for rung in ${RUNGS:-$(cd "$configs" && echo *.toml)}; do
  rungs+=("$configs/${rung%.toml}.toml")
done
arguments=(
  --out "$out" --seeds "${SEEDS:-3}"
  --train "$data/train.en.gz" "$data/train.$target.gz"
  --valid "$data/valid.en" "$data/valid.$target"
  --test "$data/test.en" "$data/test.$target"
  --set data.source.kind=bpe --set data.target.kind=bpe
  "$@"
)

for rung in "${rungs[@]}"; do
  while (($(jobs -rp | wc -l) >= jobs)); do
    wait -n || true # what failed is tried again by the last command, which says why
  done
  "$bin/couplet" compare "$rung" "${arguments[@]}" --no-times >"$out/logs/$(basename "$rung" .toml)" 2>&1 &
done
wait
"$bin/couplet" compare "${rungs[@]}" "${arguments[@]}" --png
