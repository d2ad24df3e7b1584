"""Ways to damage the bytes of a file. Seeded: the same case gives the same bytes."""

import numpy as np

EXTREMES = [0, 1, -1, 2, 127, -128, 2**15, 2**31 - 1, -(2**31), 2**32, 2**40, 2**62, 2**63 - 1, -(2**63)]


def mutate(content: bytes, rng: np.random.Generator) -> bytes:
    """One copy with one kind of damage."""
    ways = [flip_bits, set_bytes, plant_number, plant_number, cut, zero_block, swap_blocks, insert, repeat, digit]
    return ways[int(rng.integers(len(ways)))](content, rng)


def _place(content: bytes, rng: np.random.Generator) -> int:
    """Any byte; every second time one of the last 600, where formats keep their tables of contents."""
    size = max(1, len(content))
    return int(rng.integers(max(0, size - 600) if rng.random() < 0.5 else 0, size))


def flip_bits(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        changed[_place(content, rng)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def set_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        changed[_place(content, rng)] = int(rng.integers(256))
    return bytes(changed)


def plant_number(content: bytes, rng: np.random.Generator) -> bytes:
    """A length or an offset becomes an extreme number."""
    width = int(rng.choice([1, 2, 4, 8]))
    place = _place(content, rng) // width * width
    number: int = EXTREMES[int(rng.integers(len(EXTREMES)))] % (1 << 8 * width)
    return content[:place] + number.to_bytes(width, "little") + content[place + width :]


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: _place(content, rng)]


def zero_block(content: bytes, rng: np.random.Generator) -> bytes:
    place, size = _place(content, rng), int(rng.integers(1, 600))
    kept = content[place + size :]
    return content[:place] + bytes(len(content) - place - len(kept)) + kept


def swap_blocks(content: bytes, rng: np.random.Generator) -> bytes:
    first, second = sorted((_place(content, rng), _place(content, rng)))
    middle = (first + second) // 2
    return content[:first] + content[middle:second] + content[first:middle] + content[second:]


def insert(content: bytes, rng: np.random.Generator) -> bytes:
    place = _place(content, rng)
    return content[:place] + rng.bytes(int(rng.integers(1, 40))) + content[place:]


def repeat(content: bytes, rng: np.random.Generator) -> bytes:
    place, size = _place(content, rng), int(rng.integers(1, 600))
    return content[:place] + content[place : place + size] + content[place:]


def digit(content: bytes, rng: np.random.Generator) -> bytes:
    """One digit becomes another: the damage that a text file hides best."""
    digits = [place for place, byte in enumerate(content) if 48 <= byte <= 57]
    if not digits:
        return content[:-1]
    place = digits[int(rng.integers(len(digits)))]
    return content[:place] + bytes([48 + int(rng.integers(10))]) + content[place + 1 :]
