"""How the documentation is built: ``make docs``."""

import warnings
from importlib.metadata import version as installed

project = "lapmodes"
author = "The lapmodes developers"
copyright = "The lapmodes developers"
version = release = installed("lapmodes")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
myst_heading_anchors = 3
autosummary_generate = True
templates_path = ["_templates"]  # the page of a class: its docstring has the attributes already
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.json"]

html_theme = "pydata_sphinx_theme"
html_title = "lapmodes"
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False, "header_links_before_dropdown": 6}
html_sidebars = {"gallery/**": [], "index": []}
html_show_sourcelink = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "plot_gallery": "True",
}
warnings.filterwarnings("ignore", message=".*non-interactive.*", category=UserWarning)
