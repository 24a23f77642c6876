"""The cases of slow tests that run today: a quarter of the sample by default, half of it in CI."""

from __future__ import annotations

import pytest

from helpers import sampling

pytest_plugins = ["pytester"]
TESTS = """
import pytest

@pytest.mark.sample(6)
@pytest.mark.parametrize("name", range(20))
def test_marked(name): ...

@pytest.mark.parametrize("seed", range(30))
def test_random(seed): ...

@pytest.mark.parametrize("name", range(30))
def test_cases(name): ...

@pytest.mark.daily
@pytest.mark.parametrize("name", range(60))
def test_slow(name): ...
"""


@pytest.fixture
def items(pytester: pytest.Pytester) -> list[pytest.Item]:
    pytester.makeini("[pytest]\nmarkers =\n sample\n daily\n")
    return pytester.getitems(TESTS)


def counts(items: list[pytest.Item]) -> dict[str, int]:
    names = [item.name.partition("[")[0] for item in items]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def use(monkeypatch: pytest.MonkeyPatch, *, share: int, full: bool = False, seed: int = 7) -> None:
    monkeypatch.setattr(sampling, "SHARE", share)
    monkeypatch.setattr(sampling, "DAYS", share)
    monkeypatch.setattr(sampling, "FULL", full)
    monkeypatch.setattr(sampling, "SEED", seed)


@pytest.mark.daily
def test_a_part_of_the_sample_runs_by_default(items: list[pytest.Item], monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, share=1)
    assert counts(sampling.split_items(items)[0]) == {
        "test_marked": 6,
        "test_random": 10,
        "test_cases": 30,
        "test_slow": 60,
    }
    use(monkeypatch, share=3)
    kept, left_out = sampling.split_items(items)
    found = counts(kept)
    assert 0 < found.pop("test_slow") < 60
    assert found == {"test_marked": 2, "test_random": 4, "test_cases": 30}
    assert [item for item in items if item in kept or item in left_out] == items


@pytest.mark.daily
def test_cases_that_are_not_random_are_left_out_by_default_only(
    items: list[pytest.Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "SAMPLED_FOLDERS", ("",))
    use(monkeypatch, share=1)
    assert counts(sampling.split_items(items)[0])["test_cases"] == 30
    use(monkeypatch, share=3)
    assert counts(sampling.split_items(items)[0])["test_cases"] == 4


@pytest.mark.daily
def test_all_cases_run_in_the_long_form(items: list[pytest.Item], monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, share=1, full=True)
    assert sampling.split_items(items) == (items, [])
    assert sampling.rounds(5, 100) == range(100)
    assert sampling.n_rounds(5, 100) == 100


@pytest.mark.daily
def test_each_daily_test_runs_in_turn_or_when_its_file_is_named(
    items: list[pytest.Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    for day in range(3):
        use(monkeypatch, share=3, seed=day)
        seen += [item.name for item in sampling.split_items(items)[0] if "slow" in item.name]
    assert sorted(seen) == sorted(item.name for item in items if "slow" in item.name)
    assert counts(sampling.split_items(items, are_named=True)[0])["test_slow"] == 60


@pytest.mark.parametrize("share", [1, 2, 4])
def test_rounds_of_successive_days_cover_all(share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, share=share)
    n = sampling.n_rounds(10, 95)
    assert n == {1: 10, 2: 5, 4: 3}[share]
    seen: list[int] = []
    for seed in range(-(-95 // n)):
        use(monkeypatch, share=share, seed=seed)
        day = sampling.rounds(10, 95)
        assert len(day) == n
        seen += day
    assert sorted({*seen}) == [*range(95)]
