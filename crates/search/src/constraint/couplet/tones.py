"""Writes tones.bin: two bits for each character of the CJK Unified Ideographs and their Extension A.

    bzcat Unihan_Readings.txt.bz2 | python3 tones.py

Unihan_Readings.txt is a file of the Unicode Character Database (Unicode License v3, see LICENSE-UNICODE). A character's readings are those
of kTGHZ2013 (the dictionary of the characters in general use), else of kXHC1983, else of kMandarin. Bit 0: one of them has the first or the
second tone; bit 1: one has the third or the fourth. Four characters make a byte, the first in its lowest bits.
"""

import pathlib
import sys
import unicodedata

FIELDS = ["kTGHZ2013", "kXHC1983", "kMandarin"]
BLOCKS = [range(0x4E00, 0xA000), range(0x3400, 0x4DC0)]
MARKS = {"\u0304": 1, "\u0301": 1, "\u030c": 2, "\u0300": 2}  # macron, acute; caron, grave


def tones(value):
    """The bits of a field such as `038.110:cháng 466.110:zhǎng`."""
    bits = 0
    for reading in value.replace(",", " ").split():
        for sign in unicodedata.normalize("NFD", reading.split(":")[-1]):
            bits |= MARKS.get(sign, 0)
    return bits


def main():
    readings = {field: {} for field in FIELDS}
    for line in sys.stdin:
        if line.startswith("U+"):
            code, field, value = line.rstrip("\n").split("\t")
            if field in readings:
                readings[field][int(code[2:], 16)] = tones(value)

    def bits(code):
        return next((readings[field][code] for field in FIELDS if code in readings[field]), 0)

    codes = [code for block in BLOCKS for code in block]
    table = bytearray((len(codes) + 3) // 4)
    for place, code in enumerate(codes):
        table[place // 4] |= bits(code) << (place % 4 * 2)
    pathlib.Path(__file__).with_suffix(".bin").write_bytes(table)


main()
