"""
Topics of short texts
=====================

Texts become rows of a sparse matrix (TF-IDF), and the cosine metric compares their directions. The largest entries of
a mode name the topic of its cluster. The texts are drawn on their two principal axes, which show only a part of what
sets them apart.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from lapmodes import LaplacianKModes
from lapmodes.plotting import plot_clusters, plot_sizes

TOPICS = (
    "goal match team coach league striker penalty referee stadium season",
    "bread oven flour butter sugar recipe dough bake pastry kitchen",
    "orbit rocket planet telescope comet galaxy launch astronaut probe moon",
    "guitar concert melody drummer chorus album singer rhythm stage encore",
)
rng = np.random.default_rng(0)
texts = [" ".join(rng.choice(topic.split(), 6)) + " the a of" for topic in TOPICS for _ in range(60)]

vectorizer = TfidfVectorizer(stop_words="english")
X = vectorizer.fit_transform(texts)
model = LaplacianKModes(4, metric="cosine", random_state=0).fit(X)

terms = vectorizer.get_feature_names_out()
best = [", ".join(terms[np.argsort(-mode)[:4]]) for mode in model.cluster_centers_]
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
plot_clusters(model, X, left).set_title("Texts")
plot_sizes(model, right).set_yticks(range(4), best)
right.set(title="Topics and their strongest terms", ylabel="")
plt.show()
