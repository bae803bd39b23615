"""Settings of components: they stand in cfg, and most can be set at any time."""

from typing import Any

from ..base.system_errors import SystemErrors
from ..tasks.engine import Margin
from .margins import read_margin, write_margin


class Setting:
    """A setting that can be set at any time. What a component can't use is refused.

    doc (str): What it is.
    """

    def __init__(self, doc: str) -> None:
        self.__doc__ = f"{doc} Can be set at any time."

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, component: Any, owner: type | None = None) -> Any:
        return self if component is None else component.cfg[self.name]

    def __set__(self, component: Any, value: Any) -> None:
        component._check_settings({**component.cfg, self.name: value})
        component.cfg[self.name] = value


class MarginSetting(Setting):
    """An exit margin: a number, or one for each stage but the last."""

    def __get__(self, component: Any, owner: type | None = None) -> Any:
        if component is None:
            return self
        value = component.cfg[self.name]
        # Most often there is nothing to find out, and single docs would feel it.
        if type(value) is float and value >= 0:
            return value
        return read_margin(value, component.engine.count_stages(self.name))

    def __set__(self, component: Any, value: Margin) -> None:
        if not component.engine.has_margins:
            raise ValueError(
                SystemErrors.DS247.format(name=component.name, what=self.name)
            )
        n_stages = component.engine.count_stages(self.name)
        component.cfg[self.name] = write_margin(value, n_stages)


class AlphaSetting(Setting):
    """The thresholds of a cascade; while nothing is set, those that training chose."""

    def __get__(self, component: Any, owner: type | None = None) -> Any:
        if component is None:
            return self
        value = component.cfg[self.name]
        return component.engine.alpha if value is None else value
