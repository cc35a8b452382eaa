"""Free text as tf-idf words, with the vocabulary kept as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize

_MAX_WORDS = 2000
_SPLIT = {"strip_accents": "unicode", "token_pattern": r"(?u)\b\w\w+\b"}


def learn_words(texts: Sequence[str | None]) -> dict[str, Any]:
    """The words that occur in two rows or more but not in more than half of them, with their rarity.

    >>> learn_words(["red apple", "green apple", "red car", "blue sky", None])["words"]
    ['apple', 'red']
    """
    counter = CountVectorizer(min_df=2, max_df=0.5, max_features=_MAX_WORDS, **_SPLIT)
    try:
        counts = counter.fit_transform(_given(texts))
    except ValueError:  # no word is left
        return {"words": [], "idf": []}
    rarity = TfidfTransformer().fit(counts).idf_
    return {"words": counter.get_feature_names_out().tolist(), "idf": [round(float(value), 6) for value in rarity]}


def word_features(texts: Sequence[str | None], learned: dict[str, Any]) -> sparse.csr_array:
    """A row for each text: its words' logarithmic counts times their rarity, scaled to length 1.

    >>> word_features(["apple", None], {"words": ["apple", "red"], "idf": [1.5, 2.0]}).toarray().tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    if not learned["words"]:
        return sparse.csr_array((len(texts), 0), dtype=np.float32)
    counts = sparse.csr_array(CountVectorizer(vocabulary=learned["words"], **_SPLIT).transform(_given(texts)))
    counts = counts.astype(np.float64)
    counts.data = 1 + np.log(counts.data)
    return sparse.csr_array(normalize(counts * np.array(learned["idf"])[None, :])).astype(np.float32)


def _given(texts: Sequence[str | None]) -> list[str]:
    return [text or "" for text in texts]
