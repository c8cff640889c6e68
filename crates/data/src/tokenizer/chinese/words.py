"""Makes words.zst, the words of Chinese with their frequencies, from the dictionary of the Python package jieba 0.42.1.

    pip install jieba==0.42.1 zstandard && python words.py

A line has a word, a space and how often it was counted. Parts of speech are left out; the order is jieba's.
"""

from pathlib import Path

import jieba
import zstandard

entries = (Path(jieba.__file__).parent / "dict.txt").read_text("utf-8").splitlines()
words = "".join(" ".join(entry.split(" ")[:2]) + "\n" for entry in entries)
packed = zstandard.ZstdCompressor(level=22).compress(words.encode())
Path(__file__).with_name("words.zst").write_bytes(packed)
print(len(entries), "words,", len(packed), "bytes")
