"""The trained networks that the playground of the page offers: the measured neurons of a run."""

import numpy as np
import pytest

from allmlp.report import evidence, exhibits
from allmlp.report.interactive import playground
from tests.conftest import PROJECT


def test_networks_are_key_frequencies_of_the_figures_run_and_fill_the_period(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    networks = playground.of("quadrature", "sums")
    assert 1 < len(networks) <= playground.MOST
    found = evidence.largest("quadrature", exhibits.of("quadrature", "figures")["sums"])
    assert found is not None
    measured = set(found.table("neurons")["phi_rad"].round(playground.DECIMALS))
    for network in networks:
        assert len(network["phi"]) == len(network["psi"]) == len(network["width"])
        assert np.sum(network["width"]) == pytest.approx(2 * np.pi, abs=1e-3)
        assert set(network["phi"]) <= measured


def test_another_figure_has_no_playground() -> None:
    assert playground.of("quadrature", "phases") == []
    assert playground.of("mixers", "sums") == []
