"""Public data sets: found, checked, and fetched from a server on this machine in the form that
each original has."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
import threading
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from graphlib import TopologicalSorter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from quorate.cli import main
from quorate.datasets import (
    CATALOGUE,
    DataSet,
    checksum,
    data_directory,
    features,
    get,
    gold,
    originals,
    reading,
    state,
    votes,
)
from quorate.datasets import fetch as fetching
from quorate.errors import DataError, UsageError
from quorate.votes import sinks

HOST = "https://example.org"
VOTES = b"1 ann yes\n1 bob no\n2 ann no\n2 bob no\n"
TRUTHS = b"2 no\n1 yes\n1 yes\n"

Reply = Callable[[BaseHTTPRequestHandler], None]


# A server that answers as told


class Server:
    """Answers each path as `replies` says, and counts how often it was asked."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}
        self.asked: list[str] = []
        self.over = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.asked.append(self.path)
                self.close_connection = True
                server.replies.get(self.path, status(404))(self)

            def log_message(self, *words: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.mirror = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def serve(self, url: str, reply: bytes | Reply) -> None:
        parts = urlsplit(url)
        self.replies[f"/{parts.netloc}{parts.path}"] = (
            whole(reply) if isinstance(reply, bytes) else reply
        )

    def close(self) -> None:
        self.over.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


def whole(body: bytes) -> Reply:
    return partial(answer, code=200, length=len(body), body=body)


def status(code: int, location: str = "") -> Reply:
    return partial(answer, code=code, length=0, body=b"", location=location)


def answer(
    handler: BaseHTTPRequestHandler, code: int, length: int, body: bytes, location: str = ""
) -> None:
    handler.send_response(code)
    handler.send_header("Content-Length", str(length))
    if location:
        handler.send_header("Location", location)
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(fetching, "PAUSE", 0.01)
    serving = Server()
    yield serving
    serving.close()


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> DataSet:
    """A data set of four votes, beside the known ones."""
    tables = originals.rows_of_votes([VOTES, TRUTHS])
    data_set = replace(
        CATALOGUE["rte"],
        name="toy",
        source=HOST,
        urls=(f"{HOST}/votes.txt", f"{HOST}/truths.txt"),
        convert=originals.rows_of_votes,
        tasks=2,
        workers=2,
        labels=4,
        classes=2,
        gold=2,
        checksums={kind: checksum(table) for kind, table in tables.items()},
    )
    for module in (reading, fetching):
        monkeypatch.setattr(module, "CATALOGUE", {**CATALOGUE, "toy": data_set})
    return data_set


@pytest.fixture
def served(server: Server, toy: DataSet) -> Server:
    for url, body in zip(toy.urls, (VOTES, TRUTHS), strict=True):
        server.serve(url, body)
    return server


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["data", *map(str, arguments)])


def fetch_toy(place: Path, server: Server) -> Result:
    return run("get", "toy", "--data", place, "--mirror", server.mirror)


# The data sets that are here


def test_the_shared_data_sets_are_whole_and_checked_in_no_time(data: Path) -> None:
    began = time.process_time()
    found = {name: state(name, data) for name in CATALOGUE}
    assert time.process_time() - began < 2
    assert {name: each.status for name, each in found.items()} == dict.fromkeys(CATALOGUE, "here")
    assert not any(each.reason or each.note for each in found.values())


def test_every_shared_directory_is_in_the_catalogue(data: Path) -> None:
    assert {place.name for place in data.iterdir() if place.is_dir()} == set(CATALOGUE)


def test_tables_are_text_in_the_order_of_the_file(data: Path) -> None:
    assert votes("rte", data).schema == dict.fromkeys(("task", "worker", "label"), pl.String)
    assert votes("rte", data).rows()[0] == ("t1", "w1", "2")
    assert gold("d_possent", data).rows()[1] == ("t206", "0")
    assert features("vote", data).rows()[0] == ("t1", "handicapped-infants=n")


def test_a_table_that_a_data_set_never_had_is_one_sentence(data: Path) -> None:
    with pytest.raises(DataError) as caught:
        votes("mushroom", data)
    assert str(caught.value) == "mushroom has no votes, only known answers and features."
    with pytest.raises(DataError, match=r"^dawid_skene_1979 has no known answers, only votes\.$"):
        gold("dawid_skene_1979", data)


