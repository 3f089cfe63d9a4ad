"""The page that shows every table and figure: made from the results, never written by hand."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from reproductions.scoreboard import READING, VALUES, VERDICTS, Score, of_a_paper, score, verdict
from reproductions.terminal import DECIMALS, cell, shown_row

OPENING = """---
hide:
  - toc
---

# The papers, reproduced

Every table and figure that five papers print on their methods, made from the real votes or by the
papers' own simulations, and every method of Quorate on every public data set. `make papers` writes
this page; nothing on it is written by hand.
"""
LEGEND = """In the tables 7.12 ✓ is the paper's figure to the printed digit. Beside a figure of ours
that differs stands the paper's: <span class="near">4.38 ± 0.69 (4.95)</span> is within two standard
deviations (±) of random draws, <span class="off">10.19 (10.09)</span> is not. Everything is kept in
a `results.json` for each paper."""
# Columns of what was compared that go across a table; the others go down.
ACROSS = ("method", "count", "speed-up", "in", "what", "way", READING)


def page(results: Sequence[Mapping[str, Any]], where: str) -> str:
    """The whole page in Markdown; `where` leads from it to the results."""
    sections = (_section(result, where) for result in results)
    return "\n".join([OPENING, scoreboard(results), LEGEND, "", *sections])


# The scoreboard.


def scoreboard(results: Sequence[Mapping[str, Any]]) -> str:
    """How much of the papers comes out, in all and for each."""
    scores = {result["title"]: score(result) for result in results}
    total = sum((scores[r["title"]] for r in results if of_a_paper(r)), Score({}, 0, 0))
    near = total.n_figures - total.figures.get("differs", 0)
    boxes = [
        (f"{total.figures.get('equal', 0)} of {total.n_figures}", "figures equal to the paper's"),
        (f"{near} of {total.n_figures}", "equal, or as near as random draws allow"),
        (f"{total.hold} of {total.claims}", "claims of the papers that hold"),
    ]
    head = "".join(f"<div><strong>{big}</strong>{small}</div>\n" for big, small in boxes)
    rows = [_line(["paper", "figures equal", "", "claims that hold"]), _line(["---"] * 4)]
    rows += [_score_row(title, found) for title, found in scores.items()]
    key = "\n".join(f'<i class="{name}"></i>{text}' for name, text in VERDICTS.items())
    parts = [f'<div class="score">\n{head}</div>', "\n".join(rows), f'<p class="key">{key}</p>\n']
    return "\n\n".join(parts)


def _score_row(title: str, found: Score) -> str:
    anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    equal = f"{found.figures.get('equal', 0)} of {found.n_figures}" if found.n_figures else "-"
    claims = f"{found.hold} of {found.claims}" if found.claims else "-"
    return _line([f"[{title}](#{anchor})", equal, _bar(found), claims])


def _bar(found: Score) -> str:
    """Shares of the verdicts side by side."""
    parts = [
        f'<span class="{name}" style="width:{100 * found.figures[name] / found.n_figures:.1f}%">'
        "</span>"
        for name in VERDICTS
        if found.figures.get(name)
    ]
    return f'<span class="bar">{"".join(parts)}</span>' if parts else ""


# An experiment.


def _section(result: Mapping[str, Any], where: str) -> str:
    parts = [f"## {result['title']}", wrapped(f"{result['paper']}. {result['summary']}")]
    tables = [table for table in result["tables"] if table["rows"]]
    parts += [_pivoted(table) for table in tables if _is_compared(table)]
    parts += [_figure(figure, f"{where}/{result['experiment']}") for figure in result["figures"]]
    parts += _claims(result["claims"])
    parts += [
        _folded("abstract", table["title"], _table(table))
        for table in tables
        if not _is_compared(table)
    ]
    if result["remarks"]:
        title = f"What differs, and why: {len(result['remarks'])} remarks"
        parts.append(_folded("note", title, "\n\n".join(map(wrapped, result["remarks"]))))
    if result["absent"]:
        parts.append(wrapped("Left out: " + " ".join(result["absent"])))
    parts.append(wrapped(_made(result)))
    return "\n\n".join(parts) + "\n"


def _figure(figure: Mapping[str, Any], directory: str) -> str:
    file = f"{directory}/{figure['name']}.svg"
    return f"[![{figure['title']}]({file}){{ .plot .wide }}]({file})\n\n*{figure['title']}*"


def _claims(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """The claims that hold, folded, and those that do not."""
    parts = []
    for kind, verb, holds in (("success", "hold", True), ("failure", "do not hold", False)):
        chosen = [claim for claim in claims if claim["holds"] == holds]
        lines = [wrapped(f"- {c['text']} ({c['detail']})", "  ") for c in chosen]
        if lines:
            title = f"{len(lines)} of {len(claims)} claims {verb}"
            parts.append(_folded(kind, title, "\n".join(lines)))
    return parts


def wrapped(text: str, indent: str = "") -> str:
    """Prose in lines that end at 100 columns, also where it is folded.

    Examples:
        >>> wrapped("- one " + "and " * 24 + "on", "  ").splitlines()[1]
        '  and and on'
    """
    lines = textwrap.wrap(
        text, 95, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines)


def _folded(kind: str, title: str, text: str) -> str:
    """Something that opens when its title is clicked."""
    quoted = title.replace('"', "'")
    indented = "\n".join(f"    {line}" if line else "" for line in text.splitlines())
    return f'??? {kind} "{quoted}"\n\n{indented}'


# Tables.


def _is_compared(table: Mapping[str, Any]) -> bool:
    """Whether it has the paper's figures beside ours, and is no list of other readings."""
    columns = table["rows"][0]
    several = {row.get(READING) for row in table["rows"]}
    return "paper" in columns and "difference" in columns and len(several) == 1


