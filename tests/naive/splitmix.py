"""SplitMix64 on plain integers: the slow twin of `treespan.core.rng`."""

MASK = 2**64 - 1
STRIDE = 0x9E3779B97F4A7C15


def scramble(z: int) -> int:
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


class SplitMix64:
    def __init__(self, state: int):
        self.state = state

    def next64(self) -> int:
        self.state = (self.state + STRIDE) & MASK
        return scramble(self.state)

    def below(self, n: int) -> int:
        """The upper 32 bits as a fraction of 2^32, times n."""
        return (self.next64() >> 32) * n >> 32

    def unit(self) -> float:
        return (self.next64() >> 11) / 2**53


def shuffled(items: list[int], key: int) -> list[int]:
    """Fisher and Yates, from the end, with a generator that starts at `key`."""
    random, result = SplitMix64(key), list(items)
    for i in range(len(result) - 1, 0, -1):
        j = random.below(i + 1)
        result[i], result[j] = result[j], result[i]
    return result
