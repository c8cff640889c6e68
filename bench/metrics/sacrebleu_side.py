"""sacreBLEU's side of bench-metrics: scores two files with one metric, and prints its score and the seconds that it took as JSON.

The files are read and the library is imported before the clock starts.
"""

import json
import sys
import time

import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER

METRICS = {"bleu": BLEU, "chrf": CHRF, "chrf++": lambda: CHRF(word_order=2), "ter": TER}


def lines(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def main():
    name, hypotheses, references = sys.argv[1:]
    hypotheses, references = lines(hypotheses), lines(references)
    metric = METRICS[name]()
    start = time.perf_counter()
    score = metric.corpus_score(hypotheses, [references]).score
    seconds = time.perf_counter() - start
    print(json.dumps({"score": score, "seconds": seconds, "version": f"sacreBLEU {sacrebleu.__version__}"}))


if __name__ == "__main__":
    main()