def _pivoted(table: Mapping[str, Any]) -> str:
    """What was compared with methods as columns, a cell for ours and the paper's."""
    rows = table["rows"]
    keys = [c for c in rows[0] if c not in VALUES and any(row[c] not in (None, "") for row in rows)]
    across = [c for c in keys if c in ACROSS]
    down = [c for c in keys if c not in ACROSS] or across[:1]
    across = [c for c in across if c not in down]
    columns = list(dict.fromkeys(_name(row, across) for row in rows))
    cells: dict[str, dict[str, str]] = {}
    names: dict[str, list[str]] = {}
    for row in rows:
        key = _name(row, down)
        names[key] = [cell(row[c], 0) for c in down]
        cells.setdefault(key, {})[_name(row, across)] = _compared(table, row)
    lines = [_line([*down, *columns]), _line(["---"] * len(down) + ["---:"] * len(columns))]
    lines += [_line([*names[key], *(cells[key].get(c, "-") for c in columns)]) for key in cells]
    return "\n".join([wrapped(f"**{table['title']}**"), "", *lines])


def _name(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    return ", ".join(cell(row[key], 0) for key in keys)


def _compared(table: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Ours, and the paper's where it is another figure."""
    ours, paper = (
        cell(row[name], table["decimals"].get(name, DECIMALS)) for name in ("ours", "paper")
    )
    spread = cell(row.get("deviation") or 0.0, table["decimals"].get("deviation", DECIMALS))
    if float(spread.replace(",", "")):
        ours = f"{ours} ± {spread}"
    if row["difference"] is None:
        return ours
    found = verdict([row])
    if found == "equal":
        return f"{ours}&nbsp;✓"
    return f'<span class="{"near" if found == "spread" else "off"}">{ours} ({paper})</span>'


def _table(table: Mapping[str, Any]) -> str:
    rows = table["rows"]
    columns = list(rows[0])
    words = {c: any(isinstance(row[c], str) for row in rows) for c in columns}
    lines = [_line(columns), _line(["---" if words[column] else "---:" for column in columns])]
    lines += [_line([_bold(text) for text in shown_row(table, row).values()]) for row in rows]
    return "\n".join(lines)


def _bold(text: str) -> str:
    return f"**{text[:-1]}**" if text.endswith("*") else text


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"


def _made(result: Mapping[str, Any]) -> str:
    made = result["made"]
    versions = ", ".join(f"{package} {version}" for package, version in made["versions"].items())
    return (
        f"*Made with Python {made['python']}, {versions}; seed {made['seed']};"
        f" {made['processor']}, {made['cores']} cores, {made['system']};"
        f" {result['seconds'] / 60:.1f} minutes of one core"
        f"{'; a quick run' if made['quick'] else ''}.*"
    )
