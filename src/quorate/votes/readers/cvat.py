"""CVAT: XML of a job or task, in which images have tags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from xml.etree import ElementTree

from quorate.errors import DataError
from quorate.votes.readers.opening import Look, Opened
from quorate.votes.readers.reader import Dropped, Found, Reader, Vote

NOBODY = ("annotations", "default")  # names of files that tell nothing
MARKS = ("<annotations>", "<version>1.1</version>")


class CVAT(Reader):
    """A task is an image. A job has one assignee, whose votes its tags are; where none is named,
    the file is named after who tagged it."""

    name = "cvat"
    title = "CVAT"

    def sniff(self, look: Look) -> bool:
        return any(
            isinstance(part.get("head"), str) and all(mark in part["head"] for mark in MARKS)
            for part in look.first
        )

    def read(self, export: Opened) -> Iterator[Found]:
        worker: str | None = None
        with export.stream() as file:
            try:
                for _, element in ElementTree.iterparse(file):
                    if element.tag == "assignee":
                        worker = element.findtext("username") or worker
                    elif element.tag == "image":
                        yield from _image(element, worker or _named_after(export))
                        element.clear()
            except ElementTree.ParseError as error:
                raise ValueError(str(error)) from None


def _named_after(export: Opened) -> str:
    stem = PurePath(export.name).stem
    if stem in NOBODY:
        raise DataError(
            f"{export.origin} names no assignee: assign the job and export it again, or name the"
            " file after who tagged the images."
        )
    return stem


def _image(image: ElementTree.Element, worker: str) -> Iterator[Found]:
    tags = [tag.get("label") for tag in image.iter("tag")]
    for _ in range(len(image) - len(tags)):
        yield Dropped("shapes")
    yield Vote(image.get("name"), worker, tags) if tags else Dropped("untagged")
