"""All errors of this package, in the order of their codes, which can be searched for."""

from typing import Any


class ErrorsWithCodes(type):
    """Puts the name of a message, which is its code, in front of it."""

    def __getattribute__(cls, code: str) -> Any:
        message = super().__getattribute__(code)
        return message if code.startswith("__") else f"[{code}] {message}"


class Errors(metaclass=ErrorsWithCodes):
    # Templates
    DS001 = (
        "Template file '{source}', line {line}: unknown atom '{atom}' in template "
        "'{template}'. Known columns: {columns}. Known places: {places}."
    )
    DS002 = "The template list '{source}' is empty: give at least one template."
    DS003 = (
        "Template file '{source}', line {line}: template '{template}' stands in the "
        "list twice (first in line {first}; the order of atoms within a template does "
        "not matter). Remove one of them."
    )
    DS004 = (
        "Checkpoint {checkpoint} is outside of the list '{source}' of {n_templates} "
        "templates, or not above the checkpoint before it. Count templates from 1, and "
        "let checkpoints rise up to the length of the list."
    )
    DS005 = (
        "Template file '{source}', line {line}: a checkpoint closes a stage without "
        "templates. Put at least one template before each '---'."
    )
    DS006 = (
        "Template file '{source}', line {line}: template '{template}' has {n_atoms} "
        "atoms, and a template can have {most}. Use fewer."
    )
    DS007 = (
        "The list '{source}' has {n_templates} templates, and a list can have {most}: "
        "more could overflow a 16-bit sum. Remove some."
    )
    DS008 = (
        "The templates are given by both 'path' and 'lines'. Give one of 'path', "
        "'lines' and 'default'."
    )
    DS009 = (
        "Template file '{source}', line {line}: '{atom}' is not an atom. An atom is a "
        "column, or a column with a place in brackets, as in 'word' or 'tag[-1]'."
    )
    DS010 = (
        "Can't read the template file '{path}': {reason}. Correct the path or the file."
    )
    DS011 = "There is no default template list '{name}'. Use one of: {known}."
    # Settings
    DS020 = (
        "A margin must be {number}, or a list of {n_margins} of these, one for each "
        "{stage}; got {margin!r}."
    )
    DS021 = "Unknown setting {name} = {value!r}. Use one of: {known}."
    DS022 = "The setting {name} = {value!r} is out of range: it must be {range}."
    DS023 = (
        "The penalties l1 and l2 have no effect with optimizer = 'adagrad'. Set them "
        "to 0, or choose optimizer = 'rda'."
    )
    DS024 = (
        "The block '{name}' of the config has a setting {key} = {value!r} that is "
        "unknown or of another type. Use these settings: {known}."
    )
    DS025 = (
        "The setting {setting} = {value!r} has no effect on {name}. Remove it, or set "
        "it to null."
    )
    # Model files
    DS030 = (
        "The model data is not a spacy-dynsel model file: its first bytes are others. "
        "Check the path."
    )
    DS031 = (
        "The model file is truncated or too long: its header says {expected} bytes, "
        "there are {found}. Copy it again or train anew."
    )
    DS032 = (
        "The model file has format version {found}, and this spacy-dynsel reads "
        "version {known}. Install a matching spacy-dynsel or train anew."
    )
    DS033 = (
        "The model file was written in another byte order, or its header is damaged. "
        "Copy it again or train anew."
    )
    DS034 = (
        "The model file is damaged: its checksum does not match its contents. Copy it "
        "again or train anew."
    )
    DS035 = "The model file contradicts itself: {what}. Train anew."
    DS036 = (
        "The config has other templates than the model file: {what}. Restore the "
        "templates that the model was trained with, or train anew."
    )
    DS037 = (
        "The model file holds a model for the task '{found}', but this component needs "
        "one for '{expected}'. Check that the directory belongs to this component."
    )
    # Components
    DS040 = (
        "Component '{name}' has no model yet. Call nlp.initialize() with training "
        "data, or load a trained pipeline."
    )
    DS041 = (
        "Component '{name}' got the label {label!r} ({type}). Give strings that are "
        "not empty."
    )
    DS042 = (
        "Component '{name}' has no labels. Give training examples with annotation in "
        "{attribute}, or labels made by 'spacy init labels'."
    )
    DS043 = (
        "Component '{name}' can't take the label '{label}': it was initialized with "
        "{n_labels} labels. Give all labels to initialize."
    )
    DS044 = "Component '{name}' has {n_labels} labels, and can have {most}. Use fewer."
    DS045 = (
        "The predictions given to set_annotations do not match the docs: "
        "{n_predictions} labels for {n_tokens} tokens, or labels that do not exist. "
        "Give what predict has made of these docs."
    )
    DS046 = (
        "The training data has the tag '{tag}', which is not among the {n_labels} "
        "labels of component '{name}'. Give all labels to initialize."
    )
    DS047 = (
        "Component '{name}' can't use the model that the config gives it. Give it the "
        "architecture '{architecture}', or leave out its section 'model'."
    )
    DS051 = (
        "Component '{name}' can't read the data given to from_bytes. Give what its "
        "to_bytes has made."
    )
    DS052 = (
        "Component '{name}' can't read its settings (its file 'cfg'): they are not a "
        "JSON object. Copy the pipeline again or train anew."
    )
    DS053 = (
        "Component '{name}' does not know these entries of its settings (its file "
        "'cfg'): {unknown}. Check that the file belongs to this component, or install "
        "a newer spacy-dynsel."
    )
    DS054 = "Component '{name}' got the labels {labels!r}. Give a list of strings."
    # Build and environment
    DS060 = (
        "There are no compiled modules of spacy-dynsel beside {path}. Python probably "
        "imports the source folder of a checkout in place of the installed package: "
        "install with 'pip install -e .', or start Python in another folder."
    )
    DS061 = (
        "This build of spacy-dynsel misreads the memory of spaCy {version} ({what}). "
        "Install spacy-dynsel anew, without a cache, against the installed spaCy: pip "
        "install --no-cache-dir --force-reinstall --no-deps spacy-dynsel."
    )
    # Tagging
    DS070 = (
        "'{template}' reads tags in the first stage, but another template reads the "
        "tags of words to come, which the first stage has to guess without any tags. "
        "Move '{template}' behind the first checkpoint."
    )
    DS071 = (
        "The template '{template}' stands before the first checkpoint of a "
        "morphologizer. Templates there can read only the word itself, since what they "
        "say is kept with the word. Put it after the checkpoint."
    )
    DS072 = (
        "Component '{name}' got the label '{label}': {what}. Write labels as features "
        "and part of speech, in the way of 'Number=Sing|POS=NOUN'."
    )
    DS073 = (
        "A morphologizer has {n_labels} labels, and these have {n_parts} different "
        "features, each with its value; there can be {most} of both together. Leave out "
        "features that are names or numbers of single words."
    )
    # Entity recognition
    DS100 = (
        "The model file was trained to read sentences '{found}', but the config says "
        "direction = '{expected}'. Restore the direction in the config or train anew."
    )
    DS101 = (
        "The training data for component '{name}' contradicts itself: tokens {start} "
        "to {end} are an entity '{label}' in doc.ents, and are known not to be one in "
        "doc.spans['{key}']. Remove one of the two."
    )
    DS102 = (
        "The entity label '{label}' starts with '!', an old way to mark what is not an "
        "entity. Put such spans into doc.spans under a key of your choice, and set "
        "incorrect_spans_key of component '{name}' to it."
    )
    DS103 = (
        "The predictions given to set_annotations do not match the docs: "
        "{n_predictions} actions for {n_tokens} tokens, or actions that do not exist. "
        "Give what predict has made of these docs."
    )
    DS104 = (
        "Component '{name}' can't read the labels {labels!r}. Give a list of entity "
        "labels, or what 'spacy init labels' writes."
    )
    DS105 = (
        "The pipeline has no component '{name}' of factory 'dynsel_ner', whose o_bias "
        "could be tuned. Correct the name or remove tune_o_bias."
    )
    DS106 = (
        "The model file and the config differ in two_passes. Restore the setting in "
        "the config or train anew."
    )
    # Gazetteers
    DS110 = (
        "Can't read the gazetteer file '{path}': {reason}. Correct the path or the "
        "file."
    )
    DS111 = (
        "The gazetteer '{name}' has no entries: {source} is empty. Give at least one "
        "entry or remove the list."
    )
    DS112 = (
        "Entry {line} of the gazetteer '{name}' ('{start} ...') has {n_tokens} tokens, "
        "and an entry can have {most}. Shorten or remove it."
    )
    DS113 = (
        "The gazetteer '{name}' stands under 'paths' and under 'entries'. Rename one "
        "of the two."
    )
    DS114 = (
        "There are {n_lists} gazetteers, and a model can have {most}. Join or remove "
        "some."
    )
    DS115 = (
        "'{name}' can't be the name of a gazetteer. Use letters, digits and "
        "underscores, a letter first."
    )
    DS116 = (
        "A gazetteer with embed = false is read before the pipeline has a tokenizer. "
        "Set tokenize = false or embed = true."
    )
    DS117 = "The entries of the gazetteer '{name}' are no list of strings. Give one."
    DS118 = (
        "The model was trained with the gazetteers {found}, but the config has "
        "{expected}. Restore them in the config or train anew."
    )
    DS119 = (
        "The gazetteers {names} differ from those that the model was trained with. "
        "Restore the files, or train anew with embed = true to keep them in the model."
    )
    # Parsing
    DS120 = (
        "A parser with folds = {folds} trains a reranker, which needs templates. Set "
        "'branches' and 'trees', or folds = 0."
    )
    DS121 = (
        "The model file and the config differ in whether there is a reranker. Set "
        "'folds' as it was in training, or train anew."
    )
    DS122 = (
        "Component '{name}' can't read the labels {labels!r}. Give a list of "
        "dependency labels, or what 'spacy init labels' writes."
    )
    DS123 = (
        "The training data for component '{name}' has a tree with a cycle, in the doc "
        "that starts with '{start}'. Correct its heads or remove it."
    )
    DS124 = (
        "'{label}' can't be a label of component '{name}'. Give a label that is not "
        "empty; in it, '||' can stand once, between the labels of a lifted arc and of "
        "its former head."
    )
    # Commands that train, order and calibrate
    DS125 = (
        "The config has no component '{name}'. Give the name of its tagger by --name; "
        "there are: {known}."
    )
    DS126 = (
        "All docs of '{path}' fall into one of the {folds} folds, and none is left to "
        "train on. Give a corpus of more docs."
    )
    DS127 = (
        "There is no {name} decision. Check that the corpus has the annotation that "
        "the component learns, and more than a few docs."
    )
    DS128 = (
        "The component '{name}' has no templates under '{part}'. Give one of these by "
        "--part: {known}."
    )
    DS129 = (
        "The journal '{path}' of an interrupted run is damaged. Remove it, or give "
        "--restart, to start from the beginning."
    )
    DS130 = (
        "The journal '{path}' is of a run with another config, other data or another "
        "method. Give another output; or remove the journal, or give --restart, to "
        "start from the beginning."
    )
    DS131 = (
        "There is no template '{template}' among those to order. Write it as it stands "
        "in the list, with its atoms in alphabetical order."
    )
    DS132 = (
        "Can't order {wanted} of {n_templates} templates. Give a number between 1 and "
        "{n_templates} by --templates."
    )
    DS133 = (
        "There is no method '{name}' to order templates. Give one of these by "
        "--method: {known}."
    )
    DS134 = (
        "The component '{name}' of factory '{factory}' has no templates. Give the name "
        "of a component of spacy-dynsel by --name; there are: {known}."
    )
    DS135 = (
        "'{path}' has no annotation for the component '{name}': {what}. Give a corpus "
        "that has."
    )
    DS136 = (
        "{n} {unit}s are too few to test margins on: even if all of them agreed, nobody "
        "could promise a loss of at most {max_loss:g} points with a confidence of "
        "{confidence:g}. Give {needed}, and as many again to choose margins by stage "
        "(--one-margin does without); or allow a larger loss (--max-loss)."
    )
    DS137 = (
        "Can't load a pipeline from '{path}' ({reason}). Give the directory of a "
        "trained pipeline."
    )
    DS138 = (
        "Can't divide {n_templates} templates into {wanted} stages. Give a number "
        "between 1 and {n_templates} by --stages."
    )
    DS139 = (
        "There is no corpus. Give the files of training and test data by --tagging, "
        "--parsing or --entities, or for cascades a file of handwriting by --cascades, or "
        "tagged corpora by --tags."
    )
    # Corpora
    DS140 = (
        "'{path}', line {line}: not UTF-8. Convert the file first, for instance with "
        "'iconv -f latin1 -t utf8'."
    )
    DS141 = (
        "'{path}', line {line}: {n} columns, but CoNLL-U has 10, with tabs between "
        "them. Correct the line, give another --format, or leave out such sentences "
        "with --skip-bad."
    )
    DS142 = (
        "'{path}', line {line}: the ID '{number}' stands where word {expected}, or a "
        "range of words or an empty node there, is expected. Correct it, or leave out "
        "such sentences with --skip-bad."
    )
    DS143 = (
        "'{path}', line {line}: the word is empty. Correct the line, leave out such "
        "sentences with --skip-bad, or, in a file of columns, give --empty-word."
    )
    DS144 = (
        "'{path}', line {line}: '{upos}' is not a universal part of speech. Correct "
        "it, or leave out such sentences with --skip-bad."
    )
    DS145 = (
        "'{path}', line {line}: the features '{feats}' are not of the form "
        "'Name=Value|Name=Value', with each name once. Correct them, or leave out such "
        "sentences with --skip-bad."
    )
    DS146 = (
        "'{path}', line {line}: the head '{head}' is not a number from 0 to {n_words}, "
        "the number of words in the sentence. Correct it, or leave out such sentences "
        "with --skip-bad."
    )
    DS147 = (
        "'{path}', line {line}: the word is among its own ancestors. Correct the "
        "heads, or leave out such sentences with --skip-bad."
    )
    DS148 = (
        "'{path}', line {line}: there is no column {column} among {n}. See "
        "--word-column, --entity-column, --tag-column and --separator, or leave out "
        "such sentences with --skip-bad."
    )
    DS149 = (
        "'{path}', line {line}: '{tag}' is not an entity tag such as O, B-PER or "
        "U-PER. See --entity-column and --separator, or leave out such sentences with "
        "--skip-bad."
    )
    DS150 = (
        "The suffix of '{path}' does not tell its format. Give --format, or a file "
        "with one of these suffixes: {known}."
    )
    DS151 = "There is no tag column '{value}'. Give {known}."
    DS152 = "'{path}' has no sentence to convert. Check the file and its format."
    DS153 = (
        "spaCy has no language '{lang}', or lacks a package for it ({reason}). Give "
        "the code of another by --lang, or by --nlp.lang where there is a config; 'xx' "
        "is for any."
    )
    DS154 = (
        "'{path}' is not a DocBin, or damaged. Write it anew, for instance by 'python "
        "-m spacy dynsel convert'; if it is a file to be converted, give --format."
    )
    DS155 = "--documents and --paragraphs exclude each other. Give one of the two."
    DS156 = (
        "'{path}' is a DocBin, which does not tell paragraphs. Leave out --paragraphs."
    )
    DS157 = (
        "'{path}', line {line}: the second root of the sentence, and a Doc can have "
        "one only. Correct the heads, or leave out such sentences with --skip-bad."
    )
    # Pages
    DS160 = "The text has no words. Give some to look at."
    DS161 = (
        "The pipeline has no component of spacy-dynsel to look at. Give a pipeline "
        "that has; this one has: {known}."
    )
    # Confidence, and training that goes on
    DS190 = (
        "The component '{name}' has no calibration, and can't tell its confidence. Run "
        "'python -m spacy dynsel reliability PIPELINE DATA --fit DEV' with data that "
        "it was not trained on, or set confidence = false."
    )
    DS191 = (
        "The stored calibration of confidence is malformed. Fit it anew by 'python -m "
        "spacy dynsel reliability PIPELINE DATA --fit DEV'."
    )
    DS192 = (
        "There are {n} annotated units to fit confidence to, fewer than the {needed} "
        "that are needed or in too few docs. Give more data that the pipeline was not "
        "trained on."
    )
    DS194 = (
        "The training state does not belong to the model beside it ({what}). Save the "
        "pipeline anew; or delete the file 'training' of the component, and learning "
        "goes on from the model alone."
    )
    # Entries and names that do not fit
    DS200 = (
        "Entry {line} of the gazetteer '{name}' ('{start}...') has {n_characters} "
        "characters, and an entry can have {most}. Shorten or remove it."
    )
    DS201 = (
        "The component '{name}' would be written outside of the folder of its "
        "pipeline, '{path}'. Give it a name without slashes."
    )
    # Compiled code
    DS215 = (
        "{found} stands in a list of Docs. Check that each component of the pipeline "
        "returns the Doc that it was given."
    )
    DS216 = (
        "Parts of a model do not match each other: {what}. If another thread changed "
        "the component meanwhile, let it wait until nobody uses the component; if not, "
        "please report it."
    )
    DS217 = (
        "The templates of one of a parser's classifiers look at {n} different atoms, "
        "and there is room for {most}. Leave out some templates, or let them share "
        "atoms."
    )
    DS218 = (
        "A learner of {old} labels can't become one of {new}: it takes more labels and "
        "never fewer. Make a new one."
    )
    # Tokenizers
    DS220 = (
        "A cached tokenizer replaces spaCy's rule tokenizer only "
        "(spacy.tokenizer.Tokenizer), and this one is {found!r}. Keep it as it is: the "
        "components work with any tokenizer."
    )
    DS221 = (
        "spacy_dynsel.CachedTokenizer.v1 would replace the tokenizer of '{lang}', "
        "'{own}', which finds words without spaces between them. Leave out the setting "
        "of [nlp.tokenizer]; or set replace_segmenter = true if your texts have spaces "
        "between words."
    )
    # Inputs that are not what was asked for
    DS222 = (
        "There is no .spacy file in the folder '{path}'. Give a DocBin, or a folder "
        "that has some; 'python -m spacy dynsel convert' writes them."
    )
    DS223 = (
        "The explanations are those of another doc: {n_found} for {n_tokens} tokens. "
        "Give what explain() says about this one."
    )
    # Lemmas
    DS230 = (
        "'{script}' is not a script that makes lemmas. Write one as 'lower ies>y$'; see "
        "the page about lemmas for all that it can say."
    )
    DS231 = (
        "Component '{name}' has no labels. Give training examples with annotation in "
        "token.lemma, a smaller min_tree_freq, or labels made by 'spacy init labels'."
    )
    DS232 = (
        "Component '{name}' can't read the labels {labels}. Give a list of scripts, as "
        "'spacy init labels' writes it for a config with this component; the edit trees "
        "of spaCy's trainable_lemmatizer can't be used."
    )
    DS233 = (
        "The setting backoff = {backoff!r} of component '{name}' is not an attribute of "
        "tokens that is a string ID. Use one of these, or null: {known}."
    )
    DS234 = (
        "The lookup table has {what}. Give a table from forms to lemmas, tables from "
        "forms to lemmas for each part of speech, or spaCy's Lookups with the tables "
        "'lemma_lookup' and 'lemma_exc'."
    )
