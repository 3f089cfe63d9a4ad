"""Votes elsewhere that change between two runs on one store: never the old answer for new votes."""

from __future__ import annotations

import os
import random
import re
import zlib
from collections.abc import Callable
from email.utils import formatdate
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from chaos.attack import Attack, Outcomes
from chaos.children import Child
from chaos.stores.runs import Run, write_votes


class _Handler(BaseHTTPRequestHandler):
    """A file, whole or in part; some servers do not say when it was changed."""

    path_of: Path
    tells_when: bool

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self.wfile.write(self._answer())

    def _answer(self) -> bytes:
        content = self.path_of.read_bytes()
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        first, last = 0, len(content) - 1
        if part:
            first, last = int(part[1]), min(int(part[2] or last), last)
        self.send_response(206 if part else 200)
        if part:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.send_header("Content-Length", str(last + 1 - first))
        if self.tells_when:
            changed = formatdate(self.path_of.stat().st_mtime, usegmt=True)
            self.send_header("Last-Modified", changed)
            self.send_header("ETag", f'"{zlib.crc32(content):x}"')
        self.end_headers()
        return content[first : last + 1]

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def _serve(path: Path, tells_when: bool, say: Callable[[int], None]) -> None:
    handler = type("Handler", (_Handler,), {"path_of": path, "tells_when": tells_when})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    say(server.server_port)
    server.serve_forever()


def trial(seed: int, place: Path) -> Outcomes:
    chance = random.Random(seed)
    there, store = place / "there", place / "store"
    there.mkdir()
    server = Child(partial(_serve, there / "votes.csv", chance.random() < 0.7))
    try:
        address = f"http://127.0.0.1:{server.next()}/votes.csv"
        write_votes(there / "votes.csv", seed, n_tasks=40)
        os.utime(there / "votes.csv", (1e9, 1e9))
        run = Run(place, address, "-m", "majority")
        first = run.end("first", "--store", store)
        if first.status:
            yield f"read from a server: {first}"
            return
        content = (there / "votes.csv").read_bytes()
        changed = content.replace(b"yes", b"n0y") if chance.random() < 0.5 else content[:-30]
        (there / "votes.csv").write_bytes(changed)
        os.utime(there / "votes.csv", (1e9, 1e9 + 60))
        expected = run.expected()
        ran = run.end("second", "--store", store)
        if ran.status == 0:
            run.require("second", expected, "votes on a server have changed")
            yield None
        else:
            yield None if ran.refused else str(ran)
    finally:
        server.kill()


ATTACK = Attack("stores-remote", "votes on a server that change", trial, often=30)
