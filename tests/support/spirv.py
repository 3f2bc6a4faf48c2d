"""As much of a SPIR-V reader as the tests need to compare a shader's layout with the host's."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from vkssp.gpu import spirv

_NAME, _MEMBER_NAME, _CAPABILITY = 5, 6, 17
_TYPE_INT, _TYPE_FLOAT, _TYPE_STRUCT, _TYPE_POINTER = 21, 22, 30, 32
_VARIABLE, _DECORATE, _MEMBER_DECORATE, _EXECUTION_MODE_ID = 59, 71, 72, 331
_SPEC_ID, _BINDING, _OFFSET = 1, 33, 35
_PUSH_CONSTANT, _STORAGE_BUFFER = 9, 12


class Module:
    """The bindings, push constants, specialization constants, capabilities and structs of a compiled shader."""

    def __init__(self, name: str) -> None:
        code = spirv.load(name)
        words = struct.unpack(f"<{len(code) // 4}I", code)
        assert words[0] == 0x07230203
        self._names: dict[int, str] = {}
        self._members: dict[tuple[int, int], str] = {}
        self._offsets: dict[tuple[int, int], int] = {}
        self._structs: dict[int, list[int]] = {}
        self._pointers: dict[int, tuple[int, int]] = {}
        self.bindings: set[int] = set()
        self.constants: set[int] = set()
        self.capabilities: set[int] = set()
        self._pushed = 0
        at = 5
        while at < len(words):
            length, opcode = words[at] >> 16, words[at] & 0xFFFF
            self._instruction(opcode, words[at + 1 : at + length])
            at += length

    def _instruction(self, opcode: int, operands: tuple[int, ...]) -> None:
        if opcode == _NAME:
            self._names[operands[0]] = _text(operands[1:])
        elif opcode == _CAPABILITY:
            self.capabilities.add(operands[0])
        elif opcode == _MEMBER_NAME:
            self._members[operands[0], operands[1]] = _text(operands[2:])
        elif opcode == _TYPE_STRUCT:
            self._structs[operands[0]] = list(operands[1:])
        elif opcode == _TYPE_POINTER:
            self._pointers[operands[0]] = (operands[1], operands[2])
        elif opcode == _DECORATE and operands[1] == _BINDING:
            self.bindings.add(operands[2])
        elif opcode == _DECORATE and operands[1] == _SPEC_ID:
            self.constants.add(operands[2])
        elif opcode == _MEMBER_DECORATE and operands[2] == _OFFSET:
            self._offsets[operands[0], operands[1]] = operands[3]
        elif opcode == _VARIABLE and operands[2] == _PUSH_CONSTANT:
            self._pushed = self._pointers[operands[0]][1]

    @property
    def push_constants(self) -> list[str]:
        """Names of the push constants, in their order."""
        return [name for name, _ in self._layout(self._pushed)] if self._pushed else []

    def struct(self, name: str) -> list[tuple[str, int]]:
        """Return the members of a struct or block as it lies in a buffer, with their offsets in bytes."""
        fitting = [i for i, n in self._names.items() if n == name and (i, 0) in self._offsets]
        assert fitting, f"no laid out struct {name}"
        return self._layout(fitting[0])

    def _layout(self, identifier: int) -> list[tuple[str, int]]:
        members = range(len(self._structs[identifier]))
        return [(self._members[identifier, i], self._offsets[identifier, i]) for i in members]


def _text(words: tuple[int, ...]) -> str:
    return struct.pack(f"<{len(words)}I", *words).split(b"\0")[0].decode()


def all_shaders() -> list[str]:
    """Return the names of all shaders of the package."""
    return sorted(path.stem for path in Path(spirv.__file__).resolve().parent.parent.glob("spirv/*.spv"))


def dtype_layout(dtype: Any) -> list[tuple[str, int]]:
    """Return the fields of a numpy dtype with their offsets."""
    return [(name, dtype.fields[name][1]) for name in dtype.names]
