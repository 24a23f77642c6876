"""Configuration of the documentation site: Sphinx reads MyST Markdown and the docstrings of the built package.

`just docs` builds the site and serves it; `.ci/run` builds it with warnings as errors. Sphinx, because its autodoc
asks the imported package, and so reads signatures and docstrings of compiled classes as it reads Python's;
generators that parse sources see a .pyx file as no code at all.
"""

import sys
from pathlib import Path

import fastbpe

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "fastbpe"
author = "The fastbpe developers"
copyright = f"2026, {author}"
release = version = fastbpe.__version__

extensions = [
    "annotation_names",
    "api_tables",
    "benchmark_tables",
    "command_help",
    "docstrings",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "token_pictures",
]
exclude_patterns = ["build", "extensions"]
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 3  # headings that a link may name, as #heading

autodoc_member_order = "bysource"
# a class is described by its docstring; most are not made by their constructor
autodoc_class_signature = "separated"
autodoc_default_options = {"members": True}
default_role = "code"  # `name` in a docstring is code, as in Markdown
suppress_warnings = ["ref.python"]  # a type named Tokenizer is in several modules
napoleon_use_ivar = True  # attributes stand in the docstring of their class
napoleon_use_rtype = False
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = "fastbpe"
html_static_path = ["static"]
html_css_files = ["fastbpe.css"]
html_js_files = ["copy.js"]
smartquotes_action = "D"  # dashes alone: quotes in docstrings belong to code
html_copy_source = False
html_search_scorer = str(Path(__file__).parent / "extensions" / "scorer.js")
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "native"
