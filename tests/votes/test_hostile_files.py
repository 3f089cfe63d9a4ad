"""Files that are no accident: a line without an end, a key twice, secrets in addresses."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.votes.test_sources import Ranges

import quorate
from quorate import DataError
from quorate.votes import faults

# With as much memory as reading a usual file takes, but not what a line of this length takes.
READING = """
import resource, sys
import quorate

quorate.aggregate([("t", "w", "a")], "majority")
limit = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (1 << 29)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    quorate.aggregate(sys.argv[1], "majority", engine=sys.argv[2])
except quorate.DataError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory")
@pytest.mark.parametrize("engine", ["threads", "disk"])
def test_a_line_that_memory_does_not_hold_is_one_sentence(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    with path.open("wb") as file:
        file.write(b"task,worker,label\n" + b"t1,ann,yes\n" * 1_000 + b"t1,bob,")
        file.seek(1 << 30, 1)  # zeros, which take no room on the disk
        file.write(b"\nt2,ann,no\n")
    run = subprocess.run(
        [sys.executable, "-c", READING, str(path), engine], capture_output=True, text=True
    )
    assert run.stdout.startswith(f"{path} has no end of line in 32 MB, from byte 33,554,432 on:")
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("length", [40, 79, 159, 160, 400])
def test_a_line_is_refused_if_it_is_twice_too_long_and_read_if_it_is_not_too_long(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "LONG_LINE", 80)
    monkeypatch.setattr(faults, "PIECE", 8)
    for before in range(0, 200, 7):
        path = tmp_path / f"{before}.csv"
        lines = ["task,worker,label", *["t,w,a"] * before, f"t,w,{'x' * (length - 4)}", "t,w,a", ""]
        path.write_text("\n".join(lines))
        if length < 80:
            assert quorate.aggregate(path, "majority").workers["labels"].sum() == before + 2
        else:
            with pytest.raises(DataError, match="has no end of line"):
                quorate.aggregate(path, "majority")


TWICE = '{"task":"t1","worker":"ann","label":"yes","label":"no"}\n'
ONCE = '{"task":"t%d","worker":"ann","label":"yes"}\n'


def test_a_key_twice_in_one_of_the_first_lines_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_text(ONCE % 0 + "\n" + TWICE)
    with pytest.raises(DataError, match=r"votes\.jsonl, line 3 has 'label' twice: write each key"):
        quorate.aggregate(path, "majority")
    path.write_text(ONCE % 0 + '{"task":"t1","worker":"label","label":"label"}')
    assert quorate.aggregate(path, "majority").labels.height == 2


@pytest.mark.parametrize("engine", ["threads", "disk"])
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_of_a_key_twice_in_a_later_line_the_first_counts(
    suffix: str, engine: Any, tmp_path: Path
) -> None:
    path = tmp_path / f"votes{suffix}"
    text = "".join(ONCE % number for number in range(2, 300)) + TWICE
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    labels = quorate.aggregate(path, "majority", engine=engine).labels.lazy().collect()
    assert dict(labels.select("task", "label").rows())["t1"] == "yes"
    assert labels["label"].unique().to_list() == ["yes"]


class Served(Ranges):
    """Serves votes, whatever comes behind the question mark."""

    content = b"task,worker,label\nt1,ann,yes\nt1,bob,no\nt2,ann,no\n"

    def do_GET(self) -> None:  # noqa: N802
        self.path = self.path.partition("?")[0]
        super().do_GET()


def test_a_store_keeps_no_secret_of_the_address_of_its_votes(tmp_path: Path) -> None:
    store, secret = tmp_path / "store", "1f3a9c77e2"
    with ThreadingHTTPServer(("127.0.0.1", 0), Served) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/votes.csv?X-Amz-Signature={secret}"
        quorate.aggregate(address, "dawid-skene", store=store)
        quorate.aggregate(address, "dawid-skene", store=store, resume=True)
        server.shutdown()
    kept = [path for path in store.rglob("*") if path.is_file()]
    assert len(kept) > 3
    assert not [path for path in kept if secret.encode() in path.read_bytes()]
