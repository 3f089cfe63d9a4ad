# A marimo notebook: `marimo edit examples/crowd.py`, or `python examples/crowd.py`.
import marimo

app = marimo.App(app_title="Whom can you trust?", width="medium")


@app.cell
def _():
    import marimo as mo

    import quorate

    return mo, quorate


@app.cell
def _(mo):
    mo.md("""
    # Whom can you trust?

    A crowd labels photos. Some know the answer, some guess. Nobody tells you who is who, and you do
    not know a single answer. Move the sliders, and see how much of it the votes alone give away.
    """)
    return


@app.cell
def _(mo):
    spammers = mo.ui.slider(0, 0.8, 0.1, value=0.4, label="share of guessers", show_value=True)
    votes_per_task = mo.ui.slider(2, 12, 1, value=5, label="votes a photo", show_value=True)
    seed = mo.ui.number(0, 99, value=1, label="crowd no.")
    mo.hstack([spammers, votes_per_task, seed], justify="start", gap=2)
    return seed, spammers, votes_per_task


@app.cell
def _(quorate, seed, spammers, votes_per_task):
    crowd = quorate.simulate(
        40,
        600,
        votes_per_task.value,
        n_classes=3,
        beta=(6, 2),
        spammers=spammers.value,
        seed=seed.value,
    )
    result = quorate.aggregate(crowd.votes)
    result
    return crowd, result


@app.cell
def _(crowd, mo, quorate, result):
    def wrong(found):
        return float((found.answers != crowd.truth).mean())

    vote_error = wrong(quorate.aggregate(crowd.votes, "majority"))
    error = wrong(result)
    expected = result.expected_error
    mo.hstack(
        [
            mo.stat(f"{vote_error:.1%}", label="the plain vote is wrong on"),
            mo.stat(f"{error:.1%}", label="Quorate is wrong on"),
            mo.stat(
                f"{expected.error:.1%}",
                label="and expects to be wrong on",
                caption=f"between {expected.low:.1%} and {expected.high:.1%}",
            ),
        ],
        justify="start",
        gap=2,
    )
    return error, vote_error


@app.cell
def _(mo):
    mo.md("""
    ## The guessers stand out

    A worker's accuracy is judged by what the others say, with a 95 % interval. With three classes a
    guesser is right a third of the time: look for the cloud around 0.33.
    """)
    return


@app.cell
def _(result):
    result.plot.workers()
    return


@app.cell
def _(mo):
    mo.md("""
    ## A confidence means what it says

    Of the answers with a confidence of 0.9, nine in ten should be right. Here the truth is known,
    so that it can be checked: the dots should lie on the line, and large dots are many photos.
    """)
    return


@app.cell
def _(crowd, result):
    result.plot.calibration(crowd.gold)
    return


@app.cell
def _(mo):
    mo.md("""
    ## What is wrong with this crowd, in words

    Every finding says what to do about it. None of it needs a known answer.
    """)
    return


@app.cell
def _(crowd, quorate):
    diagnosis = quorate.diagnose(crowd.votes)
    diagnosis
    return (diagnosis,)


@app.cell
def _(mo):
    mo.md("""
    **Now with votes of your own:** put `quorate.aggregate("votes.csv")` in the place of the crowd.
    `result.report("report.html")` makes a page of all this to send.
    """)
    return


if __name__ == "__main__":
    app.run()
