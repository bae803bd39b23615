"""Data for cascades."""

import numpy as np

WORDS = ("badaca", "cabada", "abba", "dab", "cab", "b", "add", "baba")


def make_data(n, seed, noise=0.25):
    """Words whose letters are seen badly: features say the letter, or another."""
    random = np.random.default_rng(seed)
    words = [WORDS[i] for i in random.integers(0, len(WORDS), n)]
    labels = np.array([ord(letter) - ord("a") for word in words for letter in word])
    seen = [
        np.where(
            random.random(len(labels)) < noise,
            random.integers(0, 4, len(labels)),
            labels,
        )
        + 4 * i
        for i in range(2)
    ]
    features = np.stack(seen, axis=1).reshape(-1)
    offsets = np.arange(0, 2 * len(labels) + 1, 2)
    return features, offsets, np.array([len(word) for word in words]), labels
