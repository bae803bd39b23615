"""Choosing the order of templates, the checkpoints and the margin from data."""