def test_every_data_set_says_where_it_comes_from() -> None:
    for name, each in CATALOGUE.items():
        assert each.name == name and each.summary and each.licence
        assert each.urls and all(url.startswith("https://") for url in (each.source, *each.urls))
        assert all(each.commit in url for url in each.urls)
        assert ("labels" in each.checksums) == (each.labels > 0) == (each.workers > 0)
        assert ("gold" in each.checksums) == (each.gold > 0)
        assert ("features" in each.checksums) == (each.n_features > 0)


def test_the_catalogue_is_data_that_comes_with_the_package() -> None:
    text = files("quorate.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    written = tomllib.loads(text)["data-sets"]
    assert list(written) == list(CATALOGUE) and len(CATALOGUE) == 19
    for name, each in CATALOGUE.items():
        assert each.tasks == written[name]["tasks"]
        assert each.checksums == written[name]["checksums"]
        assert len(each.urls) == len(written[name].get("files") or written[name]["urls"])


def test_the_catalogue_is_read_when_first_needed() -> None:
    script = (
        "import quorate.datasets as d; print('_data_sets' in vars(d.CATALOGUE)); len(d.CATALOGUE)"
    )
    script += "; print('_data_sets' in vars(d.CATALOGUE))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]


def test_which_conversions_were_tried_on_the_whole_original() -> None:
    whole = {name for name, each in CATALOGUE.items() if each.tried.startswith("tried on all")}
    public = {"bird", "rte", "dog", "dog_min40", "trec", "web"}
    assert whole == {*public, "dawid_skene_1979", "iris_ma"}


def test_an_unknown_name_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        state("rtee", tmp_path)
    assert str(caught.value) == "There is no data set 'rtee': did you mean rte."
    assert run("get", "nothing-like-it", "--data", tmp_path).exit_code == 2


def test_where_data_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORATE_DATA", str(tmp_path / "there"))
    assert data_directory(tmp_path / "given") == tmp_path / "given"
    assert data_directory() == tmp_path / "there"
    monkeypatch.delenv("QUORATE_DATA")
    module = tmp_path / "quorate" / "src" / "quorate" / "datasets" / "reading.py"
    monkeypatch.setattr(reading, "__file__", str(module))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(reading.sys, "platform", "linux")
    assert data_directory() == tmp_path / "home" / "quorate" / "data"
    shared = tmp_path / "shared" / "data"
    shared.mkdir(parents=True)
    assert data_directory() == tmp_path / "home" / "quorate" / "data", "not a checkout"
    (tmp_path / "quorate").mkdir()
    (tmp_path / "quorate" / "pyproject.toml").touch()
    assert data_directory() == shared


# Absent and damaged


def test_an_absent_data_set_is_named_with_where_it_can_be_had(tmp_path: Path) -> None:
    found = state("rte", tmp_path)
    sentence = (
        f"rte is not in {tmp_path}: `quorate data get rte` fetches it from"
        " https://github.com/zhangyuc/SpectralMethodsMeetEM."
    )
    assert (found.status, found.reason) == ("absent", sentence)
    with pytest.raises(DataError) as caught:
        votes("rte", tmp_path)
    assert str(caught.value) == sentence


@pytest.fixture
def place(tmp_path: Path, toy: DataSet) -> Path:
    """A directory with the whole toy data set."""
    here = tmp_path / "toy"
    here.mkdir()
    for kind, table in toy.convert([VOTES, TRUTHS]).items():
        table.write_csv(here / f"{kind}.csv")
    return tmp_path


def test_line_ends_quotes_and_a_byte_order_mark_do_not_damage(place: Path) -> None:
    labels = place / "toy" / "labels.csv"
    text = labels.read_text().replace("t1,", '"t1",').replace("\n", "\r\n")
    labels.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert state("toy", place).status == "here"


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda text: text.replace(b"t2,w2,no\n", b""), "3 labels instead of 4"),
        (
            lambda text: text.replace(b"t1,w1,yes", b"t1,w1,no").replace(b"t1,w2,no", b"t1,w2,yes"),
            "the votes are as many as they should be but not the same",
        ),
        (
            lambda text: text.replace(b"t1,w1,yes\nt1,w2,no\n", b"t1,w2,no\nt1,w1,yes\n"),
            "the votes are as many as they should be but not the same",
        ),
        (lambda text: text.replace(b"w2", b"w\xff"), "line 3 is not valid UTF-8"),
        (lambda text: text[:-4], "3 classes instead of 2"),
        (lambda text: text.replace(b"label", b"sound"), "has no column 'label'"),
        (lambda text: b"", "is empty"),
        (lambda text: text.replace(b"yes", b"yes,no,2"), "fields where the header has 3"),
    ],
    ids=["row", "label", "order", "utf-8", "truncated", "column", "empty", "fields"],
)
def test_a_damaged_table_is_found(place: Path, damage: Callable[[bytes], bytes], what: str) -> None:
    labels = place / "toy" / "labels.csv"
    labels.write_bytes(damage(labels.read_bytes()))
    found = state("toy", place)
    assert found.status == "damaged"
    assert what in found.reason
    assert found.reason.startswith(f"toy in {place} is damaged (")
    assert found.reason.endswith("): `quorate data get toy` replaces it.")
    assert "\n" not in found.reason and found.reason.count("..") == 0


