"""Label Studio: predictions with scores, in tasks to import or for tasks that are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from quorate.errors import DataError
from quorate.votes.faults import listed, shown
from quorate.votes.readers.opening import Opened
from quorate.votes.writers.writer import (
    Answer,
    Outcome,
    Writer,
    records,
    require_some,
    write_array,
)

BETWEEN = " / "  # the parts of a path, as the reader joins them


class Control(NamedTuple):
    """How an annotation says the answer to a question: the control tag, the object that it is
    about, the type of both, the key of the value, and a value."""

    from_name: str
    to_name: str
    type: str
    key: str
    sample: Any

    def region(self, answer: Answer) -> dict[str, Any]:
        """The answer as Label Studio keeps it."""
        return {
            "from_name": self.from_name,
            "to_name": self.to_name,
            "type": self.type,
            "value": {self.key: self._value(answer.label)},
            "score": answer.confidence,
        }

    def _value(self, label: Any) -> Any:
        if isinstance(self.sample, list):
            labels = label if isinstance(label, list) else [str(label)]
            nested = any(isinstance(each, list) for each in self.sample)  # paths of a taxonomy
            return [each.split(BETWEEN) for each in labels] if nested else labels
        if isinstance(label, str) and isinstance(self.sample, (int, float)):
            return float(label) if "." in label else int(label)
        return label


class Predictions(Writer):
    """Predictions for the tasks of a project, by their ids."""

    name = "label-studio-predictions"
    title = "Label Studio"

    def write(
        self,
        outcomes: Mapping[str, Outcome],
        export: Sequence[Opened],
        file: BinaryIO,
        **options: Any,
    ) -> None:
        write_array(self.rows(outcomes, export), file)

    def rows(
        self, outcomes: Mapping[str, Outcome], export: Sequence[Opened]
    ) -> Iterator[dict[str, Any]]:
        for task, prediction in self.predicted(outcomes, export):
            if prediction is not None:
                yield {"task": task["id"], **prediction}

    def predicted(
        self, outcomes: Mapping[str, Outcome], export: Sequence[Opened]
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
        """The tasks that were answered, each with its prediction, if one is decided."""
        controls = self._controls(list(outcomes), export)
        found = False
        for task in records(self, export, "id", "data"):
            name = str(task["id"])
            if not any(name in outcome.answers for outcome in outcomes.values()):
                continue
            found = True
            answers = {q: outcome.answer(name) for q, outcome in outcomes.items()}
            regions = [controls[q].region(answer) for q, answer in answers.items() if answer]
            agent = next(iter(outcomes.values())).agent
            scores = [region["score"] for region in regions]
            prediction = {
                "model_version": agent,
                "score": min(scores, default=0),
                "result": regions,
            }
            yield task, prediction if regions else None
        require_some(self, found, export, next(iter(outcomes.values())).answers)

    def _controls(self, questions: Sequence[str], export: Sequence[Opened]) -> dict[str, Control]:
        """The control of each question, as the first annotation that has it says."""
        found: dict[str, Control] = {}
        nameless = questions == [""]
        for task in records(self, export, "id", "data"):
            for region in _regions(task):
                control = _control(region)
                if control is not None and (nameless or control.from_name in questions):
                    found.setdefault(control.from_name, control)
            if not nameless and len(found) == len(questions):
                return found
        if nameless and len(found) == 1:
            return {"": next(iter(found.values()))}
        lost = [question for question in questions if question not in found]
        what = f"no annotation of {shown(lost[0])}" if not nameless else "several questions"
        raise DataError(
            f"{export[0].origin} has {what}: its questions are {listed(found) or 'not there'}."
        )


class Tasks(Predictions):
    """Tasks with their data and a prediction each, to import into a project."""

    name = "label-studio"

    def rows(
        self, outcomes: Mapping[str, Outcome], export: Sequence[Opened]
    ) -> Iterator[dict[str, Any]]:
        for task, prediction in self.predicted(outcomes, export):
            predictions = [] if prediction is None else [prediction]
            yield {"id": task["id"], "data": task["data"], "predictions": predictions}


def _regions(task: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What annotations (and predictions that are there in full) say."""
    kinds = ("annotations", "completions", "predictions")
    said = (each for kind in kinds for each in task.get(kind) or ())
    for each in said:
        if isinstance(each, Mapping):
            yield from (r for r in each.get("result") or () if isinstance(r, Mapping))


def _control(region: Mapping[str, Any]) -> Control | None:
    """How this region says its answer; None where it says none of a whole task."""
    kind, value = region.get("type"), region.get("value")
    names = region.get("from_name"), region.get("to_name")
    if not (isinstance(kind, str) and isinstance(value, Mapping) and value and all(names)):
        return None
    key = kind if kind in value else str(next(iter(value)))
    return Control(str(names[0]), str(names[1]), kind, key, value[key])
