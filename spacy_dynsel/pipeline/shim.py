"""A thinc Model around a learner that is not a network."""

from typing import Any

from thinc.api import Model
from thinc.shims.shim import Shim

from ..base.errors import Errors
from ..tasks.engine import Engine


class EngineShim(Shim):
    """Keeps an engine, which holds the weights and trains itself, within a Model."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(None)
        self.engine = engine

    def __call__(self, docs: Any, is_train: bool) -> Any:
        return self.predict(docs), _no_backprop

    def predict(self, docs: Any) -> Any:
        engine = self.engine
        if not engine.is_initialized:
            raise ValueError(Errors.DS040.format(name=engine.task))
        return engine.predict_without_exit(list(docs))

    def begin_update(self, docs: Any) -> Any:
        return self.predict(docs), _no_backprop

    def finish_update(self, optimizer: Any) -> None:
        """The learner is online: its weights change in update."""

    def to_device(self, device_type: str, device_id: int) -> None:
        """The engine runs on the CPU, whatever the device of the pipeline."""

    def to_bytes(self) -> bytes:
        return self.engine.to_bytes()

    def from_bytes(self, bytes_data: bytes) -> "EngineShim":
        # What uses the engine now keeps it as it is.
        engine = self.engine.blank()
        engine.from_bytes(bytes_data)
        self.engine = engine
        return self


def _no_backprop(gradient: Any) -> Any:
    return gradient


def _forward(model: Model, docs: Any, is_train: bool) -> Any:
    return model.shims[0](docs, is_train)


def wrap_engine(name: str, engine: Engine) -> Model:
    """Make a thinc Model of an engine. Its dimension nO is set on initialization."""
    return Model(
        name,
        _forward,
        dims={"nO": None},
        shims=[EngineShim(engine)],
        attrs={"dropout_rate": 0.0},
    )
