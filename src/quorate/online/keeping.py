"""An `Online` in a directory: its settings, a log of what was done, and snapshots of the state.

settings.json            what it was made with
start.quorate            the fit it began from, if any, and start.parquet, that fit's votes
votes.log                everything that was done, in order
snapshot-<place>.zip     the state after the log's bytes up to a place
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.errors import DataError, UsageError
from quorate.online import snapshot
from quorate.online.log import Log
from quorate.result import load
from quorate.votes import Outputs

if TYPE_CHECKING:
    from quorate.online.online import Online

FORMAT = 1
# A snapshot is due after so many votes, and when the votes are half as many again.
FEWEST = 100_000


class Keeper:
    """Keeps one `Online`."""

    def __init__(self, directory: Path, log: Log) -> None:
        self.directory = directory
        self.log = log
        self.notes: list[str] = []
        self._snapshot_of = 0  # votes

    @classmethod
    def open(
        cls, directory: Path, given: dict[str, Any], make: Callable[..., Any], *, sync: bool
    ) -> Keeper:
        """Lock the directory, and write the settings if it is new and they `make` something."""
        try:
            directory.mkdir(parents=True, exist_ok=True)
            log = Log(directory / "votes.log", sync=sync)
        except OSError as error:
            raise DataError(f"{directory} cannot be opened: {error.strerror or error}.") from None
        keeper = cls(directory, log)
        try:
            keeper._settle_settings({k: v for k, v in given.items() if v is not None}, make)
        except BaseException:
            keeper.close()
            raise
        return keeper

    def _settle_settings(self, given: dict[str, Any], make: Callable[..., Any]) -> None:
        """Those of the first opening hold; given again they have to be the same."""
        path = self.directory / "settings.json"
        if not path.exists():
            make(**given)
        start, votes = given.pop("start", None), given.pop("votes", None)
        if not path.exists():
            self._keep_start(start, votes)
            text = json.dumps({"quorate": FORMAT, **given}, default=_refuse)
            with Outputs() as outputs:
                outputs.file(str(path), lambda file: file.write(text.encode()))
            return
        if start is not None or votes is not None:
            raise UsageError(f"{self.directory} has begun already: leave start and votes out.")
        kept = self._settings_file()
        for option, value in json.loads(json.dumps(given, default=_refuse)).items():
            if kept.get(option) != value:
                raise UsageError(
                    f"{self.directory} was made with {option} {kept.get(option)!r}, not {value!r}."
                )

    def _keep_start(self, start: Any, votes: Any) -> None:
        if start is None:
            return
        start.save(self.directory / "start.quorate")
        if votes is not None:
            from quorate.votes import read_table

            frame = read_table(votes, ("task", "worker", "label")).frame
            with Outputs() as outputs:
                outputs.table(frame, str(self.directory / "start.parquet"))

    def _settings_file(self) -> dict[str, Any]:
        path = self.directory / "settings.json"
        try:
            settings: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            format = settings.pop("quorate")
        except (OSError, ValueError, KeyError):
            raise DataError(f"{path} is damaged: restore it from a copy.") from None
        if format != FORMAT:
            raise DataError(f"{path} is in format {format}; this Quorate reads {FORMAT}.")
        return settings

    def settings(self) -> dict[str, Any]:
        """What to make the `Online` with."""
        settings = self._settings_file()
        start = self.directory / "start.quorate"
        if start.exists():
            votes = self.directory / "start.parquet"
            settings |= {"start": load(start), "votes": str(votes) if votes.exists() else None}
        return settings

    def restore(self, online: Online) -> None:
        """The latest snapshot, and what was done after it."""
        place = 0
        found = snapshot.newest(self.directory, self.log.size)
        if found is not None:
            place, about, arrays = found
            online.take_over(about, arrays)
            self._snapshot_of = online.n_votes
        for what in self.log.records(place):
            online.do(what)
        if self.log.dropped:
            self.notes.append(
                f"The last {self.log.dropped} bytes of {self.log.path} were of something that did"
                " not finish, and were cut off."
            )

    def record(self, online: Online, what: Sequence[Any]) -> None:
        votes = online.n_votes
        if votes - self._snapshot_of >= max(FEWEST, self._snapshot_of // 2):
            self.snapshot(online)
        self.log.append(what)

    def snapshot(self, online: Online) -> None:
        about, arrays = online.as_arrays()
        snapshot.write(self.directory, self.log.end, about, arrays)
        self._snapshot_of = online.n_votes

    def close(self) -> None:
        self.log.close()


def _refuse(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise UsageError(f"{value!r} cannot be kept: use numbers and text.")
