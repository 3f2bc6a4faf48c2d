"""Contestants that take turns, and the verdict about their times."""

from __future__ import annotations

import pytest

from vkssp.bench.side_by_side import OURS, Clocked, Row, alternate, report


def test_contestants_take_turns_and_every_answer_is_checked() -> None:
    asked: list[tuple[str, int]] = []
    checked: list[tuple[int, str, int]] = []

    def answer(name: str, question: int) -> int:
        asked.append((name, question))
        return 10 * question

    times = alternate(
        {OURS: lambda question: answer(OURS, question), "other": lambda q: Clocked(answer("other", q), 7.0)},
        [1, 2],
        lambda *answered: checked.append(answered),
        repetitions=2,
        warm_up_s=0.0,
        calls=2,
    )
    assert asked[:2] == [(OURS, 1), ("other", 1)]  # the warm-up
    assert asked[2:6] == [(OURS, 1), ("other", 1), ("other", 2), (OURS, 2)]
    assert len(asked) == 10 and sorted(checked) == sorted(2 * [(q, n, 10 * q) for q in (1, 2) for n in (OURS, "other")])
    assert times["other"] == 4 * [3.5] and len(times[OURS]) == 4 and all(0 < ms < 1000 for ms in times[OURS])


def test_a_wrong_answer_has_no_time() -> None:
    def refuse(question: int, name: str, answer: int) -> None:
        assert answer == question, name

    with pytest.raises(AssertionError, match="other"):
        alternate({OURS: lambda q: q, "other": lambda q: q + 1}, [1], refuse, repetitions=1, warm_up_s=0.0)


@pytest.mark.parametrize(
    ("ours", "theirs", "goal", "verdict"),
    [
        (1.0, 2.0, {"most_ratio": 0.6}, "met"),
        (1.4, 2.0, {"most_ratio": 0.6}, "MISSED"),
        (2.4, 2.0, {"most_ratio": 1.5}, "met, but SLOWER"),
        (4.0, 2.0, {"most_ratio": 1.5}, "MISSED, slower"),
        (4.0, None, {"most_ms": 4.0}, "met"),
        (4.1, None, {"most_ms": 4.0}, "MISSED"),
        (4.1, 2.0, {}, "SLOWER"),
        (1.0, 2.0, {}, "faster"),
        (1.0, None, {}, "-"),
        (1.0, None, {"most_ratio": 0.6}, "-"),
    ],
)
def test_verdicts(ours: float, theirs: float | None, goal: dict[str, float], verdict: str) -> None:
    others = {} if theirs is None else {"slow": [9.0, 9.0], "fast": [theirs, theirs]}
    row = Row("g", "t", 1, {OURS: [ours, ours], **others}, **goal)
    assert row.verdict == verdict
    assert report([row])[1].split("  ")[-1].strip() == verdict
    assert report([row], markdown=True)[2].endswith(f"| {row.goal} | {verdict} |")


def test_the_best_time_of_each_question_counts_at_best() -> None:
    # Two questions in three repetitions, disturbed in turn.
    row = Row("g", "t", 2, {OURS: [1.0, 30.0, 10.0, 3.0, 10.0, 30.0]}, most_ms=2.0)
    assert (row.median(OURS), row.best(OURS)) == (10.0, 2.0)
    assert row.verdict == "MISSED; met at best"
