"""Make the pictures of the pages anew, of what the pages' own code has made: `make pictures`.

The blocks of each page run in an empty directory. A report that they leave behind is photographed
in Chromium, light and dark; a figure is copied.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

PICTURES = Path(__file__).parent
DOCS = PICTURES.parent
sys.path.insert(0, str(DOCS.parent))

from docs.blocks import run_page  # noqa: E402

WIDTH = 1100
COLOURS = 192  # of a picture: what is lost cannot be seen


@dataclass(frozen=True)
class Picture:
    """A page, a file that its code writes, and the name of the picture; of a report it begins at
    an element and is so many pixels high."""

    page: str
    file: str
    name: str
    start: str = "body"
    height: int = 760


PICTURES_TAKEN = (
    Picture("guides/report.md", "report.html", "report"),
    Picture("start/csv.md", "report.html", "csv", start="#workers"),
    Picture("start/judges.md", "agreement.svg", "judges"),
    Picture("start/team.md", "report.html", "team", start="#disputed"),
    Picture("start/live.md", "votes.svg", "live"),
    Picture("start/billion.md", "workers.png", "billion"),
    Picture("start/method.md", "methods.svg", "method"),
)


def main() -> None:
    wanted = sys.argv[1:]
    with sync_playwright() as started:
        place = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = started.chromium.launch(executable_path=place, args=["--no-sandbox"])
        for picture in PICTURES_TAKEN:
            if not wanted or picture.name in wanted:
                with made_by(DOCS / picture.page):
                    take(picture, browser)
        browser.close()


@contextlib.contextmanager
def made_by(page: Path) -> Iterator[None]:
    """An empty directory in which the blocks of a page have run."""
    os.environ["COLUMNS"] = "80"
    with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
        run_page(page)
        yield


def take(picture: Picture, browser: Any) -> None:
    if picture.file.endswith(".png"):
        shutil.copy(picture.file, PICTURES / f"{picture.name}.png")
        return
    if picture.file.endswith(".svg"):
        drawing = Path(picture.file).read_text()
        steady = re.sub(r"\s*<dc:date>.*?</dc:date>", "", drawing, flags=re.DOTALL)
        (PICTURES / f"{picture.name}.svg").write_text(steady)
        return
    for scheme in ("light", "dark"):
        context = browser.new_context(
            viewport={"width": WIDTH, "height": picture.height}, color_scheme=scheme
        )
        page = context.new_page()
        page.goto(Path(picture.file).absolute().as_uri())
        top = page.locator(picture.start).first.bounding_box()["y"]
        clip = {"x": 0, "y": top, "width": WIDTH, "height": picture.height}
        taken = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))
        small = taken.convert("RGB").quantize(COLOURS)
        small.save(PICTURES / f"{picture.name}-{scheme}.png", optimize=True)
        context.close()


if __name__ == "__main__":
    main()
