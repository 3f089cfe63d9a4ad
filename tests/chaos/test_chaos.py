"""The chaos suite: some of it holds; what does not hold is told so that it can be repeated."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.effort import times

from chaos import ATTACKS, command
from chaos.attack import Attack, FailureError, Outcomes

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.mark.usefixtures("a_minute")
def test_some_of_every_attack_holds() -> None:
    """One trial at a time: the other core has other tests."""
    seconds = times(30, 600)
    command = [sys.executable, "-m", "chaos", "--seconds", str(seconds), "--processes", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds + 340)
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr
    tried = {line.split()[0]: int(line.split()[1]) for line in done.stdout.splitlines()[1:-1]}
    assert all(tried[attack.name] for attack in ATTACKS if not attack.long)


def _some_fail(seed: int, place: Path) -> Outcomes:
    yield None
    yield "seed 8 is bad" if seed == 8 else None


def _dies(seed: int, place: Path) -> Outcomes:
    yield None
    os.kill(os.getpid(), signal.SIGKILL)


def _raises(seed: int, place: Path) -> Outcomes:
    if seed:
        raise FailureError("it did not hold")
    yield None


def _hangs(seed: int, place: Path) -> Outcomes:
    time.sleep(60)
    yield None


def tried(trial: object, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str]:
    attack = Attack("mine", "for a test", trial, often=1, patience=1.0)  # type: ignore[arg-type]
    monkeypatch.setattr(command, "ATTACKS", (attack,))
    monkeypatch.setattr("chaos.running.import_everything", lambda: None)
    run = CliRunner().invoke(command.main, list(arguments))
    return run.exit_code, run.output


def test_a_failure_comes_with_the_command_that_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    code, output = tried(_some_fail, monkeypatch, "--times", "5", "--seed", "6")
    assert code == 1
    assert "seed 8 is bad\n    python -m chaos mine --seed 8 --times 1" in output
    assert output.splitlines()[-2].split() == ["mine", "10", "9", "1"]
    code, output = tried(_some_fail, monkeypatch, "mine", "--seed", "8", "--times", "1")
    assert code == 1
    code, output = tried(_some_fail, monkeypatch, "mine", "--seed", "9", "--times", "1")
    assert code == 0


@pytest.mark.parametrize(
    ("trial", "why"),
    [(_dies, "died of SIGKILL"), (_raises, "it did not hold"), (_hangs, "not done in 1 s")],
)
def test_whatever_happens_is_counted(
    trial: object, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output = tried(trial, monkeypatch, "--times", "1", "--seed", "1")
    assert code == 1
    assert why in output


def test_attacks_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    output = CliRunner().invoke(command.main, ["--list", "stores"]).output
    names = [line.split()[0] for line in output.splitlines()]
    assert names == [attack.name for attack in ATTACKS if attack.name.startswith("stores-")]
    assert CliRunner().invoke(command.main, ["nothing"]).exit_code == 2
