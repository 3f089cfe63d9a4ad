"""The columns of each table of a report, by the place of its rows in the dictionary. A column is
left out where the rows do not have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quorate.report.page.tables import Column

TASK = Column("task", "task", "task")
WORKER = Column("worker", "worker", "worker")
CONFIDENCE = Column("confidence", "confidence", "share")

COLUMNS: Mapping[str, Sequence[Column]] = {
    "workers.rows": (
        WORKER,
        Column("flag", "flag", "flag"),
        Column("labels", "labels", "number"),
        Column("accuracy", "accuracy", "share"),
        Column("low high accuracy", "interval", "interval"),
        Column("agreement", "agrees", "share"),
        Column("informed", "informed", "two_digits"),
        Column("gold_accuracy", "on known", "share"),
        Column("gold_labels", "known", "number"),
        Column("kind", "kind"),
        Column("group", "group", "number"),
        Column("median_seconds", "seconds", "number"),
        Column("last_active", "last active", "text"),
    ),
    "disputed.rows": (
        TASK,
        Column("label", "answer"),
        CONFIDENCE,
        Column("posterior", "posterior", "posterior"),
        Column("why", "why", "text"),
        Column("said", "votes", "votes"),
        Column("settled_by", "settled by", "text"),
    ),
    "overruled.rows": (
        TASK,
        Column("label", "answer"),
        Column("majority", "majority"),
        CONFIDENCE,
        Column("tipped_by", "tipped by", "workers"),
        Column("said", "votes", "votes"),
    ),
    "classes.rows": (
        Column("label", "class"),
        Column("tasks", "tasks", "number"),
        Column("share", "share", "share"),
        Column("low high share", "interval", "interval"),
        Column("mean_confidence", "confidence", "share"),
        Column("votes_right", "votes right", "share"),
    ),
    "classes.confusable": (
        Column("truth", "class"),
        Column("said", "called"),
        Column("votes", "votes", "count"),
        Column("share", "of the class", "share"),
    ),
    "agreement.pairs.rows": (
        WORKER,
        Column("other_worker", "and", "worker"),
        Column("shared", "shared tasks", "number"),
        Column("agreed", "alike", "number"),
        Column("expected", "expected", "count"),
    ),
    "kinds.rows": (
        Column("kind", "kind"),
        Column("workers", "workers", "number"),
        Column("labels", "labels", "number"),
        Column("agreement", "right by the others", "share"),
        Column("agree_within", "agree with each other", "share"),
        Column("agree_across", "with other kinds", "share"),
        Column("in_groups", "correlated", "number"),
    ),
    "kinds.against_humans.rows": (
        WORKER,
        Column("kind", "kind"),
        Column("tasks", "labels", "number"),
        Column("with_humans", "agrees with a human", "share"),
        Column("with_most_humans", "with most humans", "share"),
    ),
    "panel.rows": (
        WORKER,
        Column("votes", "votes", "number"),
        Column("accuracy", "right", "share"),
        Column("other_worker", "errors most like", "worker"),
        Column("correlation", "correlation", "two_digits"),
        Column("adds", "adds judges", "two_digits"),
    ),
    "panel.positions.rows": (
        WORKER,
        Column("pairs", "pairs", "number"),
        Column("changed", "changed", "share"),
        Column("bias", "for the first", "signed_share"),
        Column("low", "from", "signed_share"),
        Column("high", "to", "signed_share"),
    ),
    "repeats.rows": (
        WORKER,
        Column("tasks", "tasks", "number"),
        Column("alike", "same answer again", "share"),
    ),
    "gold.rows": (
        Column("task", "task"),
        Column("known", "known answer"),
        Column("most_say", "most votes say"),
        Column("votes", "votes", "number"),
        Column("share", "share", "share"),
    ),
    "time.days.rows": (
        Column("day", "day", "text"),
        Column("votes", "votes", "number"),
        Column("workers", "workers", "number"),
        Column("agreement", "agreement", "share"),
    ),
    "time.workers.rows": (
        WORKER,
        Column("flag", "flag", "flag"),
        Column("votes", "votes", "number"),
        Column("days", "days", "number"),
        Column("votes_a_day", "votes a day", "number"),
        Column("early", "first half", "share"),
        Column("late", "second half", "share"),
        Column("change", "change", "signed_share"),
        Column("last", "last day", "text"),
    ),
    "time.fatigue": (
        Column("from", "from vote", "number"),
        Column("to", "to vote", "number"),
        Column("votes", "votes", "number"),
        Column("agreement", "agreement", "share"),
        Column("low high agreement", "interval", "interval"),
    ),
    "speed.rows": (
        WORKER,
        Column("flag", "flag", "flag"),
        Column("votes", "votes", "number"),
        Column("seconds", "median seconds", "number"),
        Column("agreement", "agreement", "share"),
    ),
    "speed.parts": (
        Column("from", "from seconds", "number"),
        Column("to", "to seconds", "number"),
        Column("votes", "votes", "number"),
        Column("agreement", "agreement", "share"),
    ),
    "features.rows": (
        Column("feature", "feature"),
        Column("label", "most in"),
        Column("rate", "there", "share"),
        Column("elsewhere", "elsewhere", "share"),
    ),
    "next.rows": (
        Column("task", "task"),
        Column("worker", "ask", "worker"),
        CONFIDENCE,
        Column("votes", "votes so far", "number"),
        Column("gain", "gain of a vote", "fine_share"),
    ),
    "next.curve": (
        Column("votes", "votes", "number"),
        Column("cost", "cost", "number"),
        Column("error", "expected error", "fine_share"),
    ),
}
