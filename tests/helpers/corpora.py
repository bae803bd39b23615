"""Readers of real corpora."""


def read_sentences(path, column, n_sentences):
    sentences, words, tags = [], [], []
    with path.open(encoding="utf8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if fields[0].isdigit():
                words.append(fields[1])
                tags.append(fields[column])
            elif words and not line.strip():
                sentences.append((words, tags))
                words, tags = [], []
            if len(sentences) == n_sentences:
                break
    return sentences
