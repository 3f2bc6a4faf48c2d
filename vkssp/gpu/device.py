"""Open Vulkan device: its queues, its memory, and the lock around calls that only one thread may make at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from vkssp.checks import shown
from vkssp.errors import DeviceError
from vkssp.gpu.ffi import SUCCESS, array, call, constant, create, ffi, lib, struct
from vkssp.gpu.host_memory import host_blocks
from vkssp.gpu.instance import (
    HOST_ALLOCATION,
    HOST_MEMORY,
    MEMORY_EXPORT,
    DeviceInfo,
    Instance,
    choose,
    describe,
    extension_names,
    queue_family,
    transfer_family,
)
from vkssp.gpu.pipeline import Pipelines
from vkssp.log import logger
from vkssp.memory import require_addresses
from vkssp.resource import AFTER_FORK, Resource
from vkssp.tunables import defaults, kept_values

#: Environment variable that chooses the device if the caller does not.
DEVICE_VARIABLE = "VKSSP_DEVICE"
_log = logger(__name__)
# Address space that a device and its kernels take, and what a software device takes for each core; measured plus 10 %.
_ADDRESSES, _THREAD_ADDRESSES = 320 << 20, 10 << 20


def tuned_values(info: DeviceInfo) -> dict[str, int]:
    """Return the values of the constants of `vkssp.tunables` on a device: defaults, and what `vkssp tune` has kept."""
    kept = kept_values(info.identity, asdict(info.limits))
    return {**defaults(is_software=info.kind == "cpu"), **kept}


class Device(Resource):
    """Open device with a queue for computation and, if the device has one, a second queue that only copies.

    Parameters
    ----------
    selector : int or str, optional
        Index or part of the name of a device. By default, the environment variable VKSSP_DEVICE chooses the device; if
        it is not set, the device is the first discrete, integrated, virtual or CPU device, in this order.

    Attributes
    ----------
    info : DeviceInfo
        Description of the device.
    lock : threading.RLock
        Lock around the calls that Vulkan allows only one thread to make at a time, above all submissions to a queue.
    givers : list of callable
        Free memory of the device that is kept for later use; see `give_back`.
    polling : threading.Lock
        Lock that the one thread holds that polls for the end of its work; others sleep.
    kept : Resource
        Owner of the objects that all users of the device share.
    pipelines : Pipelines
        Pipelines compiled for the device; owned by `kept`.
    tuned : dict of str to int
        Values of the constants of ``vkssp.tunables.TUNABLES`` on the device, which change speed only.

    Raises
    ------
    DeviceError
        If there is no loader, no driver, or no such device, or the process was forked while a device was open.
    """

    def __init__(self, selector: int | str | None = None) -> None:
        require_addresses(_ADDRESSES + (os.cpu_count() or 1) * _THREAD_ADDRESSES, "a Vulkan device")
        self._instance = Instance()
        try:
            listed = [describe(index, physical) for index, physical in enumerate(self._instance.devices)]
            self.info = self.default(listed) if selector is None else choose(listed, selector)
            self.physical = self._instance.devices[self.info.index]
            self.family, _ = queue_family(self.physical)
            self.tuned = tuned_values(self.info)
            copying = transfer_family(self.physical)
            self.transfer_family = self.family if copying is None else copying
            self._handle = self._create()
        except BaseException:
            self._instance.close()
            raise
        super().__init__()
        self.kept = Resource(self)  # made before all objects that use the shared ones, and so closed after them
        self.pipelines = Pipelines(self)
        self.limits = self.info.limits
        self.queue = self._queue(self.family)
        self.transfer_queue = self._queue(self.transfer_family)
        # Reentrant: a garbage collection while the lock is held may finalize an object that must wait for a queue.
        self.lock = threading.RLock()
        self.polling = threading.Lock()
        self._memory = struct("VkPhysicalDeviceMemoryProperties2")
        lib.vkGetPhysicalDeviceMemoryProperties(self.physical, ffi.addressof(self._memory, "memoryProperties"))
        self.caches: dict[str, Any] = {}
        self.givers: list[Callable[[], None]] = []
        self._is_abandoned = False
        self._of_thread = threading.local()
        _log.debug("opened device %d, %s (%s)", self.info.index, self.info.name, self.info.driver)

    @property
    def handle(self) -> Any:
        """The VkDevice; raises `DeviceError` after it has been destroyed, since the driver would crash."""
        if self._handle is None or self.inherited:
            if self.inherited:
                raise DeviceError(f"this device was opened by the process that this one was forked from; {AFTER_FORK}")
            raise DeviceError("this device has been closed; open another")
        return self._handle

    @property
    def hardware_uuid(self) -> bytes:
        """Identifier of the device, 16 bytes, by which other interfaces to it, such as CUDA, know it, too."""
        version_1_1 = struct("VkPhysicalDeviceVulkan11Properties")
        lib.vkGetPhysicalDeviceProperties2(self.physical, struct("VkPhysicalDeviceProperties2", pNext=version_1_1))
        return bytes(version_1_1.deviceUUID)

    @property
    def upload_s(self) -> float:
        """Seconds that the current thread's copies to buffers of this device have taken so far."""
        return getattr(self._of_thread, "upload_s", 0.0)

    @upload_s.setter
    def upload_s(self, seconds: float) -> None:
        self._of_thread.upload_s = seconds

    @staticmethod
    def selected() -> str | None:
        """Return the value of the environment variable VKSSP_DEVICE, or None if it is not set."""
        return os.environ.get(DEVICE_VARIABLE)

    @classmethod
    def default(cls, listed: list[DeviceInfo]) -> DeviceInfo:
        """Return the device that VKSSP_DEVICE selects from a list or, if it is not set, a device of the fastest kind.

        Raises
        ------
        DeviceError
            If VKSSP_DEVICE selects no device of the list, or the list is empty.
        """
        try:
            return choose(listed, cls.selected())
        except DeviceError as error:
            if not listed or not cls.selected():
                raise
            raise DeviceError(f"{DEVICE_VARIABLE} is {shown(cls.selected())}: {error}") from None

    def _queue(self, family: int) -> Any:
        queue = ffi.new("VkQueue*")
        lib.vkGetDeviceQueue(self.handle, family, 0, queue)
        return queue[0]

    def _create(self) -> Any:
        names = extension_names(self.physical)
        self.has_memory_budget = "VK_EXT_memory_budget" in names
        # The specification demands that this extension be enabled if the device offers it (MoltenVK does).
        extensions = [b"VK_KHR_portability_subset"] if "VK_KHR_portability_subset" in names else []
        if self.has_memory_budget:
            extensions.append(b"VK_EXT_memory_budget")
        if "host_memory" in self.info.features:
            extensions.append(HOST_MEMORY.encode())
        if "memory_export" in self.info.features:
            extensions.append(MEMORY_EXPORT.encode())
        families = sorted({self.family, self.transfer_family})
        priorities = array("float", [1.0])
        queues = ffi.new("VkDeviceQueueCreateInfo[]", len(families))
        for queue, family in zip(queues, families, strict=True):
            queue.sType = constant("VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO")
            queue.queueFamilyIndex, queue.queueCount, queue.pQueuePriorities = family, 1, priorities
        # Only the features that kernels may need are enabled: an enabled feature can cost speed.
        has = self.info.features
        features_1_2 = struct(
            "VkPhysicalDeviceVulkan12Features",
            shaderBufferInt64Atomics="int64_atomics" in has,
            bufferDeviceAddress="buffer_addresses" in has,
        )
        features = struct("VkPhysicalDeviceFeatures2", pNext=features_1_2)
        features.features.shaderInt64 = "int64" in has
        info = struct(
            "VkDeviceCreateInfo",
            pNext=features,
            queueCreateInfoCount=len(families),
            pQueueCreateInfos=queues,
            enabledExtensionCount=len(extensions),
            ppEnabledExtensionNames=array("char*", extensions),
        )
        return create("vkCreateDevice", "VkDevice", self.physical, info, ffi.NULL)

    def memory_type(self, allowed: int, *preferences: int) -> int | None:
        """Return the first memory type in the bit set `allowed` with all flags of the first preference that is met."""
        properties = self._memory.memoryProperties
        for wanted in preferences:
            for index in range(properties.memoryTypeCount):
                if allowed >> index & 1 and properties.memoryTypes[index].propertyFlags & wanted == wanted:
                    return index
        return None

    def type_for_buffers(self, allowed: int, *, mapped: bool) -> int | None:
        """Return the memory type in the bit set `allowed` for buffers that the host sees, or for the device's own."""
        if not mapped:
            return self.memory_type(allowed, constant("VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT"), 0)
        visible = constant("VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT") | constant("VK_MEMORY_PROPERTY_HOST_COHERENT_BIT")
        # Reading uncached memory from the host is many times slower than writing it.
        return self.memory_type(allowed, visible | constant("VK_MEMORY_PROPERTY_HOST_CACHED_BIT"), visible)

    @property
    def maps_own_memory(self) -> bool:
        """Whether buffers that the host sees come from the same heap as others, as on integrated GPUs."""
        types = [self.type_for_buffers(0xFFFFFFFF, mapped=mapped) for mapped in (False, True)]
        heaps = {self._memory.memoryProperties.memoryTypes[kind].heapIndex for kind in types if kind is not None}
        return len(heaps) == 1

    def types_of_host_memory(self, pointer: Any) -> int:
        """Return the bit set of the memory types by which the device can use memory of the host."""
        name = b"vkGetMemoryHostPointerPropertiesEXT"
        function = lib.vkGetDeviceProcAddr(self.handle, name)
        if function == ffi.NULL:
            return 0
        get = ffi.cast("VkResult(*)(VkDevice, uint32_t, const void*, VkMemoryHostPointerPropertiesEXT*)", function)
        found = struct("VkMemoryHostPointerPropertiesEXT")
        return int(found.memoryTypeBits) if get(self.handle, HOST_ALLOCATION, pointer, found) == SUCCESS else 0

    def available(self, memory_type: int) -> int:
        """Return the number of bytes of a memory type that can still be allocated, as far as the driver reports."""
        heap = self._memory.memoryProperties.memoryTypes[memory_type].heapIndex
        if self.has_memory_budget:
            budget = struct("VkPhysicalDeviceMemoryBudgetPropertiesEXT")
            properties = struct("VkPhysicalDeviceMemoryProperties2", pNext=budget)
            lib.vkGetPhysicalDeviceMemoryProperties2(self.physical, properties)
            return max(0, int(budget.heapBudget[heap] - budget.heapUsage[heap]))
        return int(self._memory.memoryProperties.memoryHeaps[heap].size)

    def give_back(self) -> None:
        """Free what is kept in the memory of the device for later results."""
        for giver in list(self.givers):
            giver()

    def free_bytes(self) -> int:
        """Return the number of bytes of the device's own memory that can still be allocated, as the driver reports."""
        kind = self.type_for_buffers(0xFFFFFFFF, mapped=False)
        return 0 if kind is None else self.available(kind)

    def require(self, nbytes: int, what: str) -> None:
        """Raise `DeviceError` if `what` needs more bytes than are free; call this before allocation."""
        free = self.free_bytes()
        if nbytes > free:
            self.give_back()
            free = self.free_bytes()
        if nbytes > free:
            raise DeviceError(
                f"{what} needs {nbytes / 2**30:.2f} GiB and {self.info.name} has {free / 2**30:.2f} available; close "
                "other programs, or use another device, a smaller graph, or an algorithm that needs less"
            )

    def abandon(self, why: str) -> DeviceError:
        """Stop all use of the device and of the objects made from it, and return an error with the reason.

        The device may still work on buffers, which therefore cannot be freed, and a wait for the device may never end.
        """
        self._is_abandoned = True
        error = DeviceError(f"{self.info.name} {why}")
        error.is_lost = True
        return error

    @property
    def is_abandoned(self) -> bool:
        """Whether `abandon` was called; no thread waits for the device any more then."""
        return self._is_abandoned

    def wait_idle(self, queue: Any) -> None:
        """Wait until a queue has no work left."""
        with self.lock:
            call("vkQueueWaitIdle", queue)

    def settle(self) -> None:
        """Wait until the device has no work left, even if Ctrl-C interrupts the wait."""
        for queue in (self.queue, self.transfer_queue):
            waits = not self._is_abandoned and self._handle is not None
            while waits:
                try:
                    self.wait_idle(queue)
                    waits = False
                except Exception:
                    waits = False  # a lost device has no work
                except BaseException:
                    continue

    def _release(self) -> None:
        host_blocks.forget()
        self.give_back()
        self.givers.clear()
        handle = self.handle
        lib.vkDeviceWaitIdle(handle)
        self._handle = None  # first: an interrupt of the next call comes after it, and then nothing may use the handle
        try:
            lib.vkDestroyDevice(handle, ffi.NULL)
        finally:
            self._instance.close()

    def __repr__(self) -> str:
        """Return the device's name and driver."""
        return f"Device({self.info.name!r}, {self.info.driver!r})"
