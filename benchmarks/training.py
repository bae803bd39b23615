"""Trains pipelines by the command a user would type, in a process of its own that is
measured, and keeps the result until the inputs change."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import spacy
from spacy.cli.init_config import init_config

HERE = Path(__file__).parent
CACHE = HERE / "cache"
CONFIGS = HERE.parent / "configs"


def run_measured(command: list[str]) -> dict[str, float]:
    """Run a command. RETURNS (dict): Its CPU seconds and its peak memory in MB."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{output}")
    scale = 1024 if sys.platform != "darwin" else 1024**2
    return {
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / scale,
    }


def train(
    name: str, config: Path, paths: dict[str, Path], overrides: dict[str, Any]
) -> tuple[Path, dict[str, float]]:
    """Train by `spacy train`, or take the result of an earlier run of the same inputs.

    RETURNS (tuple): The best pipeline, and the measurements of its training.
    """
    settings = [f"--{key}={value}" for key, value in overrides.items()]
    command = [sys.executable, "-m", "spacy", "train", str(config), *settings]
    command += ["--paths.train", str(paths["train"]), "--paths.dev", str(paths["dev"])]
    package = sorted((HERE.parent / "spacy_dynsel").rglob("*"))
    inputs = [config, *paths.values()]
    if name.startswith("dynsel"):
        inputs += [
            p for p in package if p.suffix in (".py", ".pyx", ".pxd", ".hpp", ".txt")
        ]
    # Contents, not paths: what is kept stays valid when the folder moves.
    digest = hashlib.sha256(json.dumps([spacy.__version__, settings]).encode())
    for path in inputs:
        digest.update(path.read_bytes())
    output = CACHE / f"{name}-{digest.hexdigest()[:12]}"
    measured = output / "measured.json"
    if not measured.exists():
        usage = run_measured([*command, "--output", str(output)])
        measured.write_text(json.dumps(usage))
    return output / "model-best", json.loads(measured.read_text())


def train_by_script(
    script: str, train_path: Path, model: Path, *settings: str
) -> tuple[Path, dict[str, float]]:
    """Train a peer by a script of this folder, or take the result of an earlier run.

    RETURNS (tuple): Its model, and the measurements of its training.
    """
    measured = model.with_suffix(".json")
    if not measured.exists():
        command = [sys.executable, str(HERE / script), str(train_path), str(model)]
        measured.write_text(json.dumps(run_measured([*command, *settings])))
    return model, json.loads(measured.read_text())


def spacy_config(lang: str, components: list[str], max_steps: int) -> Path:
    """The config that `spacy init config` gives for spaCy's own components, trained on
    gold words, since that is what they are measured on."""
    config = init_config(lang=lang, pipeline=components, optimize="efficiency")
    config["training"]["max_steps"] = max_steps
    config["training"]["seed"] = 0
    config["system"]["seed"] = 0
    for corpus in config["corpora"].values():
        corpus["@readers"] = "spacy_dynsel.gold_words_corpus.v1"
        del corpus["gold_preproc"]
    CACHE.mkdir(exist_ok=True)
    path = CACHE / f"spacy-{lang}-{'-'.join(components)}-{max_steps}.cfg"
    config.to_disk(path)
    return path
