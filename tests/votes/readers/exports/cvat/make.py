"""Write tags of images as CVAT's XML, with datumaro, one file for everybody's job.

python -m tests.votes.readers.exports.cvat.make
"""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tests.votes.readers.exports.crowd import (
    ABOUT,
    OPTIONS,
    PEOPLE,
    SENTIMENT,
    TEXTS,
    TOPICS,
    entered,
    vote,
    write_entered,
)

HERE = Path(__file__).parent
NO_TAG = ("cyd", 5)


def written(options: Sequence[str], tags: Sequence[Sequence[str]]) -> str:
    """The XML of one job."""
    import numpy as np
    from datumaro import Dataset, DatasetItem, Label
    from datumaro.components.media import Image

    items = [
        DatasetItem(
            id=f"review-{place}",
            media=Image.from_numpy(np.ones((4, 6, 3))),
            annotations=[Label(options.index(tag)) for tag in chosen],
            attributes={"frame": place},
        )
        for place, chosen in enumerate(tags)
    ]
    with tempfile.TemporaryDirectory() as place:
        Dataset.from_iterable(items, categories=list(options)).export(place, "cvat")
        return (Path(place) / "default.xml").read_text()


def of_job(xml: str, name: str) -> str:
    """The same as CVAT exports a job: with its number and who it is assigned to."""
    who = f"<assignee>\n<username>{name}</username>\n<email>{name}@example.com</email>\n</assignee>"
    as_job = re.sub(r"<(/?)task>", r"<\1job>", xml)
    return as_job.replace("<labels>", f"{who}\n<labels>", 1)


def main() -> None:
    """Write the files, and what was entered."""
    files = {}
    for name in PEOPLE:
        tags = [[s] if (name, i) != NO_TAG else [] for i, s in enumerate(SENTIMENT[name])]
        xml = written(OPTIONS, tags)
        (HERE / f"{name}.xml").write_text(xml)
        votes = [vote("", f"review-{i}.jpg", name, t[0]) for i, t in enumerate(tags) if t]
        untagged = {} if len(votes) == len(TEXTS) else {"untagged": len(TEXTS) - len(votes)}
        files[f"{name}.xml"] = entered(votes, dropped=untagged)
    with zipfile.ZipFile(HERE / "jobs.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number, name in enumerate(PEOPLE):
            xml = of_job(written(TOPICS, ABOUT[name]), name)
            archive.writestr(zipfile.ZipInfo(f"job_{number}/annotations.xml"), xml)
    several = [
        vote("", f"review-{i}.jpg", name, list(chosen))
        for name in PEOPLE
        for i, chosen in enumerate(ABOUT[name])
        if chosen
    ]
    none = len(PEOPLE) * len(TEXTS) - len(several)
    write_entered(HERE, files | {"jobs.zip": entered(several, dropped={"untagged": none})})


if __name__ == "__main__":
    main()
