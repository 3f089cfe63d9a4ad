"""Completion in bash, which takes name=value for three words."""

from __future__ import annotations

from typing import Any

from click.shell_completion import BashComplete, CompletionItem, add_completion_class


class Bash(BashComplete):
    """As click does it, with the three words put together again."""

    _prefix = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        *words, last = _joined([*args, incomplete])
        if last.partition("=")[1] and last != incomplete:
            self._prefix = f"{last.partition('=')[0]}="
        return words, last

    def format_completion(self, item: CompletionItem[Any]) -> str:
        item.value = str(item.value).removeprefix(self._prefix)
        return super().format_completion(item)


def _joined(words: list[str]) -> list[str]:
    """
    Examples:
        >>> _joined(["--set", "ties", "=", "first", "--repeats", "=", "f"])
        ['--set', 'ties=first', '--repeats', 'f']
    """
    joined: list[str] = []
    for word in words:
        if joined and word == "=":
            joined[-1] += "" if joined[-1].startswith("-") else "="
        elif joined and joined[-1].endswith("=") and joined[-1] != "=":
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def register() -> None:
    """Use it in place of click's."""
    add_completion_class(Bash)
