"""Compiler of kernels: numba's, without the work that kernels do not need; importing this imports numba."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from numba.core import compiler, compiler_machinery, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.types.functions import BaseFunction

#: Passes for closures, array expressions, branches on constants, overloads that are inlined and the ends of references:
#: kernels have none of them.
LEFT_OUT = (
    untyped_passes.InlineClosureLikes,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    typed_passes.IRLegalization,
)

# Signatures of functions and operators by the types of their arguments; they are the same in all kernels.
_signatures: dict[tuple[Any, tuple[Any, ...]], Any] = {}


class _Passes(compiler_machinery.PassManager):
    # Else the lifetimes of variables would be computed after each pass; the passes that need them do it themselves.
    _ENFORCING = False


class _Library(JITCodeLibrary):
    """Code of a kernel."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave functions to the optimization of the whole module."""


class KernelCompiler(compiler.Compiler):
    """Compiler that takes about half of the time of numba's default; all kernels have the same options."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        pipelines: list[Any] = []
        for default in super().define_pipelines():  # type: ignore[no-untyped-call]
            passes: Any = _Passes(default.pipeline_name)  # type: ignore[no-untyped-call]
            passes.passes = [given for given in default.passes if given[0] not in LEFT_OUT]
            passes.finalize()
            pipelines.append(passes)
        return pipelines

    def _compile_core(self) -> Any:
        state = self.state
        if state.library is None:
            library: Any = _Library
            state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        with _remembering():
            return super()._compile_core()  # type: ignore[no-untyped-call]


@contextmanager
def _remembering() -> Generator[None, None, None]:
    """Let numba look up the signature of each operator once, rather than several times wherever it occurs."""
    operators: Any = BaseFunction
    resolve: Callable[..., Any] = operators.get_call_type

    def remembered(function: Any, context: Any, arguments: Any, keywords: Any) -> Any:
        key = function, tuple(arguments)
        try:
            found = None if keywords else _signatures.get(key)
        except TypeError:  # slices of constants have no hash
            return resolve(function, context, arguments, keywords)
        if found is None:
            found = resolve(function, context, arguments, keywords)
            if found is not None and not keywords:
                _signatures[key] = found
        return found

    if resolve.__name__ == remembered.__name__:  # a kernel that calls this one is being compiled
        yield
        return
    operators.get_call_type = remembered
    try:
        yield
    finally:
        operators.get_call_type = resolve
