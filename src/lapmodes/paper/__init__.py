"""The paper's rivals, data sets and experiments.

The rivals are public as `lapmodes.baselines` and the data sets as `lapmodes.datasets`; the experiments are run by
``lapmodes reproduce``.
"""
