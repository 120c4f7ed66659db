#!/usr/bin/env python3
"""Writes shapes.idx.gz and shapes_labels.idx.gz beside this file: 16 x 16 pictures of four shapes, for cnn.toml.

Discs, squares, crosses and stripes of random size and place, with noise in four steps. The same files every time."""
import gzip
import pathlib
import random
import struct

SIZE, EXAMPLES, CLASSES = 16, 640, 4


def inside(kind, x, y, r):
    if kind == 0:
        return x * x + y * y <= r * r
    if kind == 1:
        return max(abs(x), abs(y)) <= r * 0.85
    if kind == 2:
        return min(abs(x), abs(y)) <= 1 and max(abs(x), abs(y)) <= r
    return max(abs(x), abs(y)) <= r and (x + y) % 4 < 2


def picture(draw, kind):
    r = draw.randint(4, 6)
    cx, cy = draw.randint(r, SIZE - 1 - r), draw.randint(r, SIZE - 1 - r)
    light = draw.choice([96, 160, 224])
    return bytes((light if inside(kind, x - cx, y - cy, r) else 0) + draw.choice([0, 0, 0, 0, 10, 20, 30])
                 for y in range(SIZE) for x in range(SIZE))


def write(path, header, data):
    with gzip.GzipFile(path, "wb", mtime=0) as out:
        out.write(struct.pack(">BBBB", 0, 0, 8, len(header)) + struct.pack(f">{len(header)}I", *header) + data)


def main():
    draw = random.Random(1)
    labels = bytes(draw.randrange(CLASSES) for _ in range(EXAMPLES))
    folder = pathlib.Path(__file__).parent
    write(folder / "shapes.idx.gz", [EXAMPLES, SIZE, SIZE], b"".join(picture(draw, kind) for kind in labels))
    write(folder / "shapes_labels.idx.gz", [EXAMPLES], labels)


main()
