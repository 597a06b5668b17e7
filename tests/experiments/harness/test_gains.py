from __future__ import annotations

from experiments.harness.gains import transfer_efficiency


def test_transfer_efficiency_is_the_share_of_the_gap() -> None:
    assert transfer_efficiency(30, 30, 40) == 0
    assert transfer_efficiency(40, 30, 40) == 1
    assert transfer_efficiency(45, 30, 40) == 1.5
    assert transfer_efficiency(28, 30, 40) == -0.2
    assert transfer_efficiency(35, 30, 30) is None
