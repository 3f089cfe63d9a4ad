"""What messages never hold: secrets of addresses, and what a terminal would obey."""

from __future__ import annotations

import pytest

import quorate
from quorate.errors import DataError, masked, printable

SECRETS = [
    "http://me:hush@host/v.csv",
    "https://hush@host:99/v.csv",
    "https://bucket.s3.amazonaws.com/v.csv?X-Amz-Signature=hush",
    "https://host/v.csv?X-Amz-Security-Token=hush&part=1",
    "https://blob/v.csv?sv=1&sig=hush",
    "https://host/v.csv?access_token=hush",
    "https://host/v.csv?api_key=hush",
    "https://host/v.csv?password=hush",
    "s3://me:hu/sh@bucket/v.csv".replace("/sh", "sh"),
]


@pytest.mark.parametrize("address", SECRETS)
def test_secrets_of_addresses_are_masked(address: str) -> None:
    assert "hush" not in masked(f"{address} is not there.")
    assert masked(f"{address} is not there.").endswith(" is not there.")
    assert "hush" not in str(DataError(f"{address}, and {address!r}."))


@pytest.mark.parametrize("text", ["s3://bucket/a@b.csv", "a@b.csv?key=1", "http://h/v.csv?part=1"])
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    "address", ["http://me:hush@127.0.0.1:1/v?sig=hush", "x://me:hush@h/v.csv"]
)
def test_no_secret_in_what_a_reader_says(address: str) -> None:
    with pytest.raises(quorate.QuorateError) as refused:
        quorate.aggregate(address)
    assert "hush" not in str(refused.value) and "***" in str(refused.value)


@pytest.mark.parametrize("letter", ["\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\t", "\r", "\x00"])
def test_what_a_terminal_would_obey_is_escaped(letter: str) -> None:
    shown = printable(f"a{letter}b\nc")
    assert letter not in shown and shown.startswith("a\\") and shown.endswith("b\nc")


def test_what_can_be_shown_stays() -> None:
    assert printable("größer 猫 [/] \\x1b\n") == "größer 猫 [/] \\x1b\n"
