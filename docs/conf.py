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
autodoc_typehints = "none"  # numpydoc says the types in words
maximum_signature_line_length = 88
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.json"]

# Pages of the API and of the gallery need the whole width for their code.
PAGES_WITH_CONTENTS = ["start/*", "guides/*", "develop/*", "background", "defaults", "method"]
PAGES_WITH_CONTENTS += ["measurements", "baselines", "data", "migration", "comparison", "faq"]
html_theme = "pydata_sphinx_theme"
html_title = "lapmodes"
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": {page: ["page-toc"] for page in PAGES_WITH_CONTENTS},
}
html_sidebars = {"gallery/**": [], "index": []}
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sourcelink = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "thumbnail_size": (640, 300),
    "min_reported_time": 1e9,
    "plot_gallery": "True",
}
warnings.filterwarnings("ignore", message=".*non-interactive.*", category=UserWarning)
