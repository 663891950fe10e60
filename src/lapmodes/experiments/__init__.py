"""The paper's tables and figures, one a file: ``lapmodes reproduce``."""
