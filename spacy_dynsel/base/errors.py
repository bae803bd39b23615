"""Every error this package raises, with a code that can be searched for."""

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
        "list twice (first in line {first}; the order of atoms within a template "
        "does not matter). Remove one of them."
    )
    DS004 = (
        "Checkpoint {checkpoint} is outside of the list '{source}' of {n_templates} "
        "templates, or not above the one before it. Checkpoints count templates from "
        "1, rise strictly and end at the length of the list at most."
    )
    DS005 = (
        "Template file '{source}', line {line}: a checkpoint closes a stage without "
        "templates. Put at least one template before each '---'."
    )
    DS006 = (
        "Template file '{source}', line {line}: template '{template}' has {n_atoms} "
        "atoms, more than the {most} that are supported."
    )
    DS007 = (
        "There are {n_templates} templates in '{source}', more than the {most} whose "
        "16-bit sum cannot overflow. Remove some."
    )
    DS008 = (
        "Give templates by 'path', 'lines' or 'default', but not by both "
        "'path' and 'lines'."
    )
    DS009 = (
        "Template file '{source}', line {line}: '{atom}' is not an atom. An atom is a "
        "column, or a column with a place in brackets, as in 'word' or 'tag[-1]'."
    )
    DS010 = "Can't read the template file '{path}': {reason}."
    DS011 = "There is no default template list '{name}'. Known lists: {known}."
    # Settings
    DS020 = (
        "A margin must be {number}, or a list of {n_margins} of these, one for each "
        "{stage}; got {margin!r}."
    )
    DS021 = "Unknown setting {name} = {value!r}. Use one of: {known}."
    DS022 = "The setting {name} = {value!r} is out of range: it must be {range}."
    DS023 = (
        "The penalties l1 and l2 belong to optimizer = 'rda'; with 'adagrad' they "
        "have no effect. Set them to 0 or choose 'rda'."
    )
    DS024 = (
        "The block '{name}' of the config has a setting {key} = {value!r} that is unknown "
        "or of another type. Known settings: {known}."
    )
    DS025 = (
        "The setting {setting} = {value!r} has no effect on {name}. Remove it, or set it "
        "to null."
    )
    # Model files
    DS030 = "The model data is not a spacy-dynsel model file (wrong first bytes)."
    DS031 = (
        "The model file is truncated or too long: its header says {expected} bytes, "
        "there are {found}. Copy it again or train anew."
    )
    DS032 = (
        "The model file has format version {found}; this version of spacy-dynsel "
        "reads version {known}. Install a matching spacy-dynsel or train anew."
    )
    DS033 = (
        "The model file was written in another byte order, or its header is damaged. "
        "Copy it again or train anew."
    )
    DS034 = (
        "The model file is damaged: its checksum does not fit its contents. Copy it "
        "again or train anew."
    )
    DS035 = "The model file is inconsistent: {what}. It cannot be used; train anew."
    DS036 = (
        "The templates in the config differ from those in the model file: {what}. A "
        "model can only be used with the templates it was trained with. Restore them "
        "in the config or train anew."
    )
    DS037 = (
        "The model file holds a model for the task '{found}', but '{expected}' is "
        "needed. Check that the directory belongs to this component."
    )
    # Components
    DS040 = (
        "Component '{name}' is used before it was initialized or loaded: call "
        "nlp.initialize() with training data or load a trained pipeline."
    )
    DS041 = (
        "Labels must be strings that are not empty, got {label!r} ({type}) for component "
        "'{name}'."
    )
    DS042 = (
        "Component '{name}' has no labels: give training examples with annotation "
        "in token.tag, or labels by 'spacy init labels'."
    )
    DS043 = (
        "Can't add the label '{label}' to component '{name}' after it was initialized "
        "with {n_labels} labels. Give all labels to initialize."
    )
    DS044 = (
        "Too many labels for component '{name}': {n_labels}; at most {most} are "
        "supported."
    )
    DS045 = (
        "The stored predictions do not fit the documents given to set_annotations: "
        "{n_predictions} labels for {n_tokens} tokens, or labels that do not exist."
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
        "The data given to from_bytes of component '{name}' can't be read. Give what its "
        "to_bytes has made."
    )
    DS052 = (
        "The settings of component '{name}' (its file 'cfg') can't be read: they are not "
        "a JSON object. Copy the pipeline again or train anew."
    )
    DS053 = (
        "The settings of component '{name}' (its file 'cfg') have entries that are not "
        "known: {unknown}. They belong to another component, or to a newer version of "
        "spacy-dynsel."
    )
    DS054 = (
        "The labels of component '{name}' must be a list of strings, got {labels!r}."
    )
    # Entity recognition
    DS100 = (
        "The model file was trained to read sentences '{found}', but the config says "
        "direction = '{expected}'. Restore the direction in the config or train anew."
    )
    DS070 = (
        "'{template}' reads tags in the first stage, but another template reads the tags "
        "of words to come, which are what the first stage says without any tags. Move "
        "it behind the first checkpoint."
    )
    DS101 = (
        "The training data for component '{name}' contradicts itself: the tokens "
        "{start} to {end} are an entity '{label}' in doc.ents, and not one in "
        "doc.spans['{key}']. Remove one of them."
    )
    DS102 = (
        "The entity label '{label}' starts with '!', an old way to mark what is not an "
        "entity. Put such spans into doc.spans under a key of your choice and set "
        "incorrect_spans_key to it for component '{name}'."
    )
    DS103 = (
        "The stored predictions do not fit the documents given to set_annotations: "
        "{n_predictions} actions for {n_tokens} tokens, or actions that do not exist."
    )
    DS104 = (
        "The labels given to component '{name}' can't be read: {labels!r}. Give a list "
        "of entity labels, or what 'spacy init labels' writes."
    )
    DS105 = (
        "There is no entity recognizer '{name}' of factory 'dynsel_ner' in the pipeline, "
        "whose o_bias could be tuned. Correct the name or remove tune_o_bias."
    )
    DS106 = (
        "The model file and the config differ in two_passes: one has a second pass, the "
        "other not. Restore the setting in the config or train anew."
    )
    # Gazetteers
    DS110 = "Can't read the gazetteer file '{path}': {reason}."
    DS111 = (
        "The gazetteer '{name}' has no entries: {source} is empty. Give at least one "
        "entry or remove the list."
    )
    DS112 = (
        "Entry {line} of the gazetteer '{name}' ('{start} ...') has {n_tokens} tokens, "
        "more than the {most} that are supported. Shorten or remove it."
    )
    DS113 = (
        "The gazetteer '{name}' is given twice, under 'paths' and under 'entries'. "
        "Rename one of them."
    )
    DS114 = "There are {n_lists} gazetteers, more than the {most} that are supported."
    DS115 = (
        "'{name}' can't be the name of a gazetteer: use letters, digits and "
        "underscores, a letter first."
    )
    DS116 = (
        "A gazetteer with embed = false is read when a pipeline is loaded, before there "
        "is a tokenizer: set tokenize = false or embed = true."
    )
    DS117 = "The entries of the gazetteer '{name}' must be a list of strings."
    DS118 = (
        "The model was trained with the gazetteers {found}, but the config has "
        "{expected}. Restore them in the config or train anew."
    )
    DS119 = (
        "The gazetteers {names} differ from those that the model was trained with. "
        "Restore the files, or train anew with embed = true to keep them in the model."
    )
    DS200 = (
        "Entry {line} of the gazetteer '{name}' ('{start}...') has {n_characters} "
        "characters, more than the {most} that are supported. Shorten or remove it."
    )
    # Parsing
    DS123 = (
        "The training data for component '{name}' has a tree with a cycle, in the doc "
        "that starts with '{start}'. Correct its heads or remove it."
    )
    DS124 = (
        "'{label}' can't be a label of component '{name}': a label is not empty, and "
        "'||' stands in it at most once, between the labels of an arc that was lifted "
        "and of its former head."
    )
    DS122 = (
        "The labels given to component '{name}' can't be read: {labels!r}. Give a list "
        "of dependency labels, or what 'spacy init labels' writes."
    )
    # Build and environment
    # Parsing
    DS120 = (
        "A parser with folds = {folds} trains a reranker, which needs templates: set "
        "'branches' and 'trees', or folds = 0."
    )
    DS121 = (
        "The model file has a reranker and the config has none, or the other way round. "
        "Set 'folds' as it was in training, or train anew."
    )
    DS125 = (
        "The config has no component '{name}'. Give the name of its tagger by --name; "
        "there are: {known}."
    )
    DS126 = (
        "All docs of '{path}' fall into one of the {folds} folds, so that nothing is "
        "left to train on. Give a corpus of more docs."
    )
    DS127 = (
        "There is no {name} decision to work with. Check that the corpus has the "
        "annotation that the component learns, and that it has more than a few docs."
    )
    DS128 = (
        "There is nothing to order under '{part}' in the component '{name}'. Give one of "
        "these by --part: {known}."
    )
    DS129 = (
        "The journal '{path}' of an interrupted run is damaged. Remove it, or give "
        "--restart, to start from the beginning."
    )
    DS130 = (
        "The journal '{path}' is of a run with another config, other data or another "
        "method. Give another output; or remove the journal, or give --restart, to start "
        "from the beginning."
    )
    DS131 = (
        "There is no template '{template}' among those that are ordered. Write it as "
        "it stands in the list, with its atoms in alphabetical order."
    )
    DS132 = (
        "Can't order {wanted} templates: there are {n_templates}. Give a number between "
        "1 and {n_templates} by --templates."
    )
    DS133 = (
        "There is no way to order templates called '{name}'. Give one of these by "
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
        "{n} units are too few to test margins on: even without a single disagreement, a "
        "loss of at most {max_loss:g} points could not be promised with a confidence of "
        "{confidence:g}. {needed} are needed, and as many again to choose margins by "
        "stage, which --one-margin does without. Give a larger corpus, or ask for less."
    )
    DS137 = (
        "No pipeline can be loaded from '{path}' ({reason}). Give the directory of a "
        "trained pipeline."
    )
    DS138 = (
        "{n_templates} templates can't be divided into {wanted} stages. Give a number "
        "between 1 and {n_templates} by --stages."
    )
    DS139 = (
        "There is no corpus to work with. Give the files of training and test data by "
        "--tagging, --parsing or --entities."
    )
    # Tokenizers
    DS220 = (
        "A cached tokenizer can be made of spaCy's rule tokenizer only "
        "(spacy.tokenizer.Tokenizer), and this one is {found!r}. Keep it as it is: the "
        "components work with any tokenizer."
    )
    DS221 = (
        "spacy_dynsel.CachedTokenizer.v1 would replace the tokenizer of '{lang}', "
        "'{own}', which finds words that are not divided by spaces. Leave out the "
        "setting of [nlp.tokenizer]; or set replace_segmenter = true if words are "
        "divided by spaces in your texts."
    )
    DS222 = (
        "There is no .spacy file in the folder '{path}'. Give a DocBin, or a folder that "
        "has some; 'python -m spacy dynsel convert' writes them."
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
        "'Name=Value|Name=Value'. Correct them, or leave out such sentences with "
        "--skip-bad."
    )
    DS146 = (
        "'{path}', line {line}: the head '{head}' is not a number from 0 to {n_words}, "
        "the number of words in the sentence. Correct it, or leave out such sentences "
        "with --skip-bad."
    )
    DS147 = (
        "'{path}', line {line}: the word is among its own ancestors. Correct the heads, "
        "or leave out such sentences with --skip-bad."
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
        "The suffix of '{path}' does not tell its format: give --format. Known "
        "suffixes: {known}."
    )
    DS151 = "The tag column '{value}' is not known here: give {known}."
    DS152 = "'{path}' has no sentences that could be converted."
    DS153 = (
        "spaCy has no language '{lang}', or lacks a package for it ({reason}). Give the "
        "code of another by --lang, or by --nlp.lang where there is a config; 'xx' is "
        "for any."
    )
    DS154 = (
        "'{path}' is not a DocBin, or damaged. Write it anew, for instance by 'python -m "
        "spacy dynsel convert'; if it is a file to be converted, give --format."
    )
    DS155 = "Give either --documents or --paragraphs."
    DS156 = "'{path}' is a DocBin, which does not tell paragraphs."
    DS157 = (
        "'{path}', line {line}: the second root of the sentence, and a Doc can have one "
        "only. Correct the heads, or leave out such sentences with --skip-bad."
    )
    DS201 = (
        "The component '{name}' would be written outside of the folder of its pipeline, "
        "'{path}'. Give it a name without slashes."
    )
    # Pages
    DS160 = "The text has no words: give some to look at."
    DS161 = (
        "The pipeline has no component of spacy-dynsel that could be looked at. It "
        "has: {known}."
    )
    DS223 = (
        "The explanations are those of another doc: {n_found} for {n_tokens} tokens. Give "
        "what explain() says about this one."
    )
    # Confidence, and training that goes on
    DS190 = (
        "The component '{name}' is asked for confidence, but was never calibrated. Run "
        "'python -m spacy dynsel reliability PIPELINE DATA --fit DEV' with data that "
        "was not trained on, or set confidence = false."
    )
    DS191 = (
        "The stored calibration of confidence is malformed. Fit it anew by 'python -m "
        "spacy dynsel reliability PIPELINE DATA --fit DEV'."
    )
    DS192 = (
        "There are {n} annotated units to fit confidence to, in too few docs or fewer "
        "than the {needed} that are needed. Give more data that were not trained on."
    )
    DS193 = (
        "The confidence of '{name}' was fitted with {fitted}, and it now runs with "
        "{found}: probabilities may be off. Fit it anew by 'python -m spacy dynsel "
        "reliability PIPELINE DATA --fit DEV', or restore the settings."
    )
    DS194 = (
        "The training state does not belong to the model beside it ({what}). Save "
        "the pipeline anew, or delete the file 'training' of the component: learning "
        "then goes on from the model alone."
    )
    # Compiled code
    DS215 = (
        "A list of Docs is needed, and {found} is among them. Check that each component "
        "of the pipeline returns the Doc that it was given."
    )
    DS216 = (
        "Parts of a model were used together that do not fit each other: {what}. If "
        "another thread changed the component meanwhile, let it wait until nobody uses "
        "the component; if not, please report it."
    )
    DS217 = (
        "The templates of one of a parser's classifiers look at {n} different atoms, and "
        "there is room for {most}. Leave out some templates, or let them share atoms."
    )
    DS218 = (
        "A learner of {old} labels can't become one of {new}: labels are added and never "
        "taken away. Make a new one."
    )
    DS060 = (
        "The compiled parts of spacy-dynsel can't be found beside {path}. You are "
        "probably importing the source folder of a checkout in place of the installed "
        "package: install with 'pip install -e .' or start Python in another folder."
    )
    DS061 = (
        "This build of spacy-dynsel does not read the memory layout of spaCy "
        "{version} correctly ({what}). Install spacy-dynsel anew, without a cache, "
        "against the installed spaCy: pip install --no-cache-dir --force-reinstall "
        "--no-deps spacy-dynsel."
    )


