"""Download data sets from where they were published, convert and check them, and only then put
them in their place."""

from __future__ import annotations

import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from http.client import HTTPException, HTTPResponse, IncompleteRead, InvalidURL
from pathlib import Path
from urllib.parse import urlsplit

import polars as pl

from quorate.datasets.catalogue import CATALOGUE, DataSet
from quorate.datasets.originals import LARGEST
from quorate.datasets.reading import WORDS, data_directory, differences, known, state
from quorate.errors import DataError, QuorateError, UsageError
from quorate.votes import Outputs

TIMEOUT = 30.0  # seconds without a byte
SLOWEST = 600.0  # seconds for a file
ATTEMPTS = 3
PAUSE = 1.0  # seconds before the second attempt; doubled before the next
CHUNK = 2**16
BUSY = 429

Progress = Callable[[int, int, str], None]  # bytes so far, bytes in all (0: not known), file
Download = Callable[[str], bytes]


@dataclass(frozen=True)
class FetchOutcome:
    """Outcome of fetching one data set: fetched, replaced, kept or failed.

    Attributes:
        name: The data set.
        outcome: `"fetched"`, `"replaced"` (it was damaged), `"kept"` (it was there), `"failed"`.
        sentence: The same in words.
    """

    name: str
    outcome: str
    sentence: str


def get(
    names: Sequence[str],
    directory: str | Path | None = None,
    *,
    mirror: str | None = None,
    progress: Progress | None = None,
) -> Iterator[FetchOutcome]:
    """Fetch data sets (`["all"]` is every one) one after the other, and yield the outcome of each.

    A data set that is there and whole is kept. A mirror is the address of a copy of the hosts:
    `https://host/path` is taken from `mirror/host/path`, and checked in the same way.
    """
    chosen = [known(name) for name in (CATALOGUE if "all" in names else dict.fromkeys(names))]
    if mirror is not None and not _is_address(mirror):
        raise UsageError(f"mirror is an address such as https://example.org/copy, not {mirror!r}.")
    place = data_directory(directory)
    # Several data sets come out of the same file.
    fetch = cache(partial(download, mirror=mirror, progress=progress))
    for data_set in chosen:
        try:
            yield _get(data_set, place, fetch)
        except QuorateError as error:
            yield FetchOutcome(data_set.name, "failed", str(error))


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and " " not in text
    except ValueError:
        return False


def _get(data_set: DataSet, place: Path, fetch: Download) -> FetchOutcome:
    name = data_set.name
    before = state(name, place)
    if before.status == "here" and not before.note:
        return FetchOutcome(name, "kept", f"{name} is in {place} already, and whole.")
    tables, note = _verify(data_set, _convert(data_set, fetch))
    _put(data_set, place, tables)
    outcome = "replaced" if before.status == "damaged" else "fetched"
    return FetchOutcome(name, outcome, f"{name} {outcome}, and put in {place}{note}.")


def _convert(data_set: DataSet, fetch: Download) -> Mapping[str, pl.DataFrame]:
    raws = [fetch(url) for url in data_set.urls]
    try:
        return data_set.convert(raws)
    except Exception:  # whatever a damaged or foreign file does to a converter
        files = " and ".join(data_set.urls)
        raise DataError(
            f"{data_set.name} was not fetched: {files} cannot be read in the form that the original"
            " has."
        ) from None


def _verify(
    data_set: DataSet, tables: Mapping[str, pl.DataFrame]
) -> tuple[Mapping[str, pl.DataFrame], str]:
    """Tables that match the catalogue, and a note. Only a derived table may be left out, which the
    note says."""
    faults = differences(data_set, tables)
    left_out = [kind for kind in data_set.derived if kind in tables] if faults else []
    if left_out:
        tables = {kind: table for kind, table in tables.items() if kind not in left_out}
        faults = differences(data_set, tables)
    faults += [
        f"no {WORDS[kind]}"
        for kind in data_set.checksums
        if kind not in tables and kind not in data_set.derived
    ]
    if faults:
        raise DataError(
            f"{data_set.name} was not fetched: what came from {data_set.source} is not what is"
            f" known ({'; '.join(faults)})."
        )
    without = " and ".join(WORDS[kind] for kind in left_out)
    return tables, f", without {without}, which came out differently" if left_out else ""


