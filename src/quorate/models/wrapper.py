"""A model around a model: the options that every fit asks for are those of the model within."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quorate.model import AnyModel, Model, Ties


@dataclass(frozen=True, eq=False)
class Wrapper(Model[Any, Any, Any]):
    """What models share that run another one."""

    model: AnyModel

    @property
    def params_type(self) -> Any:
        return self.model.params_type

    @property
    def stats_type(self) -> Any:
        return self.model.stats_type

    @property
    def takes_weights(self) -> bool:  # type: ignore[override]
        return self.model.takes_weights

    @property
    def ties(self) -> Ties:
        return self.model.ties

    @property
    def seed(self) -> int:
        return self.model.seed

    @property
    def max_iter(self) -> int:
        return self.model.max_iter
