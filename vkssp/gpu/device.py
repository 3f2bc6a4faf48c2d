"""Choosing and opening a Vulkan device: what there is, what it can do, and the queue that work is submitted to."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import Any

from vkssp.errors import DeviceError
from vkssp.gpu import ffi as vkffi
from vkssp.gpu.ffi import VulkanError, array, call, constant, create, enumerate_all, ffi, lib, struct, text
from vkssp.gpu.resource import Resource

#: Environment variable that chooses the device where the caller does not.
DEVICE_VARIABLE = "VKSSP_DEVICE"

_MINIMUM_API = (1, 2)
# VkPhysicalDeviceType, in the order in which a device is chosen.
_KINDS = {2: "discrete", 1: "integrated", 3: "virtual", 4: "cpu", 0: "other"}
_PREFERENCE = ("discrete", "integrated", "virtual", "cpu", "other")


@dataclass(frozen=True)
class Limits:
    """What a device allows; every size that this package chooses is checked against it.

    Attributes
    ----------
    storage_range : int
        Bytes that one storage buffer binding may span.
    workgroups : int
        Workgroups that one dispatch may have.
    workgroup_size : int
        Invocations that one workgroup may have.
    shared_memory : int
        Bytes of shared memory of one workgroup.
    push_constants : int
        Bytes of push constants.
    allocation : int
        Bytes of one memory allocation.
    subgroup_size : int
        Invocations in a subgroup.
    timestamp_period : float
        Nanoseconds of one timestamp tick; 0 where the queue has no timestamps.
    """

    storage_range: int
    workgroups: int
    workgroup_size: int
    shared_memory: int
    push_constants: int
    allocation: int
    subgroup_size: int
    timestamp_period: float


@dataclass(frozen=True)
class DeviceInfo:
    """A device as it is listed.

    Attributes
    ----------
    index : int
        Its place in the list, by which it can be chosen.
    name : str
        The driver's name of the device.
    kind : str
        discrete, integrated, virtual, cpu or other.
    driver : str
        Name and version of the driver.
    api_version : str
        Vulkan version that it offers.
    memory : int
        Bytes of its own memory; of the memory that it shares with the host where it has none.
    limits : Limits
        What it allows.
    uuid : str
        The driver's identifier of device and build, in hexadecimal; pipeline caches are kept under it.
    unusable : str
        Why vkssp cannot use it; empty where it can.
    """

    index: int
    name: str
    kind: str
    driver: str
    api_version: str
    memory: int
    limits: Limits
    uuid: str
    unusable: str


class _Instance(Resource):
    """A VkInstance and the physical devices that it sees."""

    def __init__(self) -> None:
        vkffi.require_loader()
        flags, extensions = 0, []
        offered = {text(p.extensionName) for p in enumerate_all(*_INSTANCE_EXTENSIONS, ffi.NULL)}
        if "VK_KHR_portability_enumeration" in offered:  # without it MoltenVK's devices are hidden
            extensions.append(b"VK_KHR_portability_enumeration")
            flags = 0x1  # VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR
        version = _MINIMUM_API[0] << 22 | _MINIMUM_API[1] << 12
        application = struct("VkApplicationInfo", pApplicationName=b"vkssp", apiVersion=version)
        info = struct(
            "VkInstanceCreateInfo",
            flags=flags,
            pApplicationInfo=application,
            enabledExtensionCount=len(extensions),
            ppEnabledExtensionNames=array("char*", extensions),
        )
        try:
            self.handle = create("vkCreateInstance", "VkInstance", info, ffi.NULL)
        except VulkanError as error:
            if error.code == -9:  # VK_ERROR_INCOMPATIBLE_DRIVER: the loader found no driver at all
                raise DeviceError(_NO_DRIVER) from None
            raise
        super().__init__()
        try:
            self.devices = enumerate_all("vkEnumeratePhysicalDevices", "VkPhysicalDevice", self.handle)
        except VulkanError:
            self.devices = []

    def _release(self) -> None:
        lib.vkDestroyInstance(self.handle, ffi.NULL)


_INSTANCE_EXTENSIONS = ("vkEnumerateInstanceExtensionProperties", "VkExtensionProperties")
_NO_DRIVER = (
    "no Vulkan driver found; install your GPU vendor's driver, or a software one "
    "(Debian and Ubuntu: apt install mesa-vulkan-drivers)"
)


def _queue_family(physical: Any) -> tuple[int, int]:
    """Return the index of the first queue family that computes, and its timestamps' valid bits; -1 if there is none."""
    count = ffi.new("uint32_t*")
    lib.vkGetPhysicalDeviceQueueFamilyProperties(physical, count, ffi.NULL)
    families = ffi.new("VkQueueFamilyProperties[]", max(1, count[0]))
    lib.vkGetPhysicalDeviceQueueFamilyProperties(physical, count, families)
    compute = constant("VK_QUEUE_COMPUTE_BIT")
    for index in range(count[0]):
        if families[index].queueFlags & compute:
            return index, int(families[index].timestampValidBits)
    return -1, 0


