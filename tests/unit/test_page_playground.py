"""The trained networks that the playground of the page offers: the measured neurons of a run."""

import numpy as np
import pytest

from allmlp.judging import evidence
from allmlp.spec import catalogue, exhibits
from allmlp.studies.quadrature import playground
from tests.conftest import PROJECT


def test_networks_are_key_frequencies_of_the_figures_run_and_fill_the_period(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    networks = playground.networks()
    assert 1 < len(networks) <= playground.MOST
    found = evidence.largest_evidence("quadrature", exhibits.study_exhibits("quadrature", "figures")["sums"])
    assert found is not None
    measured = set(found.table("neurons")["phi_rad"].round(playground.DECIMALS))
    for network in networks:
        assert len(network["phi"]) == len(network["psi"]) == len(network["width"])
        assert np.sum(network["width"]) == pytest.approx(2 * np.pi, abs=1e-3)
        assert set(network["phi"]) <= measured


def test_another_figure_has_no_playground() -> None:
    assert catalogue.Page("quadrature").enlarge("phases", {}) == {}
    assert catalogue.Page("mixers").enlarge("sums", {}) == catalogue.Page("copying").enlarge("sums", {}) == {}