class Warnings(metaclass=ErrorsWithCodes):
    # Entity recognition
    DW101 = (
        "There is no entity in the {n} docs that component '{name}' is to learn from: it "
        "will find none. If your data are CoNLL-U with entities in MISC, convert them by "
        "'python -m spacy dynsel convert', since 'spacy convert' drops them; else check "
        "doc.ents, or give the labels to initialize."
    )
    DW102 = (
        "o_bias = {bias:g} is more than there is room for beside {n_templates} templates: "
        "it counts as {used:.2f}. Use fewer templates, or a smaller bias."
    )
    # Parsing
    DW120 = (
        "The docs that component '{name}' learns from have no tags, but '{tagger}', which "
        "stands before it, will set them when the pipeline is used: its trees will be "
        "much worse than they could be. Add '{tagger}' to annotating_components in the "
        "section [training] of the config."
    )
    DW121 = (
        "Component '{name}' has learned from docs with tags, and now gets docs without: "
        "its trees will be much worse than they could be. Run its tagger before it (do "
        "not exclude or disable it), or train without tags."
    )
    DW122 = (
        "Component '{name}' has learned from docs with tags, and is now updated with docs "
        "without: it will unlearn to use them. Name its tagger in 'annotates' of nlp.update, "
        "or in annotating_components in the section [training] of the config."
    )
