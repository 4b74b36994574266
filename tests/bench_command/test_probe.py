"""The probe: calls that carry as many bytes as they should, on each call path."""

from __future__ import annotations

import pytest

from rotifer_host.bench import probe
from rotifer_host.bench.probe import Crossing, Probe, Sample, Shape
from rotifer_host.errors import ModuleError
from rotifer_host.sandbox import GuestResult, Sandbox, available_call_paths


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> list[GuestResult]:
    """What each run of a probe's guest came to."""
    seen: list[GuestResult] = []

    class Watched(Sandbox):
        def run(self, *arguments: object, **settings: object) -> GuestResult:
            seen.append(super().run(*arguments, **settings))  # type: ignore[arg-type]
            return seen[-1]

    monkeypatch.setattr(probe, "Sandbox", Watched)
    return seen


@pytest.mark.parametrize("call_path", available_call_paths())
@pytest.mark.parametrize(
    "shape",
    [
        Shape(),
        Shape(50, 590),
        Shape(0, 1),
        Shape(2_000_000, 1_400_000),
        Shape(50, 590, "shortcut"),
        Shape(50, 590, "again"),
    ],
)
def test_calls_carry_what_they_should(results: list[GuestResult], call_path: str, shape: Shape) -> None:
    """A busy run makes its calls, each with the bytes of the shape; the run it is compared with makes none."""
    sample = Probe(call_path).sample(shape)
    *_, busy, idle = results
    assert sample.seen <= sample.busy
    assert idle.host_calls == {}
    (stats,) = busy.host_calls.values()
    assert stats.count == sample.calls
    assert (stats.bytes_in, stats.bytes_out) == (stats.count * shape.request, stats.count * shape.response)
    assert stats.errors == {}


def test_a_crossing_is_the_difference_of_medians() -> None:
    """A call takes what a busy run takes longer than an idle one; what the host's clock saw of it is seen."""
    samples = [Sample(10, 150, 50, 40), Sample(10, 170, 60, 60), Sample(10, 9000, 55, 50)]
    assert Crossing.of(samples) == Crossing(whole=(170 - 55) / 10, unseen=(170 - 55) / 10 - 5)


def test_a_crossing_is_never_less_than_nothing() -> None:
    """Where the clock sees no difference there is none."""
    assert Crossing.of([Sample(10, 50, 60, 1)]) == Crossing(0, 0)


@pytest.mark.parametrize("call_path", available_call_paths())
def test_a_wrong_answer_is_an_error(call_path: str) -> None:
    """A probe whose calls are not answered as they must be measures nothing."""

    class Lying(Probe):
        def _answer(self, *_arguments: object) -> bytes:
            return b"!"

    with pytest.raises(ModuleError, match="probe"):
        Lying(call_path).sample(Shape(0, 2))
