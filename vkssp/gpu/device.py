"""An open device: its queue, its memory, and the lock around what only one thread may do at a time."""

from __future__ import annotations

import os
import threading
from typing import Any

from vkssp.checks import shown
from vkssp.errors import DeviceError
from vkssp.gpu.ffi import array, call, constant, create, enumerate_all, ffi, lib, struct, text
from vkssp.gpu.instance import DeviceInfo, Instance, choose, describe, queue_family, transfer_family
from vkssp.gpu.pipeline import Pipelines
from vkssp.memory import require_addresses
from vkssp.resource import AFTER_FORK, Resource

#: Environment variable that chooses the device where the caller does not.
DEVICE_VARIABLE = "VKSSP_DEVICE"
# Address space that a device takes with its kernels, and for each core where it is a CPU, a tenth more than it is.
_ADDRESSES, _THREAD_ADDRESSES = 320 << 20, 10 << 20


class Device(Resource):
    """An open device with a queue to compute on, and one that copies beside it, where the device has such.

    Parameters
    ----------
    selector : int or str, optional
        Index or part of the name of a device; by default what the environment variable VKSSP_DEVICE says, or else the
        first discrete, integrated, virtual or CPU device, in this order.

    Attributes
    ----------
    info : DeviceInfo
        What was opened.
    lock : threading.RLock
        Held around what Vulkan lets only one thread do at a time, submitting to the queue above all.
    kept : Resource
        Owns what all on the device share.
    pipelines : Pipelines
        What has been compiled for the device, one of these things.

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
            copying = transfer_family(self.physical)
            self.transfer_family = self.family if copying is None else copying
            self._handle = self._create()
        except BaseException:
            self._instance.close()
            raise
        super().__init__()
        self.kept = Resource(self)  # older than all that works with what is kept there, and so closed after it
        self.pipelines = Pipelines(self)
        self.limits = self.info.limits
        self.queue = self._queue(self.family)
        self.transfer_queue = self._queue(self.transfer_family)
        # Taken again where memory is collected while it is held: what was forgotten may have to be waited for.
        self.lock = threading.RLock()
        self._memory = struct("VkPhysicalDeviceMemoryProperties2")
        lib.vkGetPhysicalDeviceMemoryProperties(self.physical, ffi.addressof(self._memory, "memoryProperties"))
        self.caches: dict[str, Any] = {}
        self._is_abandoned = False
        self._of_thread = threading.local()

    @property
    def handle(self) -> Any:
        """The VkDevice; an error once it has been destroyed, where the driver would crash."""
        if self._handle is None or self.inherited:
            if self.inherited:
                raise DeviceError(f"this device was opened by the process that this one was forked from; {AFTER_FORK}")
            raise DeviceError("this device has been closed; open another")
        return self._handle

    @property
    def upload_s(self) -> float:
        """Seconds that this thread's copies to its buffers have taken so far."""
        return getattr(self._of_thread, "upload_s", 0.0)

    @upload_s.setter
    def upload_s(self, seconds: float) -> None:
        self._of_thread.upload_s = seconds

    @staticmethod
    def selected() -> str | None:
        """Return what the environment variable VKSSP_DEVICE selects, None where it is not set."""
        return os.environ.get(DEVICE_VARIABLE)

    @classmethod
    def default(cls, listed: list[DeviceInfo]) -> DeviceInfo:
        """Return that of some devices which VKSSP_DEVICE selects, the fastest kind where it is not set.

        Raises
        ------
        DeviceError
            If it selects none of them, or there are none.
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
        kind = ("vkEnumerateDeviceExtensionProperties", "VkExtensionProperties")
        names = {text(p.extensionName) for p in enumerate_all(*kind, self.physical, ffi.NULL)}
        self.has_memory_budget = "VK_EXT_memory_budget" in names
        # The specification asks that this one be enabled wherever it is offered (MoltenVK).
        extensions = [b"VK_KHR_portability_subset"] if "VK_KHR_portability_subset" in names else []
        if self.has_memory_budget:
            extensions.append(b"VK_EXT_memory_budget")
        families = sorted({self.family, self.transfer_family})
        priorities = array("float", [1.0])
        queues = ffi.new("VkDeviceQueueCreateInfo[]", len(families))
        for queue, family in zip(queues, families, strict=True):
            queue.sType = constant("VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO")
            queue.queueFamilyIndex, queue.queueCount, queue.pQueuePriorities = family, 1, priorities
        # Only what kernels may ask for: an enabled feature can cost speed.
        has = self.info.features
        features_1_2 = struct("VkPhysicalDeviceVulkan12Features", shaderBufferInt64Atomics="int64_atomics" in has)
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
        """Return the first memory type among the bits `allowed` that has all flags of the earliest preference met."""
        properties = self._memory.memoryProperties
        for wanted in preferences:
            for index in range(properties.memoryTypeCount):
                if allowed >> index & 1 and properties.memoryTypes[index].propertyFlags & wanted == wanted:
                    return index
        return None

    def available(self, memory_type: int) -> int:
        """Return the bytes that can still be allocated of a memory type, as far as the driver says."""
        heap = self._memory.memoryProperties.memoryTypes[memory_type].heapIndex
        if self.has_memory_budget:
            budget = struct("VkPhysicalDeviceMemoryBudgetPropertiesEXT")
            properties = struct("VkPhysicalDeviceMemoryProperties2", pNext=budget)
            lib.vkGetPhysicalDeviceMemoryProperties2(self.physical, properties)
            return max(0, int(budget.heapBudget[heap] - budget.heapUsage[heap]))
        return int(self._memory.memoryProperties.memoryHeaps[heap].size)

    def free_bytes(self) -> int:
        """Return the bytes that can still be allocated of the device's own memory, as far as the driver says."""
        kind = self.memory_type(0xFFFFFFFF, constant("VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT"), 0)
        return 0 if kind is None else self.available(kind)

    def require(self, nbytes: int, what: str) -> None:
        """Raise `DeviceError` if something needs more bytes than there are, before any of them is allocated."""
        free = self.free_bytes()
        if nbytes > free:
            raise DeviceError(
                f"{what} needs {nbytes / 2**30:.2f} GiB and {self.info.name} has {free / 2**30:.2f} available; close "
                "other programs, or use another device, a smaller graph, or an algorithm that needs less"
            )

    def abandon(self, why: str) -> DeviceError:
        """Leave the device and all that was made from it alone, and return an error that says why.

        It may still be at work on buffers, which therefore cannot be given back, and waiting for it may take for ever.
        """
        self._is_abandoned = True
        error = DeviceError(f"{self.info.name} {why}")
        error.is_lost = True
        return error

    @property
    def is_abandoned(self) -> bool:
        """Whether nobody waits for the device any more."""
        return self._is_abandoned

    def wait_idle(self, queue: Any) -> None:
        """Wait until a queue has nothing left to do."""
        with self.lock:
            call("vkQueueWaitIdle", queue)

    def settle(self) -> None:
        """Wait until the device has nothing left to do, also if Ctrl-C comes meanwhile."""
        for queue in (self.queue, self.transfer_queue):
            waits = not self._is_abandoned and self._handle is not None
            while waits:
                try:
                    self.wait_idle(queue)
                    waits = False
                except Exception:
                    waits = False  # a device that is lost does nothing any more
                except BaseException:
                    continue

    def _release(self) -> None:
        lib.vkDeviceWaitIdle(self.handle)
        lib.vkDestroyDevice(self.handle, ffi.NULL)
        self._handle = None
        self._instance.close()

    def __repr__(self) -> str:
        """Return the device's name and driver."""
        return f"Device({self.info.name!r}, {self.info.driver!r})"
