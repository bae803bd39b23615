"""How components are saved and loaded: whole, or not at all."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import srsly
from spacy.pipeline.trainable_pipe import TrainablePipe

from ..base.atomic import write_files
from ..base.errors import Errors
from ..confidence.maps import ConfidenceMap
from ..core.model_file import read_file

Self = TypeVar("Self", bound="StoredComponent")


class StoredComponent(TrainablePipe):
    """A component whose settings and engine are written together, and replaced together
    by what is read."""

    cfg: dict[str, Any]
    engine: Any
    _names: Any

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the component."""
        files: dict[str, Any] = {**self._get_files(exclude)}
        if "vocab" not in exclude:
            files["vocab"] = self.vocab.to_bytes(exclude=exclude)
        found = {name: data for name, data in files.items() if data is not None}
        return srsly.msgpack_dumps(found)

    def from_bytes(
        self: Self, bytes_data: bytes, *, exclude: Iterable[str] = ()
    ) -> Self:
        """Load the component. Nothing changes if the data can't be used."""
        try:
            files = srsly.msgpack_loads(bytes_data)
        except Exception as error:
            raise ValueError(Errors.DS051.format(name=self.name)) from error
        if not isinstance(files, dict):
            raise ValueError(Errors.DS051.format(name=self.name))
        files = {name: data for name, data in files.items() if name not in exclude}
        self._load(
            files,
            lambda: self.vocab.from_bytes(files["vocab"], exclude=exclude),
        )
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Serialize the component to a directory. What was there before stays whole if
        that fails."""
        folder = Path(path)
        files = self._get_files(exclude)
        folder.mkdir(parents=True, exist_ok=True)
        if "vocab" not in exclude:
            self.vocab.to_disk(folder / "vocab", exclude=exclude)
        write_files(folder, files, last="training")

    def from_disk(self: Self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Load the component from a directory. Nothing changes if its files can't be
        used."""
        folder = Path(path)
        files: dict[str, Any] = {}
        for name in ("cfg", "model", "training", "vocab"):
            if name not in exclude and (
                (folder / name).exists() or name in ("cfg", "model")
            ):
                is_folder = name == "vocab"
                files[name] = None if is_folder else read_file(folder / name)
        self._load(
            files,
            lambda: self.vocab.from_disk(folder / "vocab", exclude=exclude),
        )
        return self

    @property
    @abstractmethod
    def _known_labels(self) -> tuple[str, ...]:
        """The labels of the engine; before there are any, those that were added."""

    @abstractmethod
    def _configure(self, engine: Any, cfg: dict[str, Any]) -> None:
        """Let an engine have the settings that it needs."""

    @abstractmethod
    def _check_settings(self, cfg: dict[str, Any]) -> ConfidenceMap | None:
        """Raise an error unless the settings can be used. RETURNS: What they say about
        confidence."""

    @abstractmethod
    def _replace(
        self, engine: Any, cfg: dict[str, Any], found: ConfidenceMap | None
    ) -> None:
        """Change all that a component knows, at once."""

    def _get_files(self, exclude: Iterable[str]) -> dict[str, bytes | None]:
        """The contents of the files of the component, None for one that is not there."""
        with self.engine.lock:
            engine = self.engine
            state = None
            if self.cfg["keep_training_state"] and "training" not in exclude:
                state = engine.training_to_bytes()
            cfg = {**self.cfg, "labels": list(self._known_labels)}
            files = {
                "cfg": srsly.json_dumps(cfg, indent=2).encode("utf8"),
                "model": engine.to_bytes(),
                "training": state,
            }
        return {name: data for name, data in files.items() if name not in exclude}

    def _load(self, files: dict[str, Any], load_vocab: Callable[[], Any]) -> None:
        """Take over what was read, if all of it is good."""
        with self.engine.lock:
            cfg = dict(self.cfg)
            if "cfg" in files:
                cfg.update(self._read_settings(files["cfg"]))
            engine = self.engine.blank() if "model" in files else self.engine.copy()
            found = self._check_settings(cfg)
            self._configure(engine, cfg)
            if "model" in files:
                engine.from_bytes(files["model"])
            if engine.is_initialized:
                cfg["labels"] = list(engine.labels)
            if "training" in files:
                engine.training_from_bytes(files["training"])
            if "vocab" in files:
                load_vocab()
            self._names = None
            self._replace(engine, cfg, found)

    def _read_settings(self, data: Any) -> dict[str, Any]:
        """The settings of a file, or a clear error."""
        try:
            cfg = srsly.json_loads(data if isinstance(data, str) else bytes(data))
        except Exception as error:
            raise ValueError(Errors.DS052.format(name=self.name)) from error
        if not isinstance(cfg, dict):
            raise ValueError(Errors.DS052.format(name=self.name))
        unknown = sorted(set(cfg) - set(self.cfg))
        if unknown:
            raise ValueError(
                Errors.DS053.format(name=self.name, unknown=", ".join(unknown))
            )
        return cfg
