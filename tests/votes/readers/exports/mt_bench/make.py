"""Writes judgments with FastChat's own functions, from the verdicts below. See README.md."""

import json
from itertools import product
from pathlib import Path

from entered import Entered, write

HERE = Path(__file__).parent
MODELS = ("vicuna-13b", "alpaca-13b")
PAIR = "alpaca-13b, vicuna-13b"
QUESTIONS = (81, 82, 83)
TURNS = (1, 2)
JUDGES = ("gpt-4", "gpt-3.5-turbo")

# By judge, question and turn: the rating of each model; "?" for a judge who gives none.
RATINGS = {
    "gpt-4": {81: (["9", "8.5"], ["4", "3"]), 82: (["7", "7"], ["7", "5"]), 83: (["2", "1"], "?3")},
    "gpt-3.5-turbo": {81: ("88", "64"), 82: ("77", "86"), 83: ("54", "33")},
}
# By judge and question, of both turns: the winner with vicuna first, then with alpaca first.
WINNERS = {
    "gpt-4": {81: ("AB", "AB"), 82: ("AA", "CC"), 83: ("BA", "A?")},
    "gpt-3.5-turbo": {81: ("AB", "AA"), 82: ("CB", "BA"), 83: ("BA", "BA")},
}
# By hand, as people judged: question, first model, second model, winner, judge, turn.
PEOPLE = (
    (81, "vicuna-13b", "alpaca-13b", "model_a", "expert_0", 1),
    (81, "alpaca-13b", "vicuna-13b", "model_b", "expert_1", 1),
    (81, "vicuna-13b", "alpaca-13b", "model_b", "author_2", 1),
    (82, "vicuna-13b", "alpaca-13b", "tie", "expert_0", 2),
    (82, "alpaca-13b", "vicuna-13b", "tie (inconsistent)", "author_2", 2),
    (83, "gpt-4", "vicuna-13b", "model_a", "expert_1", 2),
)
OTHER = {"model_1": "model_2", "model_2": "model_1", "model_a": "model_b", "model_b": "model_a"}


def question(number):
    return {"question_id": number, "turns": [f"question {number}", "and then?"]}


def answer(model, number):
    return {"choices": [{"turns": [f"{model} on {number}", "the same"]}]}


def judge(model, kind, turn):
    from fastchat.llm_judge.common import Judge

    name = f"{kind}{'-multi-turn' if turn == 2 else ''}"
    places = {"single-v1": ("answer",), "pair-v2": ("answer_a", "answer_b")}[kind]
    template = " / ".join(f"{{{place}{'_1' if turn == 2 else ''}}}" for place in places)
    prompt = {
        "name": name,
        "type": "single" if kind == "single-v1" else "pairwise",
        "system_prompt": "",
        "prompt_template": template,
        "output_format": "[[rating]]" if kind == "single-v1" else "[[A]]",
    }
    return Judge(model, prompt, multi_turn=turn == 2)


def single(file):
    """Judge each model alone; what was entered."""
    from fastchat.llm_judge import common

    entered = Entered()
    for name, number, turn, model in product(JUDGES, QUESTIONS, TURNS, MODELS):
        rating = RATINGS[name][number][turn - 1][MODELS.index(model)]
        common.chat_completion_openai = lambda *_, said=rating, **__: f"I rate it [[{said}]]"
        by = judge(name, "single-v1", turn)
        match = common.MatchSingle(
            question(number), model, answer(model, number), by, multi_turn=turn == 2
        )
        common.play_a_match_single(match, str(file))
        if rating == "?":
            entered.drop("without a score")
        else:
            worker = f"{name} ({by.prompt_template['name']})"
            entered.vote(f"{number}, turn {turn} ({model})", worker, float(rating))
    return entered


def pairs(file):
    """Judge both models against each other, in either order; what was entered."""
    from fastchat.llm_judge import common

    entered = Entered()
    for name, number, turn in product(JUDGES, QUESTIONS, TURNS):
        said = WINNERS[name][number][turn - 1]
        games = iter(said)
        common.chat_completion_openai = lambda *_, games=games, **__: f"[[{next(games)}]]"
        by = judge(name, "pair-v2", turn)
        answers = [answer(model, number) for model in MODELS]
        match = common.MatchPair(question(number), *MODELS, *answers, by, multi_turn=turn == 2)
        common.play_a_match_pair(match, str(file))
        for winner, first in zip(said, ("vicuna-13b", "alpaca-13b"), strict=True):
            if winner == "?":
                entered.drop("without a verdict")
                continue
            alpaca_won = (winner == "A") == (first == "alpaca-13b")
            label = "tie" if winner == "C" else "model_1" if alpaca_won else "model_2"
            worker = f"{name} ({by.prompt_template['name']})"
            entered.vote(f"{number}, turn {turn} ({PAIR})", worker, label)
    return entered


def people(file):
    """Judgments by people, by hand in the form of the public data set; what was entered."""
    entered = Entered()
    names = ("question_id", "model_a", "model_b", "winner", "judge", "turn")
    with file.open("w") as lines:
        for row in PEOPLE:
            said = dict(zip(names, row, strict=True))
            talk = [{"role": "user", "content": "question"}]
            record = {**said, "conversation_a": talk, "conversation_b": talk}
            lines.write(f"{json.dumps(record)}\n")
            number, first, second, winner, by, turn = row
            winner = winner.split()[0]
            if second < first:
                first, second, winner = second, first, OTHER.get(winner, winner)
            entered.vote(f"{number}, turn {turn} ({first}, {second})", by, winner)
    return entered


if __name__ == "__main__":
    by_file = {"gpt_single.jsonl": single, "gpt_pair.jsonl": pairs, "human.jsonl": people}
    for file in by_file:
        (HERE / file).unlink(missing_ok=True)
    write(HERE, {file: make(HERE / file) for file, make in by_file.items()})
