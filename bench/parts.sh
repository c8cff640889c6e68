#!/usr/bin/env bash
# The parts of a model, one at a time, on the same data with the same number of updates: a table in Markdown.
#
#   bench/parts.sh BIN_DIR DATA_DIR [OUT_DIR [argument of `couplet train` …]]
#
# BIN_DIR holds the binary couplet, DATA_DIR Tatoeba's train.en.gz, train.fr.gz, valid.en, valid.fr, test.en and test.fr. Models
# and the table go to OUT_DIR (default: bench-parts). --device and --precision also go to the evaluation.
set -euo pipefail

if (($# < 2)); then
  echo "usage: $0 BIN_DIR DATA_DIR [OUT_DIR [argument of couplet train ...]]" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$1" && pwd)
data=$(cd "$2" && pwd)
out=${3:-bench-parts}
shift $(($# < 3 ? $# : 3))
mkdir -p "$out"

device=()
for ((i = 1; i < $#; i++)); do
  case ${!i} in --device | --precision) next=$((i + 1)) && device+=("${!i}" "${!next}") ;; esac
done

# The first number under a key in a line of JSON.
number() {
  sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p"
}

# Trains and evaluates one model: its title, then keys of the config.
row() {
  local title=$1 folder=$out/${1//[^a-z0-9]/-} set=()
  shift
  for key in "data.train=[\"$data/train.en.gz\", \"$data/train.fr.gz\"]" "data.valid=[\"$data/valid.en\", \"$data/valid.fr\"]" "$@"; do
    set+=(--set "$key")
  done
  "$bin/couplet" train "$here/../configs/tatoeba-en-fr.toml" --out "$folder" "${set[@]}" "${arguments[@]}" 2>"$folder.log" || {
    tail -n 2 "$folder.log" >&2
    return 1
  }
  local parameters speed scores
  parameters=$(head -n 1 "$folder/train.jsonl" | number parameters)
  speed=$(number tokens_per_second <"$folder/train.jsonl" | sort -g | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }')
  scores=$("$bin/couplet" evaluate --model "$folder" --source "$data/test.en" --target "$data/test.fr" --json "${device[@]}" 2>>"$folder.log")
  printf '| %s | %.1f M | %.2f | %.1f | %.0f |\n' "$title" "$(awk "BEGIN { print $parameters / 1e6 }")" \
    "$(number perplexity <<<"$scores")" "$(number bleu <<<"$scores")" "$speed" | tee -a "$out/table.md"
}

arguments=("$@")
one_layer=(model.encoder.layers=1 model.decoder.layers=1)
one_direction=(model.encoder.bidirectional=false)
no_attention=(model.attention.score=none)
plain=("${one_layer[@]}" "${one_direction[@]}" "${no_attention[@]}")

{
  echo '| | parameters | perplexity | BLEU | tokens/s |'
  echo '|---|---|---|---|---|'
} | tee "$out/table.md"
row 'rnn, last state' "${plain[@]}" model.encoder.kind=rnn model.decoder.kind=rnn
row 'gru, last state' "${plain[@]}" model.encoder.kind=gru model.decoder.kind=gru
row 'lstm, last state' "${plain[@]}"
row 'lstm, source backwards' "${plain[@]}" model.encoder.reverse=true
row 'lstm, two layers' "${one_direction[@]}" "${no_attention[@]}"
row 'lstm, two layers, two directions' "${no_attention[@]}"
row 'the same, context at every step' "${no_attention[@]}" model.context.to=both
row 'attention, additive'
row 'attention, dot' model.attention.score=dot
row 'attention, scaled dot' model.attention.score=scaled-dot
row 'attention, general' model.attention.score=general
row 'attention, concat' model.attention.score=concat
row 'attention, linear' model.attention.score=linear
row 'attention, query and key' model.attention.score=query-key
row 'attention, additive, four heads' model.attention.heads=4
row 'attention, additive, from the state before' model.attention.query=previous
row 'attention, additive, not fed' model.attention.input_feeding="none"
row 'gru, attention, additive' model.encoder.kind=gru model.decoder.kind=gru
