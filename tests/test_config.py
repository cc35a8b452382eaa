from __future__ import annotations

from importlib import resources

import pytest

from simpgcn.config import Config, default_config, parse_assignment, parse_yaml
from simpgcn.data import CATALOG
from simpgcn.errors import SimPGCNError
from simpgcn.nn.registry import METHODS

SHIPPED = sorted(path.name.removesuffix(".yaml") for path in resources.files("simpgcn").joinpath("settings").iterdir())

# The settings behind the published numbers: λ, γ, b_s, hidden, L2, learning rate, epochs, patience.
PUBLISHED = {
    "cora": (50, 0.01, 2, 128, 5e-4, 0.01, 200, 200),
    "citeseer": (100, 0.01, 2, 128, 5e-4, 0.01, 200, 200),
    "pubmed": (1, 0.01, 0, 128, 5e-4, 0.01, 200, 200),
    "actor": (1, 0.1, 0, 16, 5e-4, 0.05, 500, 100),
    "cornell": (0.1, 1, 0, 32, 5e-4, 0.05, 500, 100),
    "texas": (0.5, 1, 0, 32, 5e-4, 0.05, 500, 100),
    "wisconsin": (1, 0.1, 0, 32, 5e-4, 0.05, 500, 100),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_shipped_settings_are_the_published_ones(name):
    config = default_config(name)
    model, training = config.model, config.training
    assert (
        model.pretext_weight,
        model.self_loop_weight,
        model.structure_bias,
        model.hidden_channels,
        training.weight_decay,
        training.lr,
        training.epochs,
        training.patience,
    ) == PUBLISHED[name]
    assert (config.similarity.k, model.pretext_neighbors, model.dropout, model.num_layers) == (20, 5, 0.5, 2)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("model", METHODS)
def test_every_shipped_file_loads(name, model):
    assert name in CATALOG
    text = resources.files("simpgcn").joinpath("settings", f"{name}.yaml").read_text()
    assert set(parse_yaml(text, name)["models"]) <= set(METHODS)
    config = default_config(name, model)
    assert (config.data.name, config.model_name) == (name, model)


def test_attacked_graphs_have_the_settings_of_their_clean_one():
    clean, attacked = default_config("pubmed-prognn"), default_config("pubmed+metattack@0.2")
    assert attacked.replace({"data": {"name": "pubmed-prognn"}}) == clean
    assert (clean.model.pretext_weight, clean.model.self_loop_weight, clean.model.structure_bias) == (10, 0.1, 0)
    cora = default_config("cora+metattack@0.2").model
    assert (cora.pretext_weight, cora.self_loop_weight, cora.structure_bias) == (0.1, 0.01, 0)


def test_yaml_round_trip():
    config = default_config("texas").replace({"training": {"seed": 4}, "data": {"split_kind": "random"}})
    assert Config.from_yaml(config.to_yaml()) == config
    gcn = default_config("texas", "gcn")
    assert Config.from_yaml(gcn.to_yaml()) == gcn


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trainig": {"lr": 1}}, "unknown setting 'trainig': did you mean training"),
        ({"training": {"learning_rate": 1}}, r"unknown setting 'training.learning_rate'"),
        ({"training": 3}, "training is a group of settings"),
        ({"training": {"epochs": 1.5}}, "training.epochs must be of type int, not 1.5"),
        ({"training": {"epochs": True}}, "training.epochs must be of type int"),
        ({"training": {"lr": "fast"}}, "training.lr must be of type float, not 'fast'"),
        ({"training": {"lr": 0}}, "training.lr must be above 0, not 0"),
        ({"training": {"lr": float("nan")}}, "training.lr must be above 0, not nan"),
        ({"training": {"epochs": 0}}, "training.epochs must be at least 1"),
        ({"model": {"dropout": 1}}, "model.dropout must be at least 0 and below 1"),
        ({"similarity": {"k": 0}}, "similarity.k must be at least 1"),
        ({"similarity": {"binarize": "yes"}}, "similarity.binarize must be one of auto, always, never, not 'yes'"),
        ({"data": {"directed": "no"}}, "data.directed must be of type bool"),
        ({"model_name": "gnc"}, "unknown model 'gnc': did you mean gcn"),
        ({"model_name": 3}, "model_name must be a text"),
        (
            {"model": {"hiden_channels": 3}},
            "unknown setting .model.hiden_channels.: did you mean model.hidden_channels",
        ),
    ],
)
def test_bad_settings(changes, message):
    with pytest.raises(SimPGCNError, match=message):
        Config().replace(changes)


def test_numbers_as_people_write_them():
    assert Config().replace(parse_assignment("training.weight_decay=5e-5")).training.weight_decay == 5e-5
    assert Config().replace(parse_assignment("training.lr=1")).training.lr == 1.0
    for bad in ("lr=3", "training.lr", "=", "training.lr=[1"):
        with pytest.raises(SimPGCNError, match="--set"):
            Config().replace(parse_assignment(bad))


def test_yaml_that_is_none():
    with pytest.raises(SimPGCNError, match="not valid YAML"):
        Config.from_yaml("a: [")
    with pytest.raises(SimPGCNError, match="must hold settings by name"):
        Config.from_yaml("- 1")
