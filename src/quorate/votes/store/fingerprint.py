"""Fingerprint of votes in files: it differs if the files, or how they are read, have changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quorate.votes.batches import Batches, Piece

SECONDS = 20.0  # to wait for an answer about a remote file
ROWS = 100_000  # at a time, of a remote file whose content is read

Stamp = list[Any] | None


def stamps(batches: Batches, paths: Sequence[str]) -> list[Stamp]:
    """What is known of each file without reading it: place, size and time of a local one, address,
    entity tag and length of a remote one; None for one that does not tell."""
    local: list[Stamp] = [_local(file.path) for file in batches.files if file.path is not None]
    return local + [_remote(path) for path in paths if "://" in path]


def fingerprint(batches: Batches, known: Sequence[Stamp], how: Any) -> str:
    """Digest of the stamps, of how the files are read, and of the content of remote files if one
    of them has no stamp."""
    content = _content(batches) if None in known else ""
    text = json.dumps([how, list(known), content], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _local(path: Path) -> Stamp:
    about = path.stat()
    return [str(path.absolute()), about.st_size, about.st_mtime_ns]


def _remote(path: str) -> Stamp:
    if not path.startswith(("http://", "https://")):
        return None
    import urllib.request  # slow to import

    try:
        asked = urllib.request.Request(path, method="HEAD")
        with urllib.request.urlopen(asked, timeout=SECONDS) as answer:
            tag, length = answer.headers.get("ETag"), answer.headers.get("Content-Length")
    except (OSError, ValueError):
        return None
    if tag is None or tag.startswith("W/"):  # a weak tag may stand for other bytes
        return None
    return [path, tag, length]


def _content(batches: Batches) -> str:
    digest = hashlib.blake2b()
    for index, file in enumerate(batches.files):
        if file.path is None:
            for frame in batches.read(Piece(index), ROWS):
                digest.update(frame.write_csv(include_header=False).encode())
    return digest.hexdigest()
