"""What a type checker tells users: the types that come at run time, and their mistakes.

`make lint` checks this file strictly: it fails where a type is another one, and where an `ignore`
stands beside what is no mistake. Nothing here is run.
"""

from __future__ import annotations

from typing import assert_type

import quorate

VOTES = [("t1", "ann", "yes"), ("t1", "bob", "no")]


def types_as_they_come() -> None:
    assert_type(quorate.aggregate("v.csv", memory="2GB"), quorate.Result)
    assert_type(quorate.aggregate(VOTES, quorate.DawidSkene(smoothing=0.1)), quorate.Result)
    assert_type(quorate.fit(quorate.Majority(), VOTES, engine=quorate.Disk(2)), quorate.Result)
    compared = quorate.compare(VOTES, ["majority", quorate.OneCoin()], held_out=0.2)
    assert_type(compared, quorate.Comparison)
    asked = quorate.assign(VOTES, 3, ask="best", available=["ann"], task_column="task")
    assert_type(asked, quorate.Assignment)
    assert_type(quorate.diagnose(VOTES, repeats="first"), quorate.Diagnosis)
    assert_type(quorate.simulate(20, 100, spammers=0.1, seed=3), quorate.Crowd)


def mistakes() -> None:
    quorate.aggregate(VOTES, glod={"t1": "yes"})  # type: ignore[call-arg]
    quorate.aggregate(VOTES, min_confidance=0.9)  # type: ignore[call-arg]
    quorate.aggregate(VOTES, memory=["2GB"])  # type: ignore[arg-type]
    quorate.compare(VOTES, hidden=0.1)  # type: ignore[call-arg]
    quorate.assign(VOTES, 3, ask="everyone")  # type: ignore[arg-type]
    quorate.simulate(spamers=0.1)  # type: ignore[call-arg]
