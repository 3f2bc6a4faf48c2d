"""Arrays of results that other libraries read where they lie, by DLPack or CUDA's array interface.

DLPack: https://dmlc.github.io/dlpack/latest/c_api.html, with the protocol of the Python array API standard; CUDA's
array interface, version 3: https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vkssp.errors import QueryError
from vkssp.gpu.cuda import DLPACK_CUDA
from vkssp.resource import Resource

#: Memory of the host in DLPack's numbering, kDLCPU.
DLPACK_CPU = 1
# First version of numpy whose `__dlpack__` knows more than the stream, and so capsules with a version.
_VERSIONED = (2, 1)
# Bytes before the tensor in DLManagedTensorVersioned: version, manager_ctx, deleter and flags.
_BEFORE_TENSOR = {b"dltensor": 0, b"dltensor_versioned": 32}


class Memory(Protocol):
    """Memory of a device as another interface sees it, for as long as anything refers to this object."""

    pointer: int

    @property
    def dlpack(self) -> tuple[int, int]:
        """Type and number of the device in DLPack's numbering."""

    def read(self, into: npt.NDArray[Any]) -> None:
        """Copy the first bytes to an array."""


class _Tensor(ctypes.Structure):
    """Begin of DLTensor."""

    _fields_ = (("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class _Words:
    """What NumPy makes an array of whose memory is not the host's: it is never read, only counted and described."""

    def __init__(self, memory: Memory, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.memory = memory
        described = {"shape": shape, "typestr": dtype.str, "data": (memory.pointer, False), "version": 3}
        self.__array_interface__ = described


class DeviceArray(Resource):
    """Array of results on a device, which torch, cupy, jax, numba or NumPy read in place.

    Made by methods of `vkssp.Solver`, such as `vkssp.Solver.table_on_device`. The results are complete when the array
    is returned, so that no stream has to wait for them. The array is on a GPU of NVIDIA, or in memory of the host if
    the device computes there: integrated and software devices, and the CPU. ``torch.from_dlpack(array)`` and the like
    copy nothing; ``numpy()`` copies from a GPU.

    The memory is used by nothing else as long as the array, or anything that was made of it, is there: the solver and
    its device may be closed before, and so may the array. Afterwards later results may use it again.

    Attributes
    ----------
    shape : tuple of int
        Number of items in each dimension.
    dtype : numpy.dtype
        Type of the items: uint32, or uint64 if distances have 64 bits.
    scale : float or None
        If weights are real numbers, the weight of a unit: results are whole numbers of units here, which other
        libraries multiply by it; None if weights are whole numbers.
    unreachable : int
        The item where no path leads, 2**32 - 1 or 2**64 - 1.

    Examples
    --------
    >>> import numpy as np
    >>> from vkssp import Graph, Solver
    >>> with Solver(Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9]), device="cpu") as solver:
    ...     array = solver.table_on_device([0, 1])
    >>> array.shape, np.from_dlpack(array).tolist()
    ((2, 2), [[0, 4], [4294967295, 0]])
    """

    def __init__(self, values: npt.NDArray[Any], memory: Memory | None = None, scale: float | None = None):
        self._values: npt.NDArray[Any] | None = values
        self._memory, self.scale = memory, scale
        self._is_lent = False
        self.shape: tuple[int, ...] = values.shape
        self.dtype, self.strides = values.dtype, values.strides
        self.unreachable = int(np.iinfo(values.dtype).max)
        self._on = (DLPACK_CPU, 0) if memory is None else memory.dlpack
        super().__init__()

    @classmethod
    def over(
        cls, memory: Memory, shape: tuple[int, ...], dtype: npt.DTypeLike, scale: float | None = None
    ) -> DeviceArray:
        """Return an array over the first bytes of memory of a device."""
        words: Any = _Words(memory, shape, np.dtype(dtype))
        return cls(np.asarray(words), memory, scale)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of items."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        return self.size * np.dtype(self.dtype).itemsize

    @property
    def device(self) -> str:
        """The device, as torch names it: ``"cpu"`` or ``"cuda:0"``."""
        kind, number = self._on
        return f"cuda:{number}" if kind == DLPACK_CUDA else "cpu"

    def numpy(self) -> npt.NDArray[Any]:
        """Return the items in memory of the host: a copy from a GPU, or else the array's own memory."""
        values = self._open()
        if self._memory is None:
            return values
        copy = np.empty(self.shape, self.dtype)
        self._memory.read(copy)
        return copy

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the items in memory of the host, for ``numpy.asarray``."""
        if copy is False and self._memory is not None:
            raise ValueError(f"the array is on {self.device}; NumPy has to copy it")
        found = self.numpy()
        if dtype is not None and np.dtype(dtype) != found.dtype:
            if copy is False:
                raise ValueError(f"the array has items of type {found.dtype}; NumPy has to copy it")
            return found.astype(dtype)
        return found.copy() if copy and self._memory is None else found

    def __len__(self) -> int:
        """Return the length of the first dimension."""
        if not self.shape:
            raise TypeError("the array has no dimensions")
        return self.shape[0]

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return type and number of the device in DLPack's numbering: (1, 0) is the host, (2, 0) CUDA's device 0."""
        return self._on

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule by which another library reads the array where it lies.

        Parameters
        ----------
        stream : int, optional
            The consumer's stream, which has nothing to wait for.
        max_version : tuple of (int, int), optional
            Newest version of DLPack that the consumer knows.
        dl_device : tuple of (int, int), optional
            Device where the consumer wants the array; the host gets a copy.
        copy : bool, optional
            Whether to copy; by default only if the device demands it.

        Raises
        ------
        BufferError
            If the array would have to be copied and may not be, or to or on another device than the host.
        QueryError
            If the array has been closed.
        """
        values = self._open()
        wanted = self._on if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
        if wanted not in (self._on, (DLPACK_CPU, 0)):
            raise BufferError(f"the array is on {self.device}; ask for it there, and copy it then")
        if wanted != self._on:
            if copy is False:
                raise BufferError(f"the array is on {self.device}, and the host needs a copy of it")
            return _capsule(self.numpy(), max_version)
        if copy:
            if self._memory is not None:
                raise BufferError(f"copies are not made on {self.device}; take the array as it is, and copy it then")
            return _capsule(values.copy(), max_version)
        capsule = _capsule(values, max_version)
        if self._memory is not None:
            _place(capsule, self._on)
        return capsule

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Description for libraries of CUDA, which keep the array alive; not there if it is in memory of the host."""
        if self._memory is None or self._on[0] != DLPACK_CUDA:
            raise AttributeError(f"the array is on {self.device}, and CUDA does not see it")
        self._open()
        self._is_lent = True
        pointer = self._memory.pointer if self.size else 0
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (pointer, False),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def __repr__(self) -> str:
        """Return type, shape and device in one line."""
        closed = ", closed" * self.closed
        return f"DeviceArray({self.dtype}{list(self.shape)}, {self.device!r}{closed})"

    def _open(self) -> npt.NDArray[Any]:
        if self.closed or self._values is None:
            raise QueryError("this array has been closed; ask for the results again")
        return self._values

    def _own_bytes(self) -> int:
        return self.nbytes

    def _release(self) -> None:
        # What has taken CUDA's description refers to this object and to nothing else.
        if not self._is_lent:
            self._values = self._memory = None


def _capsule(values: npt.NDArray[Any], max_version: tuple[int, int] | None) -> Any:
    """Return NumPy's capsule of an array, which refers to the array until the consumer has deleted what it took."""
    numpy_version = tuple(int(part) for part in np.__version__.split(".")[:2])
    if max_version is None or numpy_version < _VERSIONED:
        return values.__dlpack__()
    return values.__dlpack__(max_version=max_version)


def _place(capsule: Any, device: tuple[int, int]) -> None:
    """Write into a new capsule on which device its tensor is.

    NumPy makes the capsule, with all that frees the memory at any time and in any thread, also while the interpreter
    ends. All that it cannot know is the device, since it does not look at the memory.
    """
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = name_of(capsule)
    tensor = _Tensor.from_address(pointer_of(capsule, name) + _BEFORE_TENSOR[name])
    tensor.device_type, tensor.device_id = device
