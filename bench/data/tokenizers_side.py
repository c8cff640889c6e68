"""The side of Python's tokenizers in bench-data tokenize: the ids of the first lines of a text, and the seconds that they took, as JSON.

The text is read before the clock starts. The batches are of the size that this library's own encode_batch works well with, and it uses
all cores by itself; encode_batch_fast leaves out where in the text each token was, which is what our side does.
"""

import itertools
import json
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "true"

import tokenizers

BATCH = 8192


def main():
    file, text, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    tokenizer = tokenizers.Tokenizer.from_file(file)
    tokenizer.encode_special_tokens = True
    with open(text, encoding="utf-8", newline="\n") as lines:
        lines = [line.rstrip("\n") for line in itertools.islice(lines, count)]
    tokens = total = 0
    start = time.perf_counter()
    for begin in range(0, len(lines), BATCH):
        for encoding in tokenizer.encode_batch_fast(lines[begin : begin + BATCH], add_special_tokens=False):
            ids = encoding.ids
            tokens += len(ids)
            total += sum(ids)
    seconds = time.perf_counter() - start
    version = f"tokenizers {tokenizers.__version__}"
    print(json.dumps({"tokens": tokens, "sum": total, "seconds": seconds, "version": version}))


if __name__ == "__main__":
    main()
