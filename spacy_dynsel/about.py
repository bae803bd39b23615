__title__ = "spacy-dynsel"
__version__ = "0.1.0"
