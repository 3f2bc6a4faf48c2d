"""Compile the shaders when a wheel, or an editable one, is built."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ShaderBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the SPIR-V modules beside the package before it is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile what is out of date; an sdist carries the sources instead."""
        if self.target_name != "wheel":
            return
        script = runpy.run_path(str(Path(self.root) / "scripts" / "build_shaders.py"))
        try:
            script["build"]()
        except script["ShaderError"] as error:
            raise SystemExit(f"vkssp: {error}") from None
