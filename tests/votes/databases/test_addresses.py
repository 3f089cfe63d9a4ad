"""Addresses of databases: what they name, and what they keep to themselves."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.errors import DataError, UsageError, masked
from quorate.votes import check_place, read_votes
from quorate.votes.databases import Address, asked, is_database


@given(st.text(min_size=1).filter(str.strip), st.sampled_from(["table", "query"]))
def test_any_name_and_any_query_is_kept_as_it_is(text: str, what: str) -> None:
    folded = asked(
        "postgresql://me@host/db?sslmode=require", **{"query": None, "table": None, what: text}
    )
    address = Address.of(folded)
    assert getattr(address, what) == text
    assert address.database == "postgresql://me@host/db?sslmode=require"


@pytest.mark.parametrize(
    ("url", "database"),
    [
        ("sqlite:///votes.db", "votes.db"),
        ("sqlite:////data/my%20votes.db", "/data/my votes.db"),
        ("duckdb:///a%3Fb.duckdb?table=t", "a?b.duckdb"),
        ("postgres://h/d", "postgresql://h/d"),
        ("postgresql+psycopg://h/d?table=t", "postgresql://h/d"),
    ],
)
def test_files_have_three_slashes_and_servers_two(url: str, database: str) -> None:
    assert is_database(url) and Address.of(url).database == database


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("sqlite://votes.db", "three slashes"),
        ("sqlite:///", "three slashes"),
        ("sqlite:///v.db?tabel=x", "takes table, query, mode behind its"),
        ("sqlite:///v.db?table=", "The table in .* is empty"),
        ("sqlite:///v.db?query=%20", "The query in .* is empty"),
        ("sqlite:///v.db?table=a&query=b", "a table and a query"),
        ("sqlite:///v.db?table=a&mode=drop", "mode is one of append, replace"),
        ("sqlite:///v.db?table=a&mode=append", "mode is for writing"),
    ],
)
def test_an_address_that_says_nothing_is_refused(url: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        read_votes(url)


@pytest.mark.parametrize("secret", ["hush", "hu/sh", "hu?sh", "hu@sh", "hu/s?h@"])
def test_a_password_is_in_no_sentence(secret: str) -> None:
    url = f"postgresql://me:{secret}@127.0.0.1:1/db"
    assert masked(f"{url} fails") == "postgresql://***@127.0.0.1:1/db fails"
    pytest.importorskip("adbc_driver_postgresql")
    with pytest.raises((DataError, UsageError)) as failed:
        read_votes(url, table="votes")
    assert "hu" not in str(failed.value).replace("PGPASSWORD", "")


def test_query_and_table_are_of_databases() -> None:
    for source in ("votes.csv", [("a", "b", "c")], ["sqlite:///a.db"]):
        with pytest.raises(UsageError, match="of one database"):
            read_votes(source, table="votes")
    with pytest.raises(UsageError, match="more than one thing"):
        read_votes("sqlite:///v.db?table=a", query="select 1")
    with pytest.raises(UsageError, match="A database is one input"):
        read_votes(["sqlite:///a.db", "sqlite:///b.db"])
    with pytest.raises(UsageError, match=r"format .* is of files"):
        read_votes("sqlite:///a.db", format="csv")


def test_a_result_is_saved_in_a_file() -> None:
    with pytest.raises(UsageError, match="which takes tables only"):
        check_place("sqlite:///r.db?table=x")


@pytest.mark.parametrize(
    ("url", "module", "extra"),
    [
        ("postgresql://host/db", "adbc_driver_postgresql", "postgres"),
        ("duckdb:///v.duckdb", "duckdb", "duckdb"),
    ],
)
def test_a_missing_driver_names_its_extra(
    url: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.duckdb").touch()
    monkeypatch.setitem(sys.modules, module, None)
    for ours in ("postgresql", "duckdb"):
        monkeypatch.delitem(sys.modules, f"quorate.votes.databases.{ours}", raising=False)
    with pytest.raises(UsageError, match=rf"pip install 'quorate\[{extra}\]'"):
        read_votes(url, table="votes")
