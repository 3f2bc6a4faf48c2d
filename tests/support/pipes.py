"""The command line between pipes, in the process of the tests: another one takes a second to start."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from vkssp.cli import main


class Piped(NamedTuple):
    """What a command has returned, and written to pipes."""

    returncode: int
    stdout: bytes
    stderr: bytes


def run_piped(*arguments: str, stdin: bytes | None = None, **environment: str) -> Piped:
    """Run a command whose standard streams are pipes, as descriptors and as files of Python."""
    with ExitStack() as stack, ThreadPoolExecutor(3) as pool:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(tempfile, "tempdir", None)  # so that TMPDIR is looked at
        ends = [os.pipe() for _ in range(3)]
        kept = [os.dup(number) for number in range(3)]
        for number, (reading, writing) in enumerate(ends):
            os.dup2(writing if number else reading, number)
        feeding = pool.submit(_write_all, ends[0][1], stdin or b"")
        taking = [pool.submit(_read_all, reading) for reading, _ in ends[1:]]
        try:
            streams = [
                io.TextIOWrapper(open(number, "wb" if number else "rb", closefd=False), write_through=bool(number))
                for number in range(3)
            ]
            for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
                patch.setattr(sys, name, stream)
            try:
                code: object = main(arguments)
            except SystemExit as stop:
                code = stop.code
            for stream in streams[1:]:
                stream.flush()
        finally:
            for number, before in enumerate(kept):
                os.dup2(before, number)
                os.close(before)
            os.close(ends[0][0])
            for _, writing in ends[1:]:
                os.close(writing)
            feeding.result()
            printed = [one.result() for one in taking]
    assert isinstance(code, int)
    return Piped(code, *printed)


def _write_all(descriptor: int, data: bytes) -> None:
    try:
        with open(descriptor, "wb") as stream:
            stream.write(data)
    except BrokenPipeError:  # the command reads no standard input
        pass


def _read_all(descriptor: int) -> bytes:
    with open(descriptor, "rb") as stream:
        return stream.read()
