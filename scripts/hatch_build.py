"""Build hooks: compile the shaders for a wheel, or an editable one, and give the package's page absolute links."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# A link or an image that leads to a file of the repository: "](docs/routes.md#steps)".
_RELATIVE = re.compile(r"(!?)(\[(?:[^][]|\[[^][]*\])*\])\((?!https?:|mailto:|#)([^)\s]+)\)")
# The version of a release, or of a candidate; versions between two releases have ".dev" in them.
_RELEASE = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")


class ShaderBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Hook that adds the SPIR-V modules to the package before it is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the modules that are out of date; an sdist carries the sources instead."""
        if self.target_name != "wheel":
            return
        script = runpy.run_path(str(Path(self.root) / "scripts" / "build_shaders.py"))
        try:
            script["build"]()
        except script["ShaderError"] as error:
            raise SystemExit(f"vkssp: {error}") from None


class ReadmeMetadataHook(MetadataHookInterface):
    """Hook for the long description: README.md with absolute links, since relative links break on a package index."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Insert the text with links to the repository of `[project.urls]`."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_absolute_links(text, metadata["urls"]["Source"], revision_of(metadata["version"])),
        }


def revision_of(version: str) -> str:
    """Return the tag of a release, so that its page keeps its links; HEAD for the versions between releases."""
    return f"v{version}" if _RELEASE.fullmatch(version) else "HEAD"


def with_absolute_links(text: str, repository: str, revision: str) -> str:
    """Replace relative links in Markdown by links to a repository on GitHub, and images by links to its raw files.

    Parameters
    ----------
    text : str
        The Markdown.
    repository : str
        The repository's address.
    revision : str
        The tag or branch.
    """
    parts = re.split(r"(^```.*?^```)", text, flags=re.DOTALL | re.MULTILINE)
    for number in range(0, len(parts), 2):  # the text between blocks of code
        for _ in range(2):  # a link around an image in the second round
            parts[number] = _RELATIVE.sub(
                lambda found: (
                    f"{found[1]}{found[2]}({repository}/{'raw' if found[1] else 'blob'}/{revision}/{found[3]})"
                ),
                parts[number],
            )
    return "".join(parts)
