# A marimo notebook: `marimo edit examples/judges.py`, or `python examples/judges.py`.
import marimo

app = marimo.App(app_title="A panel of LLM judges", width="medium")


@app.cell
def _():
    import marimo as mo
    import matplotlib
    import numpy as np
    from matplotlib.figure import Figure

    import quorate
    from quorate.report.plots.style import BLUE, GREY, RED, STYLE

    return BLUE, Figure, GREY, RED, STYLE, matplotlib, mo, np, quorate


@app.cell
def _(mo):
    mo.md("""
    # A panel of LLM judges

    Five judges say which answers are good. A sixth, a small model, is asked with more and more
    prompts. Its prompts nearly always agree with each other, so that they outvote everybody. Does
    the verdict follow them?
    """)
    return


@app.cell
def _(mo):
    prompts = mo.ui.slider(1, 12, 1, value=7, label="prompts of the small model", show_value=True)
    skill = mo.ui.slider(0.5, 0.9, 0.05, value=0.6, label="its accuracy", show_value=True)
    mo.hstack([prompts, skill], justify="start", gap=2)
    return prompts, skill


@app.cell
def _(np, prompts, skill):
    n_answers = 300
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, n_answers)

    def judge(accuracy):
        return np.where(random.random(n_answers) < accuracy, truth, 1 - truth)

    accuracies = {"atlas": 0.87, "boreal": 0.85, "cedar": 0.83, "delta": 0.8, "person": 0.9}
    panel = {name: judge(accuracy) for name, accuracy in accuracies.items()}
    small = judge(skill.value)
    family = {
        f"mini, prompt {i + 1}": np.where(random.random(n_answers) < 0.96, small, 1 - small)
        for i in range(12)
    }

    def votes_with(n):
        """The votes of the panel and of so many prompts of the small model."""
        judges = panel | dict(list(family.items())[:n])
        return [(t, name, int(said[t])) for name, said in judges.items() for t in range(n_answers)]

    votes = votes_with(prompts.value)
    return truth, votes, votes_with


@app.cell
def _(quorate, votes):
    result = quorate.aggregate(votes)
    result
    return (result,)


@app.cell
def _(mo):
    mo.md("""
    ## How often is the verdict right?

    The vote, Dawid-Skene, and `auto`, which discounts judges whose errors are correlated, over the
    number of prompts.
    """)
    return


@app.cell
def _(BLUE, Figure, GREY, RED, STYLE, matplotlib, prompts, quorate, truth, votes_with):
    methods = {"majority": GREY, "dawid-skene": RED, "auto": BLUE}
    numbers = [1, 4, 7, 12]

    def share_right(method, n):
        verdicts = quorate.aggregate(votes_with(n), method).labels["label"].to_numpy()
        return float((verdicts == truth).mean())

    right = {method: [share_right(method, n) for n in numbers] for method in methods}
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6, 3.2), layout="constrained")
        axes = figure.subplots()
        for method, colour in methods.items():
            axes.plot(numbers, right[method], color=colour, marker="o", label=method)
        axes.axvline(prompts.value, color="#B8CFE0", linewidth=4, zorder=0)
        axes.set(xlabel="prompts of the small model", ylabel="verdicts that are right")
        axes.set_ylim(0.5, 1.02)
        axes.yaxis.set_major_formatter("{x:.0%}")
        axes.legend()
    figure
    return (right,)


@app.cell
def _(mo):
    mo.md("""
    ## See the family

    How often two judges agree, those who do side by side. The dark block is one model.
    """)
    return


@app.cell
def _(result):
    result.plot.agreement()
    return


@app.cell
def _(mo):
    mo.md("""
    ## Fifty answers that a person has checked

    They show how far the confidences are off, and a bias that all judges share, which no number of
    judges can.
    """)
    return


@app.cell
def _(mo, quorate, result, truth, votes):
    gold = dict(enumerate(truth[:50].tolist()))
    checked = quorate.aggregate(votes, gold=gold)

    def sentence(found):
        error, low, high = found.expected_error
        return f"about {error:.0%} of the verdicts are wrong, between {low:.0%} and {high:.0%}"

    mo.md(f"- Without: {sentence(result)}.\n- With fifty known: {sentence(checked)}.")
    return


if __name__ == "__main__":
    app.run()
