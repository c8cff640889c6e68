"""Word vectors by gensim: trains with the settings of its arguments, writes word2vec's text, and prints the seconds of training alone."""

import argparse
import json
import time

import gensim
from gensim.models import Word2Vec


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", help="plain text, a sentence on each line")
    parser.add_argument("out")
    parser.add_argument("--model", choices=["skip-gram", "cbow"], required=True)
    parser.add_argument("--loss", choices=["negative", "hierarchical"], required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    arguments = parser.parse_args()
    hierarchical = arguments.loss == "hierarchical"
    model = Word2Vec(
        vector_size=100,
        window=5,
        min_count=5,
        sample=1e-3,
        sg=int(arguments.model == "skip-gram"),
        hs=int(hierarchical),
        negative=0 if hierarchical else 5,
        workers=arguments.threads,
        seed=arguments.seed,
    )
    # `corpus_file` is the fastest that gensim has: its threads read the file themselves, without Python.
    model.build_vocab(corpus_file=arguments.corpus)
    start = time.perf_counter()
    model.train(
        corpus_file=arguments.corpus,
        total_examples=model.corpus_count,
        total_words=model.corpus_total_words,
        epochs=arguments.epochs,
    )
    seconds = time.perf_counter() - start
    model.wv.save_word2vec_format(arguments.out)
    words = model.corpus_total_words * arguments.epochs
    print(json.dumps({"seconds": seconds, "words": words, "version": f"gensim {gensim.__version__}"}))


if __name__ == "__main__":
    main()
