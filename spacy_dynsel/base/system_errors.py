"""Errors of cascades, raw text, links, induction and entities, in the order of their codes. The
others stand in errors.py."""

from .errors import ErrorsWithCodes


class SystemErrors(metaclass=ErrorsWithCodes):
    # Cascades
    DS240 = (
        "There is nothing to learn: no position of the sequences has a label. Give labels "
        "from 0 on, and -1 just where a label is not known."
    )
    DS241 = (
        "The labels are not those of the cascade, which has {n_labels}, numbered from 0. "
        "Give -1 for what it can't know."
    )
    DS242 = "The cascade has learned nothing yet. Call fit, or load one by from_bytes."
    DS243 = (
        "The arrays do not describe sequences: {what}. Give the features of all positions, "
        "where those of each position start and where the last ones end, the number of "
        "positions of each sequence, and a label for each position."
    )
    DS244 = (
        "'{path}', line {line}: not a word of handwriting. Write its fold, its letters (a to "
        "z) and an image of each (32 hexadecimal digits), with tabs between the three."
    )
    DS245 = (
        "'{path}' has just one fold, and none is left to learn from. Give two or more."
    )
    DS246 = (
        "Nobody can promise that the cascade loses at most {max_loss:g}% of sequences with "
        "a confidence of {confidence:g}: of {n} sequences it loses {loss:.3g}% even with "
        "alpha = 0. Give more sequences, ask for less, or train it with a smaller epsilon."
    )
    DS247 = (
        "Component '{name}' decides by a cascade, which has thresholds and no {what}. Set "
        "its 'alpha' in place of that: closer to 1 is faster, and loses more."
    )
    DS248 = (
        "Component '{name}' has no thresholds of a cascade: alpha = {alpha!r}. Leave alpha "
        "out, or give the component the architecture 'spacy_dynsel.CascadeTagger.v1'."
    )
    DS249 = (
        "'{given}' is no tagged corpus. Give a folder with train.conllu, dev.conllu and "
        "test.conllu, a colon, and the column of the tags: xpos or upos."
    )
    # Raw text
    DS250 = (
        "Can't read the raw text '{path}': {reason}. Give plain text in UTF-8, or name its "
        "encoding by --encoding."
    )
    DS251 = (
        "No word is frequent enough in {paths}. Give more text, or a smaller number by "
        "--min-count."
    )
    DS252 = (
        "{n_classes} clusters are too many for {n_words} words, each of which occurs "
        "{min_count} times or more. Give more text, fewer clusters by --classes, or a "
        "smaller number by --min-count."
    )
    DS253 = (
        "'{path}' is not a resource that can be used: {reason}. Make it anew by 'python -m "
        "spacy dynsel clusters' or 'classes'."
    )
    DS254 = (
        "The resource '{path}' is for the language '{found}', and the pipeline's is "
        "'{lang}'. Make one from text in that language."
    )
    DS255 = (
        "The resource '{path}' is the second that has the column '{column}'. Name just "
        "one of them."
    )
    DS256 = (
        "The pipeline '{pipeline}' labels no word {min_count} times in this text. Give a "
        "pipeline with a tagger or a morphologizer, more text, or a smaller number by "
        "--min-count."
    )
    # Links that are set
    DS260 = (
        "The links for component '{name}' don't fit the doc: {what}. Give indices of words, "
        "a word's own index for a root, and links within sentences whose starts are set."
    )
    DS261 = (
        "No projective tree with one root has the links that are set for component '{name}' "
        "and none that are forbidden, in the doc that starts with '{start}'. Set "
        "fewer: links must not cross each other, span the root or go round in a circle. If "
        "you set two roots, set a sentence start between them."
    )
    DS262 = (
        "The template '{template}' of siblings does not look at P, the next child. Add an "
        "atom such as 'tag[P]', or move it to the templates of pairs."
    )
    DS263 = (
        "The templates of links ({source}) have a checkpoint. All of them are read for each "
        "link: leave out the lines '---'."
    )
    DS264 = "A parser of {name} has no {what}: it decides by exact search, and labels by label_margin."
    # Induction
    DS280 = (
        "The classifier '{name}' can't induce pairs of features: its compiled form has no "
        "room for them. Leave out 'induction' in its learner; 'python -m spacy dynsel "
        "induce' writes templates that serve as well."
    )
    DS281 = (
        "The model has induced pairs of features for its {name}, and the config has no "
        "'induction' in the block of the learner. Restore the config of the training."
    )
    DS282 = (
        "Component '{name}' induced no conjunction that it lacks and that helps on "
        "held-out data. Give more data, or plainer templates."
    )
