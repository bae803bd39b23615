"""Words that are rare."""

# Each word of these is looked at by itself.
STRANGE_WORDS = [
    [" "],
    ["\n\n", "\t"],
    ["\u200b", "\u200d", "\ufeff"],
    ["שלום", "עולם", "مرحبا"],
    ["\u202eabc"],
    ["é", "e\u0301", "E\u0301S"],
    ["İSTANBUL", "ŉ", "ﬁnds", "ΟΔΟΣ", "straße", "STRASSE"],
    ["👩\u200d👩\u200d👧\u200d👦", "🇧🇷"],
    ["a" * 100_000, "A" * 100_000 + "s", ",8" * 50_000],
    ["\U0001f600" * 30_000],
    ["x\u0000y", "s", ","],
    ["NOUN", "PERSON", "IS_ALPHA", "nsubj"],
    ["a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "abcdefgh"],
    ["y" * 254, "y" * 255, "y" * 256, "y" * 510, "y" * 511],
]

ODD_WORDS = [
    [" "],
    ["\n\n", "\t", "London", "\n"],
    ["\u200b", "\u200d", "\ufeff"],
    ["שלום", "עולם", "مرحبا"],
    ["👩\u200d👩\u200d👧\u200d👦", "🇧🇷"],
    ["A" * 100_000],
    ["x\u0000y"],
    ["London"] * 3000,
]