def test_a_missing_table_is_damage_unless_it_was_derived(place: Path) -> None:
    (place / "toy" / "gold.csv").unlink()
    found = state("toy", place)
    assert found.status == "damaged" and "(gold.csv is missing)" in found.reason
    with pytest.raises(DataError, match=r"^There is no file .*gold\.csv\.$"):
        gold("toy", place)


def test_the_shared_data_with_one_row_less_is_damaged(data: Path, tmp_path: Path) -> None:
    (tmp_path / "rte").mkdir()
    for kind in ("labels", "gold"):
        text = (data / "rte" / f"{kind}.csv").read_bytes()
        (tmp_path / "rte" / f"{kind}.csv").write_bytes(text)
    assert state("rte", tmp_path).status == "here"
    table = pl.read_csv(data / "rte" / "labels.csv", infer_schema=False)
    table.head(7999).write_csv(tmp_path / "rte" / "labels.csv")
    assert "(7,999 labels instead of 8,000)" in state("rte", tmp_path).reason


# The command


def test_data_lists_every_data_set(tmp_path: Path) -> None:
    listed = run("--data", tmp_path)
    assert listed.exit_code == 0
    for name, each in CATALOGUE.items():
        assert name in listed.stdout
        assert each.source in listed.stdout
    assert "not here" in listed.stdout and "licence: CC BY 4.0" in listed.stdout


def test_data_as_json(place: Path) -> None:
    listed = run("--json", "--data", place)
    assert listed.exit_code == 0
    found = json.loads(listed.stdout)
    assert found["directory"] == str(place)
    by_name = {each["name"]: each for each in found["datasets"]}
    assert by_name["toy"]["status"] == "here" and by_name["rte"]["status"] == "absent"
    assert by_name["rte"]["labels"] == 8000 and by_name["rte"]["licence"] == "none stated"
    assert set(by_name) == {*CATALOGUE, "toy"}


def test_a_damaged_data_set_makes_the_exit_code_1(place: Path) -> None:
    (place / "toy" / "gold.csv").write_text("task,label\n")
    listed = run("--data", place)
    assert listed.exit_code == 1
    assert f"toy in {place} is damaged (0 known answers instead of 2): `qu" in listed.stdout


# Fetching


def test_get_fetches_keeps_and_replaces(served: Server, tmp_path: Path) -> None:
    first = fetch_toy(tmp_path, served)
    assert (first.exit_code, first.output) == (0, f"toy fetched, and put in {tmp_path}.\n")
    assert state("toy", tmp_path).status == "here"
    assert votes("toy", tmp_path).rows()[1] == ("t1", "w2", "no")
    assert gold("toy", tmp_path).rows() == [("t2", "no"), ("t1", "yes")]
    names = {"labels.csv", "gold.csv", "SOURCE.txt"}
    assert {path.name for path in tmp_path.rglob("*.*")} == names
    asked = len(served.asked)
    second = fetch_toy(tmp_path, served)
    assert (second.exit_code, second.output) == (0, f"toy is in {tmp_path} already, and whole.\n")
    assert len(served.asked) == asked
    (tmp_path / "toy" / "labels.csv").write_text("nothing")
    third = run("--data", tmp_path, "get", "toy", "--mirror", served.mirror)
    assert third.output == f"toy replaced, and put in {tmp_path}.\n"
    assert state("toy", tmp_path).status == "here"


