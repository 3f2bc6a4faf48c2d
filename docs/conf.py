"""Configuration of the documentation site; ``scripts/build_docs`` builds it.

The source tree of the site is the repository: pages stay where they are, and their links hold in both places.
"""

import os
import sys
from pathlib import Path

from numpydoc.xref import DEFAULT_LINKS
from pygments.lexers import TextLexer
from sphinx.application import Sphinx

from vkssp import __all__ as public
from vkssp import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
os.environ.update(COLUMNS="100", NO_COLOR="1")  # the width of usage lines of argparse

project, author, release = "vkssp", "The vkssp authors", __version__
project_copyright = "The vkssp authors. Map data © OpenStreetMap contributors, ODbL 1.0"
extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_nb", "sphinx_copybutton", "commands_reference", "references"]

root_doc = "docs/index"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**", "examples/*.ipynb"]
exclude_patterns = [".*", "scripts", "shaders", "tests", "vkssp"]

nitpicky = True
default_role = "py:obj"
myst_heading_anchors = 4

# Notebooks run while the site is built, on the data of the tests; a build has the same output again. The times of one
# machine are kept in the notebook.
nb_execution_mode, nb_execution_raise_on_error, nb_execution_timeout = "force", True, 300
nb_execution_excludepatterns = ["examples/gpu_benchmark.ipynb"]
nb_merge_streams = True

autodoc_typehints = "none"  # the docstrings have the types
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_inherit_docstrings = False
numpydoc_show_class_members = False
# Types of parameters and results are links where they are public classes, and plain text where not.
DEFAULT_LINKS.clear()  # to the documents of Python and NumPy
numpydoc_xref_param_type, numpydoc_xref_ignore = True, "all"
numpydoc_xref_aliases = {name: f"vkssp.{name}" for name in public} | {
    "GraphFile": "vkssp.formats.GraphFile",
    "Hierarchy": "vkssp.graph.hierarchy.Hierarchy",
    "Outcome": "vkssp.algorithm.Outcome",
    "Timings": "vkssp.solver.shared_graph.Timings",
}

nitpick_ignore = [("py:obj", "scipy.sparse.csr_array")]  # no network, and so no inventory of other projects

html_theme = "furo"
html_title = f"vkssp {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_site_root"]
html_copy_source = False
html_show_sphinx = False
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True


def setup(app: Sphinx) -> None:
    """Show blocks of csv as they are."""
    app.add_lexer("csv", TextLexer)
