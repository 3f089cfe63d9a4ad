"""The built site: every link leads somewhere, and every page is read in a real browser."""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from tests.browser import browser

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
WIDTHS = (1280, 390)
# What hangs over the right edge of the window and cannot be scrolled to by itself.
OVER_THE_EDGE = """() => {
  const edge = document.documentElement.clientWidth + 1;
  const scrolls = (e) => e && e !== document.body && (
    getComputedStyle(e).overflowX !== "visible" || scrolls(e.parentElement));
  const over = [...document.querySelectorAll(".md-content *")].filter(
    (e) => e.getBoundingClientRect().right > edge && !scrolls(e));
  const page = document.documentElement.scrollWidth > edge ? ["the page"] : [];
  return [...page, ...over.map((e) => e.outerHTML.slice(0, 120))];
}"""


@pytest.mark.usefixtures("a_minute")
def test_every_page_of_the_site() -> None:
    """One test, so that the site is built once and one browser reads it."""
    zensical = Path(sys.executable).with_name("zensical")
    built = subprocess.run(
        [zensical, "build", "--strict"], cwd=ROOT, text=True, capture_output=True
    )
    assert built.returncode == 0, built.stdout + built.stderr
    pages = sorted(SITE.rglob("index.html"))
    assert len(pages) == len(list((ROOT / "docs").rglob("*.md")))
    assert dead_links(pages) == []
    with served(SITE) as address, browser() as chromium:
        assert faults(chromium, address, [page_path(page) for page in pages]) == []
        assert "guides/diagnose/" in found_in_the_dark(chromium, address, "Krippendorff")


# Links.


class Links(HTMLParser):
    """The links of a page, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.links += [given[name] or "" for name in ("href", "src") if given.get(name)]
        self.anchors |= {given[name] or "" for name in ("id", "name") if given.get(name)}


def dead_links(pages: list[Path]) -> list[str]:
    """Links within the site that lead nowhere, each with its page."""
    read = {page: Links(page.read_text()) for page in pages}
    return [
        f"{page_path(page)}: {link}"
        for page, found in read.items()
        for link in found.links
        if not leads_somewhere(page, link, read)
    ]


def leads_somewhere(page: Path, link: str, read: dict[Path, Links]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return parts.scheme in ("https", "data", "mailto")
    path = unquote(urljoin(f"/{page.parent.relative_to(SITE)}/", parts.path)) if parts.path else ""
    target = SITE / path.lstrip("/") if path else page
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return False
    return not parts.fragment or unquote(parts.fragment) in read[target].anchors


def page_path(page: Path) -> str:
    where = page.parent.relative_to(SITE).as_posix()
    return "" if where == "." else f"{where}/"


def test_dead_links_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SITE", tmp_path)
    (tmp_path / "a").mkdir()
    home, page = tmp_path / "index.html", tmp_path / "a" / "index.html"
    home.write_text('<a href="a/#here"></a><a href="a/#gone"></a><img src="no.png">')
    page.write_text('<p id="here"></p><a href=".."></a><a href="../b/"></a><a href="http://c"></a>')
    dead = [": a/#gone", ": no.png", "a/: ../b/", "a/: http://c"]
    assert dead_links([home, page]) == dead


# The browser.


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """An address at which a directory is served."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def faults(chromium: Any, address: str, paths: list[str]) -> list[str]:
    """What is wrong with pages: errors (a picture that does not load is one), requests elsewhere,
    and what hangs over the edge of a wide and a narrow window."""
    found: list[str] = []
    page = chromium.new_page()
    page.on("console", lambda message: found.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: found.append(f"{page.url}: {error}"))
    page.on(
        "request",
        lambda asked: (
            None
            if asked.url.startswith((address, "data:", "blob:"))
            else found.append(f"{page.url}: asks for {asked.url}")
        ),
    )
    for path in paths:
        page.goto(address + path)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            found += [f"/{path} at {width}: {over}" for over in page.evaluate(OVER_THE_EDGE)]
            keep_screenshot(page, path, width)
    return found


def found_in_the_dark(chromium: Any, address: str, word: str) -> str:
    """Where the search leads to, on a page that follows the system into the dark."""
    page = chromium.new_page(color_scheme="dark")
    page.goto(address)
    assert page.evaluate("document.body.dataset.mdColorScheme") == "slate"
    page.keyboard.press("Control+k")
    page.keyboard.type(word)
    results = page.locator(f"a[href*='?h={word}']")
    results.first.wait_for(timeout=120_000)
    return " ".join(str(result.get_attribute("href")) for result in results.all())


def keep_screenshot(page: Any, path: str, width: int) -> None:
    """A picture of how the page begins, in the directory that `make test` keeps them in, if any."""
    kept = os.environ.get("QUORATE_SCREENSHOTS")
    if kept:
        name = path.strip("/").replace("/", "-") or "home"
        place = Path(kept) / "docs" / f"{name}-{width}.jpg"
        page.screenshot(path=place, type="jpeg", quality=60)


def test_faults_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUORATE_SCREENSHOTS", raising=False)
    wide = '<div class="md-content"><div style="width:900px">wide</div></div>'
    (tmp_path / "wide.html").write_text(f"{wide}<script>undefined.name</script><img src='no.png'>")
    scrolls = f'<div style="overflow-x:auto">{wide}</div>'
    (tmp_path / "fine.html").write_text(f'<link rel="icon" href="data:,">{scrolls}')
    with served(tmp_path) as address, browser() as chromium:
        assert faults(chromium, address, ["fine.html"]) == []
        found = " ".join(faults(chromium, address, ["wide.html"]))
    assert "reading 'name'" in found and "404" in found
    assert "/wide.html at 390: the page" in found and "at 1280" not in found
