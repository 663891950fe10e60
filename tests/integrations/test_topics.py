"""BERTopic and Toponymy."""

from __future__ import annotations

import numpy as np
import pytest

from lapmodes import LaplacianKModes
from lapmodes.tl import toponymy_clusterer

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]

WORDS = ["apple banana fruit orchard", "engine car wheel road", "goal match team stadium"]


@pytest.fixture
def texts(vectors):
    X, y = vectors
    rng = np.random.default_rng(1)
    return [" ".join(rng.permutation(WORDS[k].split())) for k in y], X, y


def topic_model(**parameters):
    bertopic = pytest.importorskip("bertopic")
    from bertopic.dimensionality import BaseDimensionalityReduction

    clusters = LaplacianKModes(3, random_state=0)
    return bertopic.BERTopic(
        umap_model=BaseDimensionalityReduction(), hdbscan_model=clusters, embedding_model=None, **parameters
    )


def test_topics_without_outliers_with_probabilities_and_for_new_texts(texts):
    documents, X, y = texts
    model = topic_model()
    topics, probabilities = model.fit_transform(documents, embeddings=X)
    assert -1 not in topics
    assert len({(topic, k) for topic, k in zip(topics, y, strict=True)}) == 3
    assert np.shape(probabilities) == (120,) and np.min(probabilities) > 0.5
    new, _ = model.transform(documents[:9], embeddings=X[:9] + 0.01)
    np.testing.assert_array_equal(new, topics[:9])


def test_labels_that_bertopic_passes_on_are_not_partial_labels(texts):
    documents, X, y = texts
    wrong = np.random.default_rng(2).permutation(y)
    plain, _ = topic_model().fit_transform(documents, embeddings=X)
    given, _ = topic_model().fit_transform(documents, embeddings=X, y=wrong)
    np.testing.assert_array_equal(plain, given)


def test_layers_as_a_toponymy_clusterer(vectors):
    clustering = pytest.importorskip("toponymy.clustering")

    class Plain:
        def __init__(self, cluster_labels, centroid_vectors, layer_id, **options):
            self.cluster_labels, self.centroid_vectors = cluster_labels, centroid_vectors
            self.layer_id, self.options = layer_id, options

    X, _ = vectors
    clusterer = toponymy_clusterer([3, 6], nested=True, random_state=0)
    assert isinstance(clusterer, clustering.Clusterer)
    layers, tree = clusterer.fit_predict(X, X, Plain, text_embedding_model=None)
    assert [each.cluster_labels.max() + 1 for each in layers] == [6, 3]
    assert [each.layer_id for each in layers] == [0, 1]
    coarse = layers[1]
    for k in range(3):
        np.testing.assert_allclose(coarse.centroid_vectors[k], X[coarse.cluster_labels == k].mean(axis=0))
    children = [child for parent, found in tree.items() if parent[0] == 1 for child in found]
    assert sorted(children) == [(0, k) for k in range(6)]
    np.testing.assert_array_equal(clusterer.layers_.labels[:, 0], coarse.cluster_labels)