def _put(data_set: DataSet, place: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    """Write all files of the data set, or none."""
    target = place / data_set.name
    provenance = (
        f"source: {data_set.source}\ncommit: {data_set.commit or 'none'}\n"
        f"licence: {data_set.licence}\nfiles: {' '.join(data_set.urls)}\n"
    )
    with _directory(target), Outputs() as outputs:
        for kind, table in tables.items():
            outputs.table(table, str(target / f"{kind}.csv"))
        outputs.file(str(target / "SOURCE.txt"), lambda file: file.write(provenance.encode()))
    for kind in data_set.checksums.keys() - tables.keys():
        (target / f"{kind}.csv").unlink(missing_ok=True)


@contextmanager
def _directory(target: Path) -> Iterator[None]:
    """Context with the directory made, and removed again if it stays empty."""
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{target} cannot be made ({error.strerror}): name another place with --data."
        ) from None
    try:
        yield
    finally:
        with suppress(OSError):
            target.rmdir()


def download(url: str, *, mirror: str | None = None, progress: Progress | None = None) -> bytes:
    """Download a whole file, and retry after a fault that may pass."""
    address = url if mirror is None else f"{mirror.rstrip('/')}/{url.removeprefix('https://')}"
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        try:
            return _read(address, progress)
        except (OSError, HTTPException, ValueError) as error:
            fault, may_pass = _fault(address, error)
            if isinstance(error, urllib.error.HTTPError):
                error.close()
        if not may_pass:
            break
    raise DataError(fault)


def _read(address: str, progress: Progress | None) -> bytes:
    request = urllib.request.Request(address, headers={"User-Agent": "quorate"})
    began = time.monotonic()
    content = bytearray()
    response: HTTPResponse
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        total = int(response.headers.get("Content-Length") or 0)
        _check_size(address, total)
        while chunk := response.read1(CHUNK):
            content += chunk
            _check_size(address, len(content))
            if time.monotonic() - began > SLOWEST:
                raise TimeoutError
            if progress is not None:
                progress(len(content), total, address.rpartition("/")[2])
    if len(content) < total:
        raise IncompleteRead(bytes(content), total - len(content))
    return bytes(content)


def _check_size(address: str, size: int) -> None:
    if size > LARGEST:
        raise DataError(f"{address} is larger than {LARGEST // 2**20} MB: that is another file.")


def _fault(address: str, error: Exception) -> tuple[str, bool]:
    """One sentence for a fault, and whether it may pass."""
    if isinstance(error, urllib.error.HTTPError):
        return _refusal(address, error.code)
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    host = urlsplit(address).netloc.rpartition("@")[2]  # without the user and the password
    match reason:
        case DataError():
            return str(reason), False
        case TimeoutError():
            return f"{host} did not send {address} in time: try again later.", True
        case socket.gaierror():
            return f"The host {host} cannot be found: is there a network?", False
        case ssl.SSLError():
            return f"The connection to {host} is not secure ({reason.reason}).", False
        case InvalidURL() | ValueError():
            return f"{address} is not an address that can be asked.", False
        case HTTPException() | ConnectionResetError():
            return f"The connection to {host} was cut before {address} was whole.", True
    why = getattr(reason, "strerror", None) or reason
    return f"{host} cannot be reached ({why}).", True


def _refusal(address: str, code: int) -> tuple[str, bool]:
    if 300 <= code < 400:
        return f"{address} leads from one address to the next without end.", False
    if code in (404, 410):
        return f"{address} is not there any more ({code}): has it moved?", False
    if code == BUSY or code >= 500:
        return f"The server has trouble with {address} ({code}): try again later.", True
    return f"The server refuses {address} ({code}).", False
