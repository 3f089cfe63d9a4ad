# A marimo notebook: `marimo edit examples/budget.py`, or `python examples/budget.py`.
import marimo

app = marimo.App(app_title="Six hundred votes to spend", width="medium")


@app.cell
def _():
    import marimo as mo
    import matplotlib
    import polars as pl
    from matplotlib.figure import Figure

    import quorate
    from quorate.report.plots.style import BLUE, GREY, STYLE

    return BLUE, Figure, GREY, STYLE, matplotlib, mo, pl, quorate


@app.cell
def _(mo):
    mo.md("""
    # Six hundred votes to spend

    300 tasks have two votes each, and there is money for some more. Ask about every task again?
    Most are settled, and some people guess. `quorate.assign` says where a vote is worth most, whom
    to ask for it, and how far it will get you.
    """)
    return


@app.cell
def _(mo):
    budget = mo.ui.slider(300, 1200, 300, value=600, label="votes to spend", show_value=True)
    rounds = mo.ui.slider(1, 4, 1, value=3, label="in so many rounds", show_value=True)
    mo.hstack([budget, rounds], justify="start", gap=2)
    return budget, rounds


@app.cell
def _(pl, quorate):
    # Everybody has an opinion on every task; a study asks for some of them.
    everything = quorate.simulate(
        20, 300, n_classes=3, beta=(5, 2), spammers=0.2, assignment="clique", seed=3
    )
    shuffled = everything.votes.sample(fraction=1, shuffle=True, seed=0)
    first = shuffled.group_by("task", maintain_order=True).head(2)
    first = first.select(pl.col("task", "worker", "label"))
    return everything, first, shuffled


@app.cell
def _(first, quorate):
    result = quorate.aggregate(first)
    result
    return (result,)


@app.cell
def _(budget, quorate, first):
    plan = quorate.assign(first, budget=budget.value, ask="best")
    plan
    return (plan,)


@app.cell
def _(mo):
    mo.md("""
    ## What a budget is expected to buy

    Before a single vote is paid for, from what the votes so far say of workers and tasks:
    """)
    return


@app.cell
def _(budget, result):
    result.plot.budget(budget.value)
    return


@app.cell
def _(mo):
    mo.md("""
    ## And what it does buy

    Here the truth is known. The same number of votes, spread evenly over tasks and people, or where
    and of whom `assign` says, in rounds: the answers of one round tell where the next should go.
    """)
    return


@app.cell
def _(budget, everything, first, pl, quorate, rounds, shuffled):
    def wrong(votes):
        labels = quorate.aggregate(votes).labels.join(everything.gold, on="task", suffix="_true")
        return float((labels["label"] != labels["label_true"]).mean())

    def asked_wisely():
        votes, step = first, budget.value // rounds.value
        yield len(votes), wrong(votes)
        for _ in range(rounds.value):
            asked = quorate.assign(votes, budget=step, ask="best").table.select("task", "worker")
            votes = pl.concat([votes, asked.join(everything.votes, on=["task", "worker"])])
            yield len(votes), wrong(votes)

    def asked_evenly():
        for each in range(2, 3 + budget.value // 300):
            votes = shuffled.group_by("task", maintain_order=True).head(each)
            yield len(votes), wrong(votes.select("task", "worker", "label"))

    wisely, evenly = list(asked_wisely()), list(asked_evenly())
    return evenly, wisely


@app.cell
def _(BLUE, Figure, GREY, STYLE, evenly, matplotlib, wisely):
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6, 3.2), layout="constrained")
        axes = figure.subplots()
        for name, line, colour in (("evenly", evenly, GREY), ("by assign", wisely, BLUE)):
            axes.plot(*zip(*line, strict=True), color=colour, marker="o", label=name)
        axes.set(xlabel="votes in all", ylabel="wrong answers", ylim=0)
        axes.yaxis.set_major_formatter("{x:.0%}")
        axes.legend(title="votes are spent")
    figure
    return


@app.cell
def _(evenly, mo, wisely):
    mo.md(f"""
    From **{wisely[0][1]:.1%}** wrong to **{wisely[-1][1]:.1%}** where `assign` said, and to
    **{evenly[-1][1]:.1%}** evenly, with {wisely[-1][0]:,} and {evenly[-1][0]:,} votes.
    """)
    return


if __name__ == "__main__":
    app.run()