def test_all_is_every_data_set_and_one_failure_does_not_stop_the_rest(
    served: Server, tmp_path: Path
) -> None:
    done = run("get", "all", "--data", tmp_path, "--mirror", served.mirror)
    assert done.exit_code == 1
    assert done.stdout == f"toy fetched, and put in {tmp_path}.\n"
    assert done.stderr.count("(404)") == len(CATALOGUE)
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"1 ann yes\n" * 10_000)
    except OSError:
        pass


def cut_chunks(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"20\r\n1 ann")


def no_http(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"hello\r\n\r\n")


@pytest.mark.parametrize(
    ("reply", "sentence", "times"),
    [
        (status(404), "{url} is not there any more (404): has it moved?", 1),
        (status(403), "The server refuses {url} (403).", 1),
        (status(503), "The server has trouble with {url} (503): try again later.", 3),
        (
            partial(answer, code=200, length=999, body=VOTES),
            "The connection to {host} was cut before {url} was whole.",
            3,
        ),
        (cut_chunks, "The connection to {host} was cut before {url} was whole.", 3),
        (lambda handler: None, "The connection to {host} was cut before {url} was whole.", 3),
        (no_http, "The connection to {host} was cut before {url} was whole.", 3),
        (
            partial(answer, code=200, length=10**12, body=VOTES),
            "{url} is larger than 1 MB: that is another file.",
            1,
        ),
        (endless, "{url} is larger than 1 MB: that is another file.", 1),
        (
            status(302, "/example.org/votes.txt"),
            "{url} leads from one address to the next without end.",
            None,
        ),
        (
            whole(VOTES.replace(b"2 bob no", b"2 bob yes")),
            "toy was not fetched: what came from https://example.org is not what is known (the"
            " votes are as many as they should be but not the same).",
            1,
        ),
        (
            whole(VOTES + b"3 bob yes\n"),
            "toy was not fetched: what came from https://example.org is not what is known (5"
            " labels instead of 4; 3 tasks instead of 2).",
            1,
        ),
        (
            whole(b"<html>Moved!</html>"),
            "toy was not fetched: https://example.org/votes.txt and https://example.org/truths.txt"
            " cannot be read in the form that the original has.",
            1,
        ),
    ],
    ids=[
        "404", "403", "503", "truncated", "cut-chunks", "closed", "no-http", "announced-large",
        "endless", "redirect-loop", "other-content", "other-counts", "other-form",
    ],
)  # fmt: skip
def test_a_failure_is_one_sentence_and_leaves_nothing(
    served: Server,
    toy: DataSet,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reply: Reply,
    sentence: str,
    times: int | None,
) -> None:
    monkeypatch.setattr(fetching, "LARGEST", 2**20)
    served.serve(toy.urls[0], reply)
    place = tmp_path / "data"
    done = fetch_toy(place, served)
    host = served.mirror.removeprefix("http://")
    expected = sentence.format(url=f"{served.mirror}/example.org/votes.txt", host=host)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"quorate: {expected}\n"
    if times is not None:
        assert served.asked.count("/example.org/votes.txt") == times
    assert not place.exists()


def test_a_server_that_hangs_is_given_up(
    served: Server, toy: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "TIMEOUT", 0.1)
    served.serve(toy.urls[0], lambda handler: void(served.over.wait(5)))
    done = fetch_toy(tmp_path / "data", served)
    assert done.exit_code == 1
    assert done.stderr.endswith("/example.org/votes.txt in time: try again later.\n")
    until = time.monotonic() + 5  # a busy server reads what it was asked after it was given up
    while len(served.asked) < fetching.ATTEMPTS and time.monotonic() < until:
        time.sleep(0.01)
    assert served.asked == ["/example.org/votes.txt"] * fetching.ATTEMPTS
    assert not (tmp_path / "data").exists()


