"""Interface to the Vulkan loader: structs that keep their children alive, and calls whose results are checked.

The `vulkan` package is a thin cffi layer over the loader. Its Python wrappers cost several microseconds a call, and
they can free a struct that is nested in another by value, or in a list, while the driver still reads it. Therefore this
module uses only the package's `ffi`, `lib` and constants. `struct` and `array` own the objects that they point to, and
`call` turns result codes into exceptions.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Sequence
from functools import cache
from typing import Any

from vkssp.errors import DeviceError

try:
    import vulkan as vk
except (OSError, ImportError) as error:  # the loader, libvulkan, is not on this machine
    _missing: Exception | None = error
    vk = None
else:
    _missing = None

ffi: Any = None if vk is None else vk.ffi
lib: Any = None if vk is None else vk.lib

SUCCESS, NOT_READY, TIMEOUT, INCOMPLETE, DEVICE_LOST = 0, 1, 2, 5, -4
# The table in the `vulkan` package has the wrong sign for some of these codes.
_RESULTS = {
    1: "VK_NOT_READY",
    2: "VK_TIMEOUT",
    5: "VK_INCOMPLETE",
    -1: "VK_ERROR_OUT_OF_HOST_MEMORY",
    -2: "VK_ERROR_OUT_OF_DEVICE_MEMORY",
    -3: "VK_ERROR_INITIALIZATION_FAILED",
    -4: "VK_ERROR_DEVICE_LOST",
    -5: "VK_ERROR_MEMORY_MAP_FAILED",
    -6: "VK_ERROR_LAYER_NOT_PRESENT",
    -7: "VK_ERROR_EXTENSION_NOT_PRESENT",
    -8: "VK_ERROR_FEATURE_NOT_PRESENT",
    -9: "VK_ERROR_INCOMPATIBLE_DRIVER",
    -10: "VK_ERROR_TOO_MANY_OBJECTS",
    -12: "VK_ERROR_FRAGMENTED_POOL",
    -13: "VK_ERROR_UNKNOWN",
    -1000069000: "VK_ERROR_OUT_OF_POOL_MEMORY",
    -1000072003: "VK_ERROR_INVALID_EXTERNAL_HANDLE",
}

# The objects that each struct or array points to, kept alive as long as the struct or array.
children: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()


class VulkanError(DeviceError):
    """Failure of a Vulkan call; `code` is its VkResult."""

    def __init__(self, function: str, code: int) -> None:
        self.code, self.is_lost = code, code == DEVICE_LOST
        super().__init__(f"{function} failed with {_RESULTS.get(code, f'VkResult {code}')}")


def require_loader() -> None:
    """Raise `DeviceError` if there is no Vulkan loader on this machine."""
    if vk is None:
        raise DeviceError(
            "the Vulkan loader is not installed; install it and a driver (Debian and Ubuntu: apt install libvulkan1 "
            f"mesa-vulkan-drivers; macOS: brew install molten-vk vulkan-loader) [{_missing}]"
        ) from _missing


def constant(name: str) -> int:
    """Return the constant of the Vulkan headers that has a given full name."""
    return int(getattr(vk, name))


def call(function: str, *args: Any, allow: Sequence[int] = ()) -> int:
    """Call a Vulkan function and return its VkResult; raise `VulkanError` if it is neither success nor in `allow`."""
    code = int(getattr(lib, function)(*args))
    if code != SUCCESS and code not in allow:
        raise VulkanError(function, code)
    return code


def create(function: str, ctype: str, *args: Any) -> Any:
    """Call a vkCreate-like function and return the handle that it writes to its last parameter."""
    handle = ffi.new(f"{ctype}*")
    call(function, *args, handle)
    return handle[0]


@cache
def _structure_type(ctype: str) -> int:
    words = re.sub(r"Vulkan(\d)(\d)", r"Vulkan_\1_\2", ctype.removeprefix("Vk"))
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[a-z])(?=[0-9])", "_", words)
    return constant("VK_STRUCTURE_TYPE_" + words.upper())


def struct(ctype: str, **values: Any) -> Any:
    """Return a pointer to a new struct with its sType set, which keeps the values of its fields alive.

    The value of a field is a number, a handle, a pointer, or bytes for a string. If the field holds a struct by value,
    its value is a pointer made by this function.
    """
    pointer = ffi.new(f"{ctype}*")
    fields = dict(ffi.typeof(ctype).fields)
    if "sType" in fields and "sType" not in values:
        pointer.sType = _structure_type(ctype)
    kept = []
    for name, value in values.items():
        if isinstance(value, bytes):
            value = ffi.new("char[]", value)
        if isinstance(value, ffi.CData):
            kept.append(value)
            if fields[name].type.kind == "struct":
                value = value[0]  # copied by value; the objects that the copy points to must stay alive, too
        setattr(pointer, name, value)
    children[pointer] = kept
    return pointer


def array(ctype: str, items: Sequence[Any]) -> Any:
    """Return a new array of numbers, handles, structs (by value) or strings, which keeps its items alive."""
    items = [ffi.new("char[]", item) if isinstance(item, bytes) else item for item in items]
    by_value = ffi.typeof(ctype).kind == "struct"
    result = ffi.new(f"{ctype}[]", [item[0] if by_value else item for item in items])
    children[result] = items
    return result


def enumerate_all(function: str, ctype: str, *args: Any) -> list[Any]:
    """Call a function that fills an array in two steps, count first, and return its items.

    The items are views into one array; keep the list while they are used.
    """
    count = ffi.new("uint32_t*")
    getattr(lib, function)(*args, count, ffi.NULL)
    # VK_INCOMPLETE only means that a driver or layer appeared between the two calls; the filled items are valid.
    items = ffi.new(f"{ctype}[]", max(1, count[0]))
    code = getattr(lib, function)(*args, count, items)
    if isinstance(code, int) and code not in (SUCCESS, INCOMPLETE):
        raise VulkanError(function, code)
    result = _Items(items[i] for i in range(count[0]))
    result.owner = items
    return result


class _Items(list[Any]):
    owner: Any = None


def text(characters: Any) -> str:
    """Return a fixed array of C characters as a string."""
    return str(ffi.string(characters).decode("utf-8", "replace"))
