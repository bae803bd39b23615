"""The extension modules; all other metadata stands in setup.cfg."""

import os
from multiprocessing import get_start_method

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MOD_NAMES = [
    "spacy_dynsel.spacy_io.layout",
    "spacy_dynsel.spacy_io.lexemes",
    "spacy_dynsel.spacy_io.tokens",
    "spacy_dynsel.spacy_io.annotations",
    "spacy_dynsel.tokenizer.cached",
    "spacy_dynsel.core.checksum",
    "spacy_dynsel.core.compact",
    "spacy_dynsel.core.eisner",
    "spacy_dynsel.tokenizer.chunks",
    "spacy_dynsel.tasks.bilou.gazetteer",
    "spacy_dynsel.core.label_parts",
    "spacy_dynsel.core.leads",
    "spacy_dynsel.core.learner",
    "spacy_dynsel.core.induction",
    "spacy_dynsel.core.weight_state",
    "spacy_dynsel.core.word_clusters",
    "spacy_dynsel.core.lexicon",
    "spacy_dynsel.core.link_learner",
    "spacy_dynsel.core.forms.line_table",
    "spacy_dynsel.core.pairs",
    "spacy_dynsel.core.program",
    "spacy_dynsel.core.rank_learner",
    "spacy_dynsel.core.recorder",
    "spacy_dynsel.core.forms.cached",
    "spacy_dynsel.core.forms.factored",
    "spacy_dynsel.core.forms.packing",
    "spacy_dynsel.core.forms.slots",
    "spacy_dynsel.core.forms.word_scorer",
    "spacy_dynsel.cascade.decoding",
    "spacy_dynsel.cascade.levels",
    "spacy_dynsel.cascade.rivals",
    "spacy_dynsel.ordering.fitting",
    "spacy_dynsel.tasks.run",
    "spacy_dynsel.tasks.examples",
    "spacy_dynsel.tasks.bilou.actions",
    "spacy_dynsel.tasks.bilou.task",
    "spacy_dynsel.tasks.bilou.decode",
    "spacy_dynsel.tasks.bilou.train",
    "spacy_dynsel.tasks.arc_eager.decode",
    "spacy_dynsel.spacy_io.lemmas",
    "spacy_dynsel.tasks.lemmas.cache",
    "spacy_dynsel.tasks.lemmas.decode",
    "spacy_dynsel.tasks.lemmas.script_set",
    "spacy_dynsel.tasks.lemmas.train",
    "spacy_dynsel.tasks.tagging.decode",
    "spacy_dynsel.tasks.cascading.features",
    "spacy_dynsel.tasks.labelling.history",
    "spacy_dynsel.tasks.labelling.train",
    "spacy_dynsel.tasks.morphology.decode",
    "spacy_dynsel.tasks.arc_eager.steps",
    "spacy_dynsel.tasks.arc_eager.train",
    "spacy_dynsel.tasks.arc_eager.system",
    "spacy_dynsel.tasks.arc_eager.division",
    "spacy_dynsel.tasks.arc_eager.features",
    "spacy_dynsel.tasks.arc_eager.places",
    "spacy_dynsel.tasks.arc_eager.rules",
    "spacy_dynsel.tasks.arc_eager.trees",
    "spacy_dynsel.tasks.links.decode",
    "spacy_dynsel.tasks.links.model",
    "spacy_dynsel.tasks.links.pairs",
    "spacy_dynsel.tasks.links.search",
    "spacy_dynsel.tasks.links.train",
]

CHECK_BOUNDS = bool(os.environ.get("DYNSEL_BOUNDSCHECK"))

DIRECTIVES = {
    "language_level": 3,
    "embedsignature": True,
    "boundscheck": CHECK_BOUNDS,
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
    if CHECK_BOUNDS:
        COMPILE_ARGS += ["-O1"]
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


class BuildExtensions(build_ext):
    """Makes C++ of Cython only when extensions are built, and by all cores."""

    def build_extensions(self) -> None:
        made = cythonize(
            [
                Extension(one.name, one.sources, language="c++")
                for one in self.extensions
            ],
            compiler_directives=DIRECTIVES,
            # Cython does not see that a directive changed: the C++ code stands apart.
            build_dir="build/boundscheck" if CHECK_BOUNDS else None,
            # Where processes are forked: others would run this file again.
            nthreads=(os.cpu_count() or 1) if get_start_method() == "fork" else 0,
        )
        for one, other in zip(self.extensions, made, strict=True):
            one.sources = other.sources
        # Here, since pip's editable installs drop the options of commands.
        self.parallel = os.cpu_count()
        super().build_extensions()


setup(
    ext_modules=extensions,
    cmdclass={"build_ext": BuildExtensions},
)