def test_a_server_that_drips_is_given_up(
    served: Server, toy: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        while not served.over.wait(0.02):
            try:
                handler.wfile.write(b"1")
            except OSError:
                return

    monkeypatch.setattr(fetching, "SLOWEST", 0.1)
    served.serve(toy.urls[0], drip)
    done = fetch_toy(tmp_path, served)
    assert done.stderr.endswith("/example.org/votes.txt in time: try again later.\n")


def test_a_fault_that_passes_is_tried_again(served: Server, toy: DataSet, tmp_path: Path) -> None:
    replies = iter([status(503), partial(answer, code=200, length=999, body=VOTES), whole(VOTES)])
    served.serve(toy.urls[0], lambda handler: next(replies)(handler))
    assert fetch_toy(tmp_path, served).exit_code == 0
    assert state("toy", tmp_path).status == "here"


@pytest.mark.parametrize(
    ("mirror", "sentence"),
    [
        ("http://127.0.0.1:1", "127.0.0.1:1 cannot be reached (Connection refused)."),
        ("http://no.such.host.invalid", "The host no.such.host.invalid cannot be found: is there"),
        (
            "http://a:port",
            "http://a:port/example.org/votes.txt is not an address that can be asked.",
        ),
    ],
)
def test_no_network_is_one_sentence(
    server: Server, toy: DataSet, tmp_path: Path, mirror: str, sentence: str
) -> None:
    (done,) = get(["toy"], tmp_path, mirror=mirror)
    assert done.outcome == "failed"
    assert done.sentence.startswith(sentence)


@pytest.mark.parametrize("mirror", ["file:///etc", "example.org", "http://[bad", "http://a b"])
def test_a_mirror_is_an_address(tmp_path: Path, mirror: str) -> None:
    done = run("get", "rte", "--data", tmp_path, "--mirror", mirror)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        f"quorate: mirror is an address such as https://example.org/copy, not {mirror!r}.\n"
    )


def test_an_interrupted_download_leaves_nothing(served: Server, tmp_path: Path) -> None:
    def interrupt(done: int, total: int, file: str) -> None:
        assert (done, total, file) == (len(VOTES), len(VOTES), "votes.txt")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(get(["toy"], tmp_path / "data", mirror=served.mirror, progress=interrupt))
    assert not (tmp_path / "data").exists()


