"""A diagnosis drawn on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from quorate.report.screen import facts, note
from quorate.votes import named

SHOWN_NAMES = 8
SHOWN_PAIRS = 10
Rows = list[tuple[str, str]]
STYLES = {"problem": "bold red", "warning": "yellow", "note": "cyan"}


def show_diagnosis(diagnosis: Mapping[str, Any], console: Console, theory: bool = False) -> None:
    """Print what was found and what to do about it, then what was measured; the quantities of the
    papers' bounds only with `theory`."""
    read = diagnosis["read"]
    counts = ", ".join(f"{read[name]:,} {name}" for name in ("tasks", "workers", "labels"))
    console.print(Text(f"{counts}, {read['classes']:,} classes."))
    console.print()
    console.print(Text("Findings", style="bold"))
    for finding in diagnosis["findings"]:
        _finding(finding, diagnosis, console)
    for title, rows in _measured(diagnosis, theory):
        if rows:
            console.print()
            console.print(facts(title, rows))
    for text in diagnosis["notes"]:
        console.print(note(text))


def _measured(diagnosis: Mapping[str, Any], theory: bool) -> Iterator[tuple[str, Rows]]:
    yield "Agreement", _agreement(diagnosis["agreement"])
    yield "Worker graph", _graph(diagnosis["graph"])
    yield "Kinds of workers", [_kind(kind) for kind in diagnosis["kinds"]]
    if theory:
        read = diagnosis["read"]
        yield "Theory: worker graph", _bounds(diagnosis["graph"], read["workers"])
        known = diagnosis["knowledge"]
        yield "Theory: number of labels", [] if known is None else _knowledge(known, read)


def _agreement(agreement: Mapping[str, Any]) -> Rows:
    if agreement["alpha"] is None:
        return [("Krippendorff's alpha", "not defined for these votes")]
    rows = [
        ("Krippendorff's alpha", _between(agreement, "alpha")),
        ("Fleiss' kappa", _between(agreement, "kappa")),
        ("Gwet's AC1", _between(agreement, "ac1")),
    ]
    graded = agreement["graded"]
    if graded is None:
        return rows
    form = f"{graded['icc_form']}, single"
    return [
        *rows,
        ("alpha of grades", f"{_between(graded, 'alpha')}, ordinal"),
        ("Gwet's AC2", f"{_between(graded, 'ac2')}, quadratic weights"),
        ("weighted kappa", f"{_between(graded, 'kappa')}, quadratic weights"),
        (f"ICC({form})", _between(graded, "icc")),
    ]


def _between(found: Mapping[str, Any], name: str) -> str:
    """A number with its interval, if it has one."""
    if found[name] is None:
        return "not defined"
    low, high = found.get(f"{name}_low"), found.get(f"{name}_high")
    shown = f"{found[name]:.3f}"
    return shown if low is None else f"{shown} (95 %: {low:.3f} to {high:.3f})"


def _graph(graph: Mapping[str, Any]) -> Rows:
    groups = f"{graph['components']:,}, the largest of {graph['largest']:,} workers"
    rows = [("groups", groups if graph["components"] else "none: nobody shares a task")]
    if graph["pairs"]:
        of = " of a sample of the workers" if graph["sampled"] else ""
        shared = f"at least {graph['shared_least']:,}, median {graph['shared_median']:,.0f}"
        rows += [("pairs", f"{graph['pairs']:,}{of}"), ("tasks they share", shared)]
    return rows


def _bounds(graph: Mapping[str, Any], n_workers: int) -> Rows:
    rows = []
    if graph["eigenvalue"] is not None:
        at_most = "" if graph["settled"] else "at most "
        rows.append(("least eigenvalue", f"{at_most}{graph['eigenvalue']:,.3g}"))
    bound = graph["skill_error"]
    if bound is not None:
        says_nothing = " (says nothing)" if bound > n_workers**0.5 else ""
        rows.append(("error of skills", f"at most {bound:.3g}{says_nothing}"))
    return rows


def _knowledge(known: Mapping[str, Any], read: Mapping[str, Any]) -> Rows:
    per_task = read["labels"] / read["tasks"]
    return [
        ("rarest class", f"{known['w_min']:.1%} of the tasks, by Dawid-Skene (w_min)"),
        ("least active", f"labels {known['pi_min']:.3%} of the tasks (pi_min)"),
        ("kappa of the bound", f"{known['kappa']:.3g}"),
        ("sigma_L", f"{known['sigma_l']:.3g}"),
        ("D-bar", f"{known['d_bar']:.3g}"),
        ("labels a task", f"{per_task:.1f}; {_needed(known, 'labels')}"),
        ("workers", f"{read['workers']:,}; {_needed(known, 'workers')}"),
    ]


def _kind(kind: Mapping[str, Any]) -> tuple[str, str]:
    shares = (
        ("right by the others", kind["agreement"]),
        ("agree with each other", kind["agree_within"]),
        ("with other kinds", kind["agree_across"]),
    )
    said = [f"{kind['workers']:,} with {kind['labels']:,} labels"]
    said += [f"{what} {share:.1%}" for what, share in shares if share is not None]
    said += [f"{kind['in_groups']:,} in groups"] if kind["in_groups"] else []
    return named(kind["kind"] or "not said"), "; ".join(said)


def _needed(known: Mapping[str, Any], what: str) -> str:
    least, enough = known[f"{what}_least"], known[f"{what}_enough"]
    if least is None or enough is None:
        return "no number is enough: two classes are not told apart at all"
    return (
        f"at least {least:,.1f} for any method, and in the order of {enough:,.0f} for all answers"
        " to be right"
    )


def _finding(finding: Mapping[str, Any], diagnosis: Mapping[str, Any], console: Console) -> None:
    level = finding["level"]
    console.print(Text(f" {finding['name']}", style=STYLES[level]).append(f" ({level})", "dim"))
    lines = [finding["what"]]
    if finding["name"] == "unusual agreement":
        lines += [_pair(pair) for pair in diagnosis["agreeing"][:SHOWN_PAIRS]]
        lines += _more(len(diagnosis["agreeing"]), SHOWN_PAIRS)
    elif finding["workers"]:
        names = ", ".join(map(named, finding["workers"][:SHOWN_NAMES]))
        lines.append(" ".join([names, *_more(len(finding["workers"]), SHOWN_NAMES)]))
    lines += [f"-> {finding['advice']}", f"How sure: {finding['sure']}"]
    for line in lines:
        console.print(Padding(Text(line), (0, 0, 0, 3), expand=False))


def _pair(pair: Mapping[str, Any]) -> str:
    first, second = map(named, pair["workers"])
    return (
        f"{first} and {second}: {pair['agreed']:,} of {pair['shared']:,} tasks alike, where"
        f" {pair['expected'] * pair['shared']:,.0f} were to be expected"
    )


def _more(count: int, shown: int) -> list[str]:
    return [f"and {count - shown:,} more"] if count > shown else []
