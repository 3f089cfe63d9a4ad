"""The page that shows every table and figure: made from the results, never written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reproductions.terminal import shown_row

OPENING = """# The papers, reproduced

This page is made by a command from its results, which are beside it as JSON:

    make papers

*Paper* is what the paper prints, *ours* what this run found, and a difference of zero means the
same figure to the printed digit. Under each experiment stands what its paper says of the results
and whether it holds here, and why something comes out differently.
"""


def page(results: Sequence[Mapping[str, Any]], where: str) -> str:
    """The whole page in Markdown; `where` leads from it to the results."""
    return "\n".join([OPENING, *(_section(result, where) for result in results)])


def _section(result: Mapping[str, Any], where: str) -> str:
    parts = [f"## {result['title']}", f"{result['paper']}. {result['summary']}"]
    parts += [_table(table) for table in result["tables"] if table["rows"]]
    for figure in result["figures"]:
        parts.append(f"![{figure['title']}]({where}/{result['experiment']}/{figure['name']}.svg)")
        parts.append(f"*{figure['title']}*")
    if result["claims"]:
        parts.append(_claims(result["claims"]))
    parts += result["remarks"]
    if result["absent"]:
        parts.append("Left out: " + " ".join(result["absent"]))
    parts.append(_made(result))
    return "\n\n".join(parts) + "\n"


def _table(table: Mapping[str, Any]) -> str:
    rows = table["rows"]
    columns = list(rows[0])
    words = {c: any(isinstance(row[c], str) for row in rows) for c in columns}
    lines = [
        f"**{table['title']}**",
        "",
        _line(columns),
        _line(["---" if words[column] else "---:" for column in columns]),
    ]
    lines += [_line([_bold(text) for text in shown_row(table, row).values()]) for row in rows]
    return "\n".join(lines)


def _bold(text: str) -> str:
    return f"**{text[:-1]}**" if text.endswith("*") else text


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"


def _claims(claims: Sequence[Mapping[str, Any]]) -> str:
    verdict = {True: "Holds", False: "**Does not hold**"}
    return "\n".join(f"- {verdict[c['holds']]}: {c['text']} ({c['detail']})" for c in claims)


def _made(result: Mapping[str, Any]) -> str:
    made = result["made"]
    versions = ", ".join(f"{package} {version}" for package, version in made["versions"].items())
    return (
        f"*Made with Python {made['python']}, {versions}; seed {made['seed']};"
        f" {made['processor']}, {made['cores']} cores, {made['system']};"
        f" {result['seconds'] / 60:.1f} minutes of one core"
        f"{'; a quick run' if made['quick'] else ''}.*"
    )