def _version(number: int) -> tuple[int, int, int]:
    return number >> 22 & 0x7F, number >> 12 & 0x3FF, number & 0xFFF


def _describe(index: int, physical: Any) -> DeviceInfo:
    properties = struct("VkPhysicalDeviceProperties2")
    lib.vkGetPhysicalDeviceProperties(physical, ffi.addressof(properties, "properties"))
    api = _version(properties.properties.apiVersion)
    family, timestamp_bits = _queue_family(physical)
    unusable = ""
    driver, subgroup, allocation, uuid = "", 1, 2**30, ""
    if api[:2] < _MINIMUM_API:
        unusable = f"offers Vulkan {api[0]}.{api[1]}, 1.2 is needed; update its driver"
    elif family < 0:
        unusable = "has no compute queue"
    else:
        version_1_2 = struct("VkPhysicalDeviceVulkan12Properties")
        version_1_1 = struct("VkPhysicalDeviceVulkan11Properties", pNext=version_1_2)
        properties = struct("VkPhysicalDeviceProperties2", pNext=version_1_1)
        lib.vkGetPhysicalDeviceProperties2(physical, properties)
        driver = f"{text(version_1_2.driverName)} {text(version_1_2.driverInfo)}".strip()
        subgroup, allocation = version_1_1.subgroupSize, version_1_1.maxMemoryAllocationSize
        uuid = bytes(properties.properties.pipelineCacheUUID).hex()
    core = properties.properties
    limits = core.limits
    return DeviceInfo(
        index=index,
        name=text(core.deviceName),
        kind=_KINDS.get(core.deviceType, "other"),
        driver=driver or f"driver {core.driverVersion:#x}",
        api_version=".".join(map(str, api)),
        memory=max((heap.size for heap in _heaps(physical) if heap.flags & 1), default=0),
        limits=Limits(
            storage_range=limits.maxStorageBufferRange,
            workgroups=limits.maxComputeWorkGroupCount[0],
            workgroup_size=min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]),
            shared_memory=limits.maxComputeSharedMemorySize,
            push_constants=limits.maxPushConstantsSize,
            allocation=allocation,
            subgroup_size=subgroup,
            timestamp_period=float(limits.timestampPeriod) if timestamp_bits else 0.0,
        ),
        uuid=uuid,
        unusable=unusable,
    )


def _heaps(physical: Any) -> list[Any]:
    memory = struct("VkPhysicalDeviceMemoryProperties2")
    lib.vkGetPhysicalDeviceMemoryProperties(physical, ffi.addressof(memory, "memoryProperties"))
    properties = memory.memoryProperties
    heaps = vkffi._Items(properties.memoryHeaps[i] for i in range(properties.memoryHeapCount))
    heaps.owner = memory
    return heaps


def list_devices() -> list[DeviceInfo]:
    """Return the Vulkan devices of this machine, in the loader's order.

    Raises
    ------
    DeviceError
        If there is no Vulkan loader or no driver.
    """
    with _Instance() as instance:
        return [_describe(index, physical) for index, physical in enumerate(instance.devices)]


