#!/usr/bin/env bash
# What a language model of unlabeled reviews is worth to a classifier with 500 labeled ones: a table in Markdown, accuracy on the
# validation set and, with TEST=1, on the test set, mean and spread over the seeds.
#
#   bench/pretrain.sh BIN_DIR DATA_DIR [OUT_DIR [argument of `couplet train` …]]
#
# BIN_DIR holds the binary couplet, DATA_DIR IMDB's train.tsv.gz, valid.tsv.gz and test.tsv.gz: a label (0 or 1), a tab, a review. Models
# and the table go to OUT_DIR (default: bench-pretrain). What is there is not made again, and what was stopped goes on. --device and
# --precision also go to the evaluation.
#
# SEEDS (default "1 2 3 4 5") are the runs of each row: a seed draws the reviews, the first weights and the batches. JOBS (default 1) runs
# go side by side. LABELED (default 500) reviews are drawn, half of each label. LM_SET holds further arguments for the language model
# alone, CLASSIFIER_SET for the classifiers. The test set is for the end: with TEST=1, when all settings are chosen.
set -euo pipefail

if (($# < 2)); then
  echo "usage: $0 BIN_DIR DATA_DIR [OUT_DIR [argument of couplet train ...]]" >&2
  exit 2
fi
configs=$(cd "$(dirname "$0")/../configs/pretrain" && pwd)
bin=$(cd "$1" && pwd)
data=$(cd "$2" && pwd)
out=${3:-bench-pretrain}
shift $(($# < 3 ? $# : 3))
mkdir -p "$out/data"
out=$(cd "$out" && pwd)
arguments=("$@")
read -ra seeds <<<"${SEEDS:-1 2 3 4 5}"
read -ra lm_set <<<"${LM_SET:-}"
read -ra classifier_set <<<"${CLASSIFIER_SET:-}"
jobs=${JOBS:-1}
labeled=${LABELED:-500}
parts=(valid)
[[ ${TEST:-0} == 0 ]] || parts+=(test)

device=()
for ((i = 1; i < $#; i++)); do
  case ${!i} in --device | --precision | --threads) next=$((i + 1)) && device+=("${!i}" "${!next}") ;; esac
done

# Makes a file of what a command prints, as a whole or not at all.
whole() {
  local file=$1
  shift
  [[ -e $file ]] || { "$@" >"$file.part" && mv "$file.part" "$file"; }
}

# The reviews of a file without their labels.
texts() {
  gzip -dc "$data/$1.tsv.gz" | cut -f 2-
}

# The labeled reviews of a seed. The compressed training set, from a place of the seed's own, is where the random numbers come from.
drawn() {
  local source=$out/data/random-$1
  tail -c "+$((1 + 1000000 * $1 % 11000000))" "$data/train.tsv.gz" >"$source"
  for label in 0 1; do
    gzip -dc "$data/train.tsv.gz" | grep "^$label" | shuf --random-source="$source" -n $((labeled / 2))
  done
  rm "$source"
}

# Trains into a folder, going on with what is there; the log lies beside it.
train() {
  local config=$1 folder=$2
  shift 2
  "$bin/couplet" train "$configs/$config" --out "$folder" --resume "$@" "${arguments[@]}" 2>>"$folder.log" || {
    echo "$folder:" >&2
    tail -n 2 "$folder.log" >&2
    return 1
  }
}

# Trains and evaluates one classifier: the name of its row, its seed, its config, then keys of it.
classifier() {
  local folder=$out/$1-$2 set=()
  for key in "data.train=$out/data/labeled-$2.tsv" "data.valid=$data/valid.tsv.gz" "train.seed=$2" "${@:4}"; do
    set+=(--set "$key")
  done
  train "$3" "$folder" "${set[@]}" "${classifier_set[@]}" || return
  for part in "${parts[@]}"; do
    whole "$folder.$part.json" "$bin/couplet" evaluate --model "$folder" --data "$data/$part.tsv.gz" --json "${device[@]}" || return
  done
}

# Starts a command beside others, as soon as there is room.
running=0
beside() {
  if ((running >= jobs)); then
    wait -n
    running=$((running - 1))
  fi
  "$@" &
  running=$((running + 1))
}

# The accuracies of a row on a part, their mean and their standard deviation.
accuracy() {
  local name=$1 part=$2
  for seed in "${seeds[@]}"; do
    sed -n 's/.*"accuracy":\([0-9.]*\).*/\1/p' "$out/$name-$seed.$part.json"
  done | awk '{ sum += $1; squares += $1 * $1 }
    END { mean = sum / NR; spread = NR > 1 ? sqrt((squares - NR * mean * mean) / (NR - 1)) : 0; printf "%.1f ± %.1f", mean, spread }'
}

for part in train valid; do
  whole "$out/data/$part.txt" texts "$part"
done
for seed in "${seeds[@]}"; do
  whole "$out/data/labeled-$seed.tsv" drawn "$seed"
done

train imdb-language-model.toml "$out/language-model" \
  --set "data.train=$out/data/train.txt" --set "data.valid=$out/data/valid.txt" "${lm_set[@]}"
whole "$out/language-model.json" "$bin/couplet" evaluate --model "$out/language-model" --data "$out/data/valid.txt" --json "${device[@]}"
sed -n 's/.*"perplexity":\([0-9.]*\).*/perplexity of the language model on the validation set: \1/p' "$out/language-model.json"

pretrained=(imdb-500-pretrained.toml "train.init_from=$out/language-model")
for seed in "${seeds[@]}"; do
  beside classifier scratch "$seed" imdb-500.toml
  beside classifier frozen "$seed" "${pretrained[@]}" train.freeze_updates=0
  beside classifier at-once "$seed" "${pretrained[@]}" 'train.freeze=[]' train.freeze_updates=0 train.learning_rate=0.001 train.schedule=constant train.epochs=20
  beside classifier pretrained "$seed" "${pretrained[@]}"
done
while ((running > 0)); do
  wait -n
  running=$((running - 1))
done

{
  echo "| begins with | ${parts[*]/%/ |}"
  echo "|---|${parts[*]/*/--:|}"
  while IFS=: read -r name title; do
    printf '| %s |' "$title"
    for part in "${parts[@]}"; do
      printf ' %s |' "$(accuracy "$name" "$part")"
    done
    echo
  done <<'ROWS'
scratch:random numbers
frozen:the language model's reader, which does not learn
at-once:its reader, which learns from the first update
pretrained:its reader, which learns in the last 100 updates of 600
ROWS
} | tee "$out/table.md"
