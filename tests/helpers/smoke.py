"""All three components on a few texts, saved and loaded, for tools that watch a process:

python tests/helpers/smoke.py train FOLDER
python tests/helpers/smoke.py run FOLDER
"""

import sys
from pathlib import Path

import spacy

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.models import MAKERS, TEXTS, train


def main(command: str, folder: Path) -> None:
    for make in MAKERS:
        path = folder / make.__name__
        if command == "train":
            train(make()).to_disk(path)
            continue
        nlp = spacy.load(path)
        pipe = nlp.get_pipe(nlp.pipe_names[0])
        for n_threads in (1, 2):
            pipe.n_threads = n_threads
            with nlp.memory_zone():
                docs = list(nlp.pipe(TEXTS * 3))
                assert [doc.text for doc in docs] == TEXTS * 3
                pipe.explain(docs[0])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