def choose(devices: list[DeviceInfo], selector: int | str | None) -> DeviceInfo:
    """Return the device that a selector means: an index, or a part of a name in any case; by default the fastest kind.

    Raises
    ------
    DeviceError
        If none fits, with the list of those that there are.
    """
    ranked = sorted(devices, key=lambda d: (bool(d.unusable), _PREFERENCE.index(d.kind), d.index))
    listing = "; ".join(f"{d.index}: {d.name} ({d.kind})" for d in devices)
    if not ranked:
        raise DeviceError(_NO_DRIVER)
    if selector is None or selector == "":
        chosen = ranked[0]
    elif isinstance(selector, int) or selector.isdecimal():
        fitting = [d for d in devices if d.index == int(selector)]
        if not fitting:
            raise DeviceError(f"there is no device {selector}; there are {listing}")
        chosen = fitting[0]
    else:
        fitting = [d for d in ranked if selector.casefold() in d.name.casefold()]
        if not fitting:
            raise DeviceError(f"no device's name contains {selector!r}; there are {listing}")
        chosen = fitting[0]
    if chosen.unusable:
        raise DeviceError(f"{chosen.name} {chosen.unusable}; there are {listing}")
    return chosen


class Device(Resource):
    """An open device with one compute queue.

    Parameters
    ----------
    selector : int or str, optional
        Index or part of the name of a device; by default what the environment variable VKSSP_DEVICE says, or else the
        first discrete, integrated, virtual or CPU device, in this order.

    Attributes
    ----------
    info : DeviceInfo
        What was opened.
    lock : threading.Lock
        Held around what Vulkan lets only one thread do at a time, submitting to the queue above all.

    Raises
    ------
    DeviceError
        If there is no loader, no driver, or no such device.
    """

    def __init__(self, selector: int | str | None = None) -> None:
        if selector is None:
            selector = self.selected()
        self._instance = _Instance()
        try:
            listed = [_describe(index, physical) for index, physical in enumerate(self._instance.devices)]
            self.info = choose(listed, selector)
            self.physical = self._instance.devices[self.info.index]
            self.family, _ = _queue_family(self.physical)
            self.handle = self._create()
        except BaseException:
            self._instance.close()
            raise
        super().__init__()
        self.limits = self.info.limits
        queue = ffi.new("VkQueue*")
        lib.vkGetDeviceQueue(self.handle, self.family, 0, queue)
        self.queue = queue[0]
        self.lock = threading.Lock()
        self._memory = struct("VkPhysicalDeviceMemoryProperties2")
        lib.vkGetPhysicalDeviceMemoryProperties(self.physical, ffi.addressof(self._memory, "memoryProperties"))
        self.caches: dict[str, Any] = {}

    @staticmethod
    def selected() -> str | None:
        """Return what the environment variable VKSSP_DEVICE selects, None where it is not set."""
        return os.environ.get(DEVICE_VARIABLE)

    def _create(self) -> Any:
        kind = ("vkEnumerateDeviceExtensionProperties", "VkExtensionProperties")
        names = {text(p.extensionName) for p in enumerate_all(*kind, self.physical, ffi.NULL)}
        self.has_memory_budget = "VK_EXT_memory_budget" in names
        # The specification asks that this one be enabled wherever it is offered (MoltenVK).
        extensions = [b"VK_KHR_portability_subset"] if "VK_KHR_portability_subset" in names else []
        if self.has_memory_budget:
            extensions.append(b"VK_EXT_memory_budget")
        queue = struct(
            "VkDeviceQueueCreateInfo",
            queueFamilyIndex=self.family,
            queueCount=1,
            pQueuePriorities=array("float", [1.0]),
        )
        info = struct(
            "VkDeviceCreateInfo",
            queueCreateInfoCount=1,
            pQueueCreateInfos=queue,
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

    def wait_idle(self) -> None:
        """Wait until the queue has nothing left to do."""
        with self.lock:
            call("vkQueueWaitIdle", self.queue)

    def _release(self) -> None:
        lib.vkDeviceWaitIdle(self.handle)
        lib.vkDestroyDevice(self.handle, ffi.NULL)
        self._instance.close()

    def __repr__(self) -> str:
        """Return the device's name and driver."""
        return f"Device({self.info.name!r}, {self.info.driver!r})"