def test_a_full_disk_is_one_sentence_and_leaves_what_was_there(
    served: Server, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(frame: pl.DataFrame, file: io.BytesIO) -> None:
        file.write(b"task,")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (place / "toy" / "gold.csv").write_text("damaged")
    monkeypatch.setitem(sinks.WRITERS, "csv", full)
    done = fetch_toy(place, served)
    assert done.exit_code == 1
    assert done.stderr.endswith("labels.csv cannot be written: No space left on device.\n")
    assert {path.name for path in (place / "toy").iterdir()} == {"labels.csv", "gold.csv"}
    assert (place / "toy" / "gold.csv").read_text() == "damaged"
    elsewhere = place / "elsewhere"
    fetch_toy(elsewhere, served)
    assert not (elsewhere / "toy").exists()


def test_a_place_that_cannot_be_written_is_one_sentence(served: Server, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = fetch_toy(tmp_path / "file", served)
    assert done.exit_code == 1
    assert done.stderr == (
        f"quorate: {tmp_path / 'file' / 'toy'} cannot be made (Not a directory): name another place"
        " with --data.\n"
    )


def test_other_files_beside_the_tables_stay(served: Server, place: Path) -> None:
    (place / "toy" / "notes.txt").write_text("mine")
    (place / "toy" / "gold.csv").write_text("damaged")
    assert fetch_toy(place, served).exit_code == 0
    assert (place / "toy" / "notes.txt").read_text() == "mine"


def test_derived_features_that_come_out_differently_are_left_out(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    convert = partial(originals.matrix, features=originals.words)
    raws = [b"1 -1\n0 1\n", b"1\n0\n", b"good film\n" * 2 + b"\n" * 3]
    tables = convert(raws)
    data_set = replace(
        CATALOGUE["sp"],
        name="toy",
        convert=convert,
        tasks=2,
        workers=2,
        labels=3,
        gold=2,
        checksums={kind: checksum(table) for kind, table in tables.items()},
    )
    for module in (reading, fetching):
        monkeypatch.setattr(module, "CATALOGUE", {"toy": data_set})
    for url, raw in zip(data_set.urls, raws, strict=True):
        server.serve(url, raw)
    done = fetch_toy(tmp_path, server)
    without = "without features, which came out differently"
    assert done.stdout == f"toy fetched, and put in {tmp_path}, {without}.\n"
    assert state("toy", tmp_path).note == "without its features"
    assert "toy is here without its features." in run("--data", tmp_path).stdout
    with pytest.raises(DataError, match=r"^There is no file .*features\.csv\.$"):
        features("toy", tmp_path)


# The form of each original


def archive(**members: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, text in members.items():
            opened.writestr(name, text)
    return packed.getvalue()


def lines(rows: Iterator[tuple[str, ...]], separator: str) -> bytes:
    return "".join(f"{separator.join(row)}\n" for row in rows).encode()


def spectral(tables: Mapping[str, pl.DataFrame]) -> list[bytes]:
    """With other names, blanks, and every truth repeated."""
    renamed = [(f"{task}0", f"{worker}7", label) for task, worker, label in tables["labels"].rows()]
    truths = [(f"{task}0", label) for task, label in tables["gold"].rows() for _ in range(2)]
    return [lines(renamed, "\t"), lines(truths, " ")]


def dog_with_idlers(tables: Mapping[str, pl.DataFrame]) -> list[bytes]:
    crowd, truth = spectral(tables)
    idlers = [(task, "idler", "1") for task in tables["labels"]["task"].unique()[:39] + "0"]
    return [lines(idlers, " ") + crowd, truth]


def get_another_label(tables: Mapping[str, pl.DataFrame]) -> list[bytes]:
    said = tables["labels"].select("worker", "task", "label").rows()
    others = [("someone", "site without gold", "G")]
    return [
        lines(said[:5], "\t") + lines(others, "\t").replace(b" ", b"") + lines(said[5:], "\t"),
        lines([*tables["gold"].rows(), ("site-without-labels", "G")], "\t"),
    ]


def plain_labels(tables: Mapping[str, pl.DataFrame]) -> list[bytes]:
    said = tables["labels"].select("worker", "task", "label").rows()
    return [lines(said, "\t").replace(b"\n", b"\r\n"), lines(tables["gold"].rows(), "\t")]


def truth_inference(folder: str, tables: Mapping[str, pl.DataFrame]) -> list[bytes]:
    answers = lines(tables["labels"].rows(), ",").decode()
    truths = lines(tables["gold"].rows(), ",").decode()
    members = {
        f"datasets/{folder}/answer.csv": f"question,worker,answer\n{answers}",
        f"datasets/{folder}/truth.csv": f"question,truth\n{truths}",
    }
    return [archive(**members)]


def answer_matrix(tables: Mapping[str, pl.DataFrame], separator: str = " ") -> list[bytes]:
    """Rows have their votes in the order of the columns, which tells how those were ordered."""
    labels = tables["labels"]
    left = TopologicalSorter[str]()
    for _, workers in labels.group_by("task", maintain_order=True).agg("worker").rows():
        for before, after in pairwise(workers):
            left.add(after, before)
    column = {worker: number for number, worker in enumerate(left.static_order())}
    cells = np.full((labels["task"].n_unique(), len(column)), "-1", dtype="<U2")
    for task, worker, label in labels.rows():
        cells[int(task[1:]) - 1, column[worker]] = label
    truths = "\n".join(tables["gold"]["label"])
    return [lines(map(tuple, cells), separator), truths.encode()]


def with_array(tables: Mapping[str, pl.DataFrame]) -> list[bytes]:
    array = np.zeros((1000, 512), dtype=np.float32)
    for task, feature in tables["features"].rows():
        array[int(task[1:]) - 1, int(feature[1:])] = 1
    packed = io.BytesIO()
    np.save(packed, array)
    return [*answer_matrix(tables), packed.getvalue()]


def with_text(tables: Mapping[str, pl.DataFrame]) -> list[bytes]:
    sentences = [["the"] if task else ["the", "hapax", "legomenon"] for task in range(4999)]
    for task, word in tables["features"].rows():
        sentences[int(task[1:]) - 1] += [word, "a", "3", "-"]
    return [*answer_matrix(tables), lines(sentences, " ")]


def snow(tables: Mapping[str, pl.DataFrame]) -> list[bytes]:
    known = dict(tables["gold"].rows())
    header = ("!amt_annotation_ids", "!amt_worker_ids", "orig_id", "response", "gold")
    said = (
        ("x", worker, task, label, known[task]) for task, worker, label in tables["labels"].rows()
    )
    return [lines([header, *said], "\t")]


def tweets(tables: Mapping[str, pl.DataFrame]) -> list[bytes]:
    said = tables["labels"].with_columns(pl.lit('"Rain,"\nagain').alias("tweet_text"))
    said = said.rename({"task": "tweet_id", "worker": "worker_id", "label": "emotion"})
    confidence = originals.CONFIDENCE
    sure = tables["gold"].with_columns(pl.lit("1.0").alias(confidence))
    unsure = pl.DataFrame(
        {"task": ["t1", "t2"], "label": ["Positive"] * 2, confidence: ["0.7", ""]}
    )
    judged = pl.concat([unsure, sure]).rename({"task": "tweet_id", "label": "sentiment"})
    return [said.write_csv().encode(), judged.write_csv(line_terminator="\r\n").encode("latin-1")]


def program(tables: Mapping[str, pl.DataFrame]) -> list[bytes]:
    said: dict[int, dict[int, list[int]]] = {}
    for row in tables["labels"].rows():
        task, worker, label = (int(name.lstrip("tw")) for name in row)
        said.setdefault(task, {}).setdefault(worker, []).append(label)
    before = 'def main():\n    print "older Python"\n\ndef sample():\n    responses = '
    return [f"{before}{said}\n    return responses\n\ndef more():\n    return {{}}\n".encode()]


def attributes(
    member: str, names: tuple[str, str], data_set: DataSet, tables: Mapping[str, pl.DataFrame]
) -> list[bytes]:
    """Rows of a class and values: where a feature is lacking, another value or an unknown one."""
    order = data_set.convert.keywords["attributes"]
    found: list[dict[str, str]] = [{} for _ in range(tables["gold"].height)]
    values: dict[str, set[str]] = {}
    for task, feature in tables["features"].rows():
        attribute, value = feature.split("=")
        found[int(task[1:]) - 1][attribute] = value
        values.setdefault(attribute, set()).add(value)
    lacking = {attribute: "~" if len(values[attribute]) == 1 else "?" for attribute in order}
    rows = (
        (names[int(label)], *(here.get(attribute, lacking[attribute]) for attribute in order))
        for here, label in zip(found, tables["gold"]["label"], strict=True)
    )
    return [archive(**{member: lines(rows, ",").decode()})]


ORIGINALS: Mapping[str, Callable[[Mapping[str, pl.DataFrame]], list[bytes]]] = {
    "adult2": get_another_label,
    "bird": spectral,
    "bm": plain_labels,
    "d_possent": partial(truth_inference, "d_sentiment"),
    "dawid_skene_1979": program,
    "dog": spectral,
    "dog_min40": dog_with_idlers,
    "iris_ma": partial(answer_matrix, separator=","),
    "labelme": with_array,
    "mushroom": partial(attributes, "agaricus-lepiota.data", ("e", "p"), CATALOGUE["mushroom"]),
    "rte": spectral,
    "s_rel": partial(truth_inference, "s4_Relevance"),
    "sp": with_text,
    "temp": snow,
    "trec": spectral,
    "vote": partial(attributes, "house-votes-84.data", ("dem", "rep"), CATALOGUE["vote"]),
    "weather": tweets,
    "web": spectral,
    "wsd": snow,
}


@pytest.mark.parametrize("name", CATALOGUE)
def test_each_original_comes_back_as_the_known_tables(
    data: Path, server: Server, tmp_path: Path, name: str
) -> None:
    data_set = CATALOGUE[name]
    readers = {"labels": votes, "gold": gold, "features": features}
    tables = {kind: readers[kind](name, data) for kind in data_set.checksums}
    for url, raw in zip(data_set.urls, ORIGINALS[name](tables), strict=True):
        server.serve(url, raw)
    done = run("get", name, "--data", tmp_path, "--mirror", server.mirror)
    assert done.output == f"{name} fetched, and put in {tmp_path}.\n"
    assert state(name, tmp_path) == state(name, data)
    for kind, table in tables.items():
        assert readers[kind](name, tmp_path).equals(table)


@pytest.mark.parametrize(
    ("convert", "raws", "expected"),
    [
        (
            partial(originals.rows_of_votes, columns=("worker", "task", "label"), gold_only=True),
            [b"ann\tb\tX\r\nbob\ta\tG\r\nann\ta\tP\r\n", b"a\tG\r\nc\tX"],
            {"labels": [("t1", "w1", "G"), ("t1", "w2", "P")], "gold": [("t1", "G")]},
        ),
        (
            partial(originals.rows_of_votes, at_least=2),
            [b"1 9 a\n1 8 b\n2 9 b\n", b"2 b\n"],
            {"labels": [("t1", "w1", "a"), ("t2", "w1", "b")], "gold": [("t2", "b")]},
        ),
        (
            partial(originals.archive_of_answers, folder="x"),
            [
                {
                    "x/answer.csv": "question,worker,answer\nq,u,1\n",
                    "x/truth.csv": "question,truth\n",
                }
            ],
            {"labels": [("t1", "w1", "1")]},
        ),
        (
            partial(originals.matrix, features=originals.words),
            [b"-1 0\n1 1\n", b"0\n1\n", b"it's a film\n" * 5 + b"the\n" * 7],
            {
                "labels": [("t1", "w1", "0"), ("t2", "w2", "1"), ("t2", "w1", "1")],
                "gold": [("t1", "0"), ("t2", "1")],
                "features": [
                    (f"t{task}", word) for task in range(1, 6) for word in ("film", "it's")
                ],
            },
        ),
        (
            originals.annotations_with_gold,
            [b"!amt_annotation_ids\t!amt_worker_ids\torig_id\tresponse\tgold\nx\tA1\t7\t2\t1\n"],
            {"labels": [("t1", "w1", "2")], "gold": [("t1", "1")]},
        ),
        (
            originals.confirmed_tweets,
            [
                b'tweet_id,tweet_text,worker_id,emotion\n1,"caf\xe9, ""ok""\n",7,Positive\n',
                f"tweet_id,sentiment,{originals.CONFIDENCE}\n1,Negative,1\n2,No,0.5\n".encode(),
            ],
            {"labels": [("t1", "w1", "Positive")], "gold": [("t1", "Negative")]},
        ),
        (
            originals.dictionary_in_python,
            [b'print "a"\n    responses = {3: {1:[2,1]},\n  4: {2:[1]} }\n    return responses\n'],
            {"labels": [("t1", "w1", "2"), ("t1", "w1", "1"), ("t2", "w2", "1")]},
        ),
        (
            partial(
                originals.archive_of_attributes, member="d", attributes=("one", "two", "three")
            ),
            [{"d": "p,y,a,k\ne,n,b,k\np,?,c,k\n"}],
            {
                "gold": [("t1", "1"), ("t2", "0"), ("t3", "1")],
                "features": [
                    ("t1", "two=a"),
                    ("t1", "three=k"),
                    ("t2", "one=n"),
                    ("t2", "two=b"),
                    ("t2", "three=k"),
                    ("t3", "two=c"),
                    ("t3", "three=k"),
                ],
            },
        ),
    ],
    ids=["gold-only", "busy", "answers", "matrix", "snow", "tweets", "program", "attributes"],
)
def test_a_small_original_becomes_tables(
    convert: originals.Convert,
    raws: list[bytes | dict[str, str]],
    expected: dict[str, list[object]],
) -> None:
    tables = convert([raw if isinstance(raw, bytes) else archive(**raw) for raw in raws])
    assert {kind: table.rows() for kind, table in tables.items()} == expected


def test_columns_of_an_array_above_their_median_are_features() -> None:
    packed = io.BytesIO()
    np.save(packed, np.array([[0, 5], [1, 5], [2, 9], [3, 5]]))
    assert list(originals.above_median(packed.getvalue())) == [(2, "v0"), (2, "v1"), (3, "v0")]


def test_an_archive_that_unpacks_to_too_much_is_refused(
    served: Server, toy: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert = partial(originals.archive_of_answers, folder="datasets/x")
    bomb = archive(**{"datasets/x/answer.csv": "0" * 10_000_000, "datasets/x/truth.csv": ""})
    monkeypatch.setattr(originals, "LARGEST", 2**20)
    with pytest.raises(ValueError, match=r"answer\.csv is larger than 1 MB"):
        convert([bomb])
    with pytest.raises(zipfile.BadZipFile):
        convert([bomb[:500]])


def void(_: object) -> None:
    """Nothing, whatever was waited for."""
