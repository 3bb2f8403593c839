"""The configuration of Sphinx; `python -m tools.site` calls it."""

import re
from importlib.metadata import version as installed
from typing import Any

project, author, copyright = "unmask", "The unmask developers", "The unmask developers"
version = release = installed("unmask")
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "tools.site.mathml",
]
myst_enable_extensions = ["colon_fence", "dollarmath", "attrs_inline"]
myst_heading_anchors = 6
nb_execution_mode = "off"  # the tests execute them
html_math_renderer = "mathml"
suppress_warnings = ["myst.header", "misc.highlighting_failure"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = True
autodoc_default_options = {"exclude-members": "__init__, __new__"}
add_module_names = False
python_use_unqualified_type_names = True
napoleon_google_docstring, napoleon_numpy_docstring = True, False

html_theme = "pydata_sphinx_theme"
html_title = "unmask"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": "unmask"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_toc_level": 2,
    "show_nav_level": 1,
    "navigation_depth": 3,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True


def setup(app: Any) -> None:
    """Read the single backticks of docstrings as code."""
    app.connect("autodoc-process-docstring", _code, priority=400)  # before napoleon


def _code(_app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    text = re.sub(r"(?<!`)`([^`]+)`(?!`)(?=(\w?))", lambda m: f"``{m[1]}``" + (m[2] and "\\ "), "\n".join(lines))
    lines[:] = text.split("\n")
