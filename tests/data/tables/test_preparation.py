from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from simpgcn.data.features import is_sparse, is_word_like
from simpgcn.data.tables.column_kinds import column_kind
from simpgcn.data.tables.preparation import feature_names, learn_preparation, prepare_features
from simpgcn.errors import SimPGCNError


def learned(table):
    return learn_preparation(table, [column_kind(name, table[name]) for name in table.column_names])


def prepared(table):
    return prepare_features(table, learned(table))


def test_missing_numbers_are_the_median_and_marked():
    x = prepared(pa.table({"age": [1.0, None, 3.0, 8.0]}))
    known = np.array([1.0, 3.0, 8.0])
    assert x[1, 0] == pytest.approx((3 - known.mean()) / known.std())
    assert x[:, 1].tolist() == [0, 1, 0, 0]


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=2, max_size=20))
def test_any_numbers_become_finite_features(values):
    table = pa.table({"size": pa.array(values, pa.float64())})
    columns = [column_kind("size", table["size"])]
    if columns[0].kind != "ignored":
        x = prepare_features(table, learn_preparation(table, columns)).to_dense()
        assert x.isfinite().all()
        assert x[:, 0].abs().max() <= 5


def test_rare_values_share_a_feature_and_unseen_ones_join_them():
    cities = [f"city{i % 120:03d}" for i in range(1200)] + ["city000", ""]
    table = pa.table({"city": cities})
    how = learned(table)
    assert len(how[0]["values"]) == 100
    assert "city000" in how[0]["values"]
    new = prepare_features(pa.table({"city": ["city000", "Atlantis", None]}), how).to_dense()
    assert [feature_names(how)[place] for place in new.argmax(1).tolist()] == [
        "city = city000",
        "city = other",
        "city is missing",
    ]
    assert new.sum(1).tolist() == [1, 1, 1]


def test_an_unseen_category_has_no_feature_where_none_was_rare():
    how = learned(pa.table({"city": ["Rome", "Oslo"] * 5}))
    assert prepare_features(pa.table({"city": ["Atlantis"]}), how).to_dense().tolist() == [[0, 0]]


def test_words_are_those_of_sklearn():
    draw = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(40)])
    texts = [" ".join(draw.choice(words, 8)) for _ in range(60)]
    x = prepared(pa.table({"note": texts}))
    expected = TfidfVectorizer(min_df=2, max_df=0.5, sublinear_tf=True).fit_transform(texts).toarray()
    np.testing.assert_allclose(x.to_dense().numpy(), expected, atol=1e-5)


def test_texts_alone_look_like_words_and_numbers_beside_them_do_not():
    draw = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(300)])
    texts = [" ".join(draw.choice(words, 6)) for _ in range(200)]
    alone = prepared(pa.table({"note": texts}))
    assert is_sparse(alone)
    assert is_word_like(alone)
    assert not is_word_like(prepared(pa.table({"note": texts, "age": draw.normal(size=200)})))


def test_preparation_is_plain_data_and_new_rows_are_prepared_alike():
    draw = np.random.default_rng(0)
    words = np.array(["red", "blue", "car", "sky", "tree", "sea"])
    table = pa.table(
        {
            "age": pa.array([f"{v:.1f}".replace(".", ",") for v in draw.normal(40, 9, 50)]),
            "joined": [f"{d:02d}.03.2020" for d in draw.integers(1, 29, 50)],
            "city": draw.choice(["Rome", "Oslo", ""], 50),
            "note": [" ".join(draw.choice(words, 3)) + f" {i}" for i in range(50)],
        }
    )
    how = learned(table)
    assert [column["kind"] for column in how] == ["number", "date", "category", "text"]
    again = json.loads(json.dumps(how))
    x = prepare_features(table, how).to_dense()
    assert x.size(1) == len(feature_names(how))
    for row in (0, 7, 49):
        torch.testing.assert_close(prepare_features(table.slice(row, 1), again).to_dense(), x[row : row + 1])


def test_a_missing_column_of_new_rows_is_named():
    how = learned(pa.table({"age": [1, 2], "city": ["Rome", "Oslo"]}))
    with pytest.raises(SimPGCNError, match="no column 'city', which the model was trained with: it has age"):
        prepare_features(pa.table({"age": [1]}), how)
