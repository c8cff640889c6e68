"""Matrix products in PyTorch, which calls MKL or what it was built with: GFLOP/s, one line of JSON.

Usage: products.py M,K,N … [--rounds N] [--threads N]
"""
import argparse
import json
import statistics
import time

import torch

ROUND_SECONDS = 0.15


def rate(a, b, out):
    """Billions of multiplications and additions a second."""
    times, start = 0, time.perf_counter()
    while times < 2 or time.perf_counter() - start < ROUND_SECONDS:
        torch.mm(a, b, out=out)
        times += 1
    return 2 * a.shape[0] * a.shape[1] * b.shape[1] * times / (time.perf_counter() - start) / 1e9


@torch.inference_mode()
def product(m, k, n, rounds):
    a, b, out = torch.rand(m, k) - 0.5, torch.rand(k, n) - 0.5, torch.empty(m, n)
    torch.mm(a, b, out=out)
    return statistics.median(rate(a, b, out) for _ in range(rounds))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="+", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rates = [product(*sizes, arguments.rounds) for sizes in arguments.sizes]
    print(json.dumps({"rates": rates, "version": "PyTorch " + torch.__version__}))


main()
