"""All warnings of this package, in the order of their codes, which can be searched for."""

from .errors import ErrorsWithCodes


class Warnings(metaclass=ErrorsWithCodes):
    # Entity recognition
    DW101 = (
        "Component '{name}' is to learn from {n} docs without an entity: it will find "
        "none. If your data are CoNLL-U with entities in MISC, convert them by 'python "
        "-m spacy dynsel convert', since 'spacy convert' drops them; else check "
        "doc.ents, or give the labels to initialize."
    )
    DW102 = (
        "o_bias = {bias:g} counts as {used:.2f}: beside {n_templates} templates there "
        "is no room for more. Use fewer templates, or a smaller bias."
    )
    # Morphology
    DW110 = (
        "Component '{name}' meets '{label}', which is not one of its {n_labels} labels, "
        "and learns nothing from such words. Initialize it with data, or with labels, "
        "that have all of them."
    )
    # Parsing
    DW120 = (
        "Component '{name}' learns from docs without tags, but '{tagger}', which "
        "stands before it, will set tags when the pipeline is used: its trees will be "
        "much worse than they could be. Add '{tagger}' to annotating_components in the "
        "section [training] of the config."
    )
    DW121 = (
        "Component '{name}' has learned from docs with tags, and now gets docs "
        "without: its trees will be much worse than they could be. Run its tagger "
        "before it (do not exclude or disable it), or train without tags."
    )
    DW122 = (
        "Component '{name}' has learned from docs with tags, and now learns from docs "
        "without: it will unlearn to use them. Name its tagger in 'annotates' of "
        "nlp.update, or in annotating_components in the section [training] of the "
        "config."
    )
    DW123 = (
        "Component '{name}' has learned from docs with parts of speech, and now gets "
        "docs without: its trees will be a little worse than they could be. Run its "
        "morphologizer before it (do not exclude or disable it), or train without one."
    )
    # Confidence
    DW193 = (
        "Component '{name}' runs with {found}, and its confidence was fitted with "
        "{fitted}: probabilities may be off. Fit it anew by 'python -m spacy dynsel "
        "reliability PIPELINE DATA --fit DEV', or restore the settings."
    )
    # Lemmas
    DW230 = (
        "Component '{name}' has learned from docs with parts of speech, and now gets "
        "docs without: its lemmas will be much worse than they could be. Run what sets "
        "token.pos before it (do not exclude or disable it), or train without."
    )
    DW231 = (
        "Component '{name}' learns without parts of speech: the data have some, but no "
        "component before it sets token.pos, so that it would miss them when the "
        "pipeline is used. Put one there, such as a morphologizer; if one of your own "
        'is there, let it say so by assigns=["token.pos"].'
    )
    DW232 = (
        "Component '{name}' can't learn that the lemma of '{form}' is '{lemma}': none of "
        "its {n_labels} scripts makes it. Put such words into a lookup table, see "
        "set_lookups; or train anew with more data like these, or a smaller "
        "min_tree_freq."
    )
    # Cascades
    DW240 = (
        "The level of order {order} filters nothing: even with alpha = 0 it would lose more "
        "than {epsilon:.3g}% (epsilon) of units ({unit}), and what follows is slow. Give "
        "more data, better features, more epochs or a larger epsilon; or fewer levels."
    )
