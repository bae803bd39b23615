"""The extension modules; all other metadata stands in setup.cfg."""

import os

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

MOD_NAMES = [
    "spacy_dynsel.bridge",
    "spacy_dynsel.cached_tokenizer",
    "spacy_dynsel.core.checksum",
    "spacy_dynsel.core.chunks",
    "spacy_dynsel.core.gazetteer",
    "spacy_dynsel.core.learner",
    "spacy_dynsel.core.lexicon",
    "spacy_dynsel.core.lines",
    "spacy_dynsel.core.program",
    "spacy_dynsel.core.ranker",
    "spacy_dynsel.core.recorder",
    "spacy_dynsel.core.rows",
    "spacy_dynsel.core.scorer",
    "spacy_dynsel.core.small",
    "spacy_dynsel.ordering._fit",
    "spacy_dynsel.tasks._bilou",
    "spacy_dynsel.tasks._parsing",
    "spacy_dynsel.tasks._tagging",
    "spacy_dynsel.tasks._transitions",
    "spacy_dynsel.tasks.arc_eager",
    "spacy_dynsel.tasks.parse_features",
    "spacy_dynsel.tasks.ranking",
    "spacy_dynsel.tasks.trees",
]

DIRECTIVES = {
    "language_level": 3,
    "embedsignature": True,
    "boundscheck": bool(os.environ.get("DYNSEL_BOUNDSCHECK")),
    "wraparound": False,
    "cdivision": True,
    "freethreading_compatible": False,
}

if os.name == "nt":
    COMPILE_ARGS = ["/O2", "/std:c++17"]
    LINK_ARGS: list[str] = []
else:
    COMPILE_ARGS = ["-O3", "-g0", "-std=c++17", "-pthread", "-Wno-unused-function"]
    LINK_ARGS = ["-pthread"]
    if os.environ.get("DYNSEL_SANITIZE"):
        SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        COMPILE_ARGS += ["-O1", "-g1", "-fno-omit-frame-pointer", *SANITIZERS]
        LINK_ARGS += SANITIZERS

extensions = [
    Extension(
        name,
        [name.replace(".", "/") + ".pyx"],
        include_dirs=[numpy.get_include(), "spacy_dynsel/core"],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
        extra_compile_args=COMPILE_ARGS,
        extra_link_args=LINK_ARGS,
        language="c++",
    )
    for name in MOD_NAMES
]

setup(
    ext_modules=cythonize(extensions, compiler_directives=DIRECTIVES),
    options={"build_ext": {"parallel": os.cpu_count()}},
)
