"""Vulkan instance and the physical devices of this machine: their list, their properties, and the choice of one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from vkssp.checks import index_of, shown
from vkssp.errors import DeviceError
from vkssp.gpu import ffi as vkffi
from vkssp.gpu.ffi import VulkanError, array, constant, create, enumerate_all, ffi, lib, struct, text
from vkssp.gpu.libraries import keep_loaded
from vkssp.gpu.mask import MASK_VARIABLE, masked
from vkssp.memory import require_addresses
from vkssp.resource import AFTER_FORK, Resource

#: Extension by which buffers lie in memory of the host, and VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT.
HOST_MEMORY, HOST_ALLOCATION = "VK_EXT_external_memory_host", 0x80
#: Extension by which other libraries get memory of the device, and VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT.
MEMORY_EXPORT, OPAQUE_FD = "VK_KHR_external_memory_fd", 0x1
#: Usage of exported buffers: commands copy from and to them, and kernels bind them.
EXPORT_USAGE = 0x1 | 0x2 | 0x20
_EXPORTABLE = 0x2  # VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT
_MINIMUM_API = (1, 2)
# VkPhysicalDeviceType, in the order of preference.
_KINDS = {2: "discrete", 1: "integrated", 3: "virtual", 4: "cpu", 0: "other"}
# VkSubgroupFeatureFlagBits, in the order of their bits.
_SUBGROUP_OPERATIONS = ("basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle_relative", "clustered", "quad")
#: Features that devices may have, as `DeviceInfo.features` names them.
FEATURES = (
    *("int64", "int64_atomics", "buffer_addresses", "host_memory", "memory_export"),
    *(f"subgroup_{name}" for name in _SUBGROUP_OPERATIONS),
)
_PREFERENCE = ("discrete", "integrated", "virtual", "cpu", "other")


# Address space that a driver takes when it is loaded: Mesa's with LLVM, measured plus 10 %. Some drivers crash without.
_ADDRESSES = 220 << 20


@dataclass(frozen=True)
class Limits:
    """Limits of a device; the sizes that this package chooses are checked against them.

    Attributes
    ----------
    storage_range : int
        Maximum number of bytes that one storage buffer binding may span.
    workgroups : int
        Maximum number of workgroups of one dispatch.
    workgroup_size : int
        Maximum number of invocations of one workgroup.
    storage_buffers : int
        Maximum number of storage buffers of a kernel.
    shared_memory : int
        Maximum number of bytes of shared memory of one workgroup.
    push_constants : int
        Maximum number of bytes of push constants.
    allocation : int
        Maximum number of bytes of one memory allocation.
    subgroup_size : int
        Number of invocations in a subgroup.
    timestamp_period : float
        Nanoseconds in one timestamp tick; 0 if the queue has no timestamps.
    """

    storage_range: int
    workgroups: int
    workgroup_size: int
    storage_buffers: int
    shared_memory: int
    push_constants: int
    allocation: int
    subgroup_size: int
    timestamp_period: float

    @property
    def buffer(self) -> int:
        """Maximum number of bytes of a buffer that a kernel can use."""
        return min(self.storage_range, self.allocation)


@dataclass(frozen=True)
class DeviceInfo:
    """Description of a device in the list of devices.

    Attributes
    ----------
    index : int
        Position in the list, which selects the device.
    name : str
        Name of the device, given by the driver.
    kind : str
        discrete, integrated, virtual, cpu or other.
    driver : str
        Name and version of the driver.
    api_version : str
        Vulkan version of the device.
    memory : int
        Bytes of the largest heap of device-local memory, which may be shared with the host; 0 if there is none.
    limits : Limits
        Limits of the device.
    features : frozenset of str
        Features beyond Vulkan 1.2's minimum that kernels may need: ``subgroup_basic``, ``subgroup_ballot`` and the
        like in compute shaders, ``int64`` and ``int64_atomics`` on storage buffers, ``buffer_addresses`` for arrays
        that one binding cannot span, ``host_memory`` for buffers that lie in memory of the host, ``memory_export``
        for buffers that other libraries read in place.
    uuid : str
        The driver's identifier of device and driver build, in hexadecimal; it names the file of the pipeline cache.
    unusable : str
        Reason why vkssp cannot use the device; empty if it can.
    """

    index: int
    name: str
    kind: str
    driver: str
    api_version: str
    memory: int
    limits: Limits
    features: frozenset[str]
    uuid: str
    unusable: str

    @property
    def kind_name(self) -> str:
        """The kind as a word: what Vulkan calls a CPU is software, and not `CpuDevice`."""
        return "software" if self.kind == "cpu" else self.kind

    @property
    def identity(self) -> dict[str, str]:
        """What measured times and constants depend on: the device and its driver, and what a mask takes away."""
        mask = os.environ.get(MASK_VARIABLE)
        return {"device": self.name, "uuid": self.uuid, "driver": self.driver, **({"mask": mask} if mask else {})}


# Identifiers of the processes that made the open instances, by the number of the instance.
_makers: dict[int, int] = {}


def require_no_fork() -> None:
    """Raise `DeviceError` if the process was forked while an ancestor process had an instance open.

    A driver keeps threads and locks for the whole process. A fork does not copy the threads, and it copies the locks
    in their current state. Therefore the child process may crash if it opens a device.
    """
    if set(_makers.values()) - {os.getpid()}:
        raise DeviceError(
            f"this process was forked while a Vulkan device was open, which drivers do not survive; {AFTER_FORK}"
        )


class Instance(Resource):
    """VkInstance and its physical devices."""

    def __init__(self) -> None:
        vkffi.require_loader()
        require_no_fork()
        require_addresses(_ADDRESSES, "a Vulkan driver")
        flags, extensions = 0, []
        kind = ("vkEnumerateInstanceExtensionProperties", "VkExtensionProperties")
        offered = {text(p.extensionName) for p in enumerate_all(*kind, ffi.NULL)}
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
                raise _no_driver() from None
            raise
        super().__init__()
        _makers[self._made] = self._process
        try:
            self.devices = enumerate_all("vkEnumeratePhysicalDevices", "VkPhysicalDevice", self.handle)
        except VulkanError:
            self.devices = []
        keep_loaded()

    def _release(self) -> None:
        lib.vkDestroyInstance(self.handle, ffi.NULL)
        del _makers[self._made]


# Environment variables of the loader: the first list driver files, the second select drivers by name.
_DRIVER_FILES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
_DRIVER_NAMES = ("VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE")


def _no_driver() -> DeviceError:
    """Return the error for a loader that finds no driver: none is installed, or environment variables hide it."""
    told = {name: value for name in (*_DRIVER_FILES, *_DRIVER_NAMES) if (value := os.environ.get(name))}
    if not told:
        return DeviceError(
            "no Vulkan driver found; install your GPU vendor's driver, or a software one "
            "(Debian and Ubuntu: apt install mesa-vulkan-drivers), or use the CPU: leave device and algorithm out"
        )
    listed = []
    for name, value in told.items():
        paths = value.split(os.pathsep) if name in _DRIVER_FILES else []
        missing = next((f", and {path} does not exist" for path in paths if path and not os.path.exists(path)), "")
        listed.append(f"{name} is {value}{missing}")
    them, files = "it" if len(told) == 1 else "them", [name for name in told if name in _DRIVER_FILES]
    cure = f", or put the .json file of an installed driver in {files[0]}" if files else ""
    return DeviceError(f"no Vulkan driver found: {'; '.join(listed)}; unset {them} to look for all drivers{cure}")


def _families(physical: Any) -> list[tuple[int, int]]:
    """Return the capability flags of each queue family of a device, and the valid bits of its timestamps."""
    count = ffi.new("uint32_t*")
    lib.vkGetPhysicalDeviceQueueFamilyProperties(physical, count, ffi.NULL)
    families = ffi.new("VkQueueFamilyProperties[]", max(1, count[0]))
    lib.vkGetPhysicalDeviceQueueFamilyProperties(physical, count, families)
    return [(int(families[i].queueFlags), int(families[i].timestampValidBits)) for i in range(count[0])]


def queue_family(physical: Any) -> tuple[int, int]:
    """Return the index of the first queue family with compute, and its valid timestamp bits; -1 and 0 if none has."""
    compute = constant("VK_QUEUE_COMPUTE_BIT")
    for index, (flags, timestamp_bits) in enumerate(_families(physical)):
        if flags & compute:
            return index, timestamp_bits
    return -1, 0


def transfer_family(physical: Any) -> int | None:
    """Return the index of the first queue family that can only copy, or None if there is none."""
    transfer = constant("VK_QUEUE_TRANSFER_BIT")
    more = constant("VK_QUEUE_COMPUTE_BIT") | constant("VK_QUEUE_GRAPHICS_BIT")
    for index, (flags, _) in enumerate(_families(physical)):
        if flags & transfer and not flags & more:
            return index
    return None


def _version(number: int) -> tuple[int, int, int]:
    return number >> 22 & 0x7F, number >> 12 & 0x3FF, number & 0xFFF


def describe(index: int, physical: Any) -> DeviceInfo:
    """Return the description of a physical device."""
    properties = struct("VkPhysicalDeviceProperties2")
    lib.vkGetPhysicalDeviceProperties(physical, ffi.addressof(properties, "properties"))
    api = _version(properties.properties.apiVersion)
    family, timestamp_bits = queue_family(physical)
    unusable = ""
    driver, subgroup, allocation, uuid = "", 1, 2**30, ""
    features: set[str] = set()
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
        if version_1_1.subgroupSupportedStages & constant("VK_SHADER_STAGE_COMPUTE_BIT"):
            bits = version_1_1.subgroupSupportedOperations
            features.update(f"subgroup_{name}" for i, name in enumerate(_SUBGROUP_OPERATIONS) if bits >> i & 1)
        optional, optional_1_2 = offered_features(physical)
        if optional.features.shaderInt64:
            features.add("int64")
        if optional_1_2.shaderBufferInt64Atomics:
            features.add("int64_atomics")
        if optional_1_2.bufferDeviceAddress:
            features.add("buffer_addresses")
        extensions = extension_names(physical)
        if HOST_MEMORY in extensions:
            features.add("host_memory")
        if MEMORY_EXPORT in extensions and _can_export(physical):
            features.add("memory_export")
    core = properties.properties
    limits = core.limits
    lowered, left = masked(
        {
            "storage_range": limits.maxStorageBufferRange,
            "workgroups": limits.maxComputeWorkGroupCount[0],
            "workgroup_size": min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]),
            "storage_buffers": limits.maxPerStageDescriptorStorageBuffers,
            "shared_memory": limits.maxComputeSharedMemorySize,
            "push_constants": limits.maxPushConstantsSize,
            "allocation": allocation,
            "subgroup_size": subgroup,
            "timestamp_period": float(limits.timestampPeriod) if timestamp_bits else 0.0,
        },
        features,
        FEATURES,
    )
    return DeviceInfo(
        index=index,
        name=text(core.deviceName),
        kind=_KINDS.get(core.deviceType, "other"),
        driver=driver or f"driver {core.driverVersion:#x}",
        api_version=".".join(map(str, api)),
        memory=_local_memory(physical),
        limits=Limits(**lowered),
        features=left,
        uuid=uuid,
        unusable=unusable,
    )


def _can_export(physical: Any) -> bool:
    """Return whether a device can hand over memory of buffers as file descriptors."""
    info = struct("VkPhysicalDeviceExternalBufferInfo", usage=EXPORT_USAGE, handleType=OPAQUE_FD)
    found = struct("VkExternalBufferProperties")
    lib.vkGetPhysicalDeviceExternalBufferProperties(physical, info, found)
    return bool(found.externalMemoryProperties.externalMemoryFeatures & _EXPORTABLE)


def extension_names(physical: Any) -> set[str]:
    """Return the names of the extensions of a device."""
    kind = ("vkEnumerateDeviceExtensionProperties", "VkExtensionProperties")
    return {text(one.extensionName) for one in enumerate_all(*kind, physical, ffi.NULL)}


def offered_features(physical: Any) -> tuple[Any, Any]:
    """Return the structs of the Vulkan 1.0 and 1.2 features of a device; the first struct points to the second."""
    version_1_2 = struct("VkPhysicalDeviceVulkan12Features")
    version_1_0 = struct("VkPhysicalDeviceFeatures2", pNext=version_1_2)
    lib.vkGetPhysicalDeviceFeatures2(physical, version_1_0)
    return version_1_0, version_1_2


def _local_memory(physical: Any) -> int:
    memory = struct("VkPhysicalDeviceMemoryProperties2")
    properties = memory.memoryProperties
    lib.vkGetPhysicalDeviceMemoryProperties(physical, ffi.addressof(memory, "memoryProperties"))
    local = constant("VK_MEMORY_HEAP_DEVICE_LOCAL_BIT")
    heaps = [properties.memoryHeaps[i] for i in range(properties.memoryHeapCount)]
    return max((int(heap.size) for heap in heaps if heap.flags & local), default=0)


def list_devices() -> list[DeviceInfo]:
    """Return the descriptions of the Vulkan devices of this machine, in the order of the loader.

    Raises
    ------
    DeviceError
        If there is no Vulkan loader or no driver, or the process was forked while a device was open.
    """
    with Instance() as instance:
        return [describe(index, physical) for index, physical in enumerate(instance.devices)]


# Environment variables that change the list of devices, and the usable hardware that was found with their values.
_found: dict[tuple[str | None, ...], tuple[DeviceInfo, ...]] = {}


def hardware_devices() -> tuple[DeviceInfo, ...]:
    """Return the usable devices that are no software; none if there is no loader or driver. Looked up only once."""
    key = tuple(os.environ.get(name) for name in (*_DRIVER_FILES, *_DRIVER_NAMES))
    if key not in _found:
        try:
            listed = list_devices()
        except DeviceError:
            listed = []
        _found[key] = tuple(info for info in listed if info.kind != "cpu" and not info.unusable)
    return _found[key]


def _by_index(devices: list[DeviceInfo], selector: int | str) -> list[DeviceInfo]:
    if isinstance(selector, str):
        index: int | None = int(selector) if selector.isdecimal() and len(selector) < 10 else -1
    else:
        index = index_of(selector)
    if index is None:
        raise DeviceError(f"device is {shown(selector)}; give an index or a part of a name")
    return [d for d in devices if d.index == index]


def choose(devices: list[DeviceInfo], selector: int | str | None) -> DeviceInfo:
    """Return the device that a selector means: an index, or part of a name in any case; by default the fastest kind.

    Raises
    ------
    DeviceError
        If no device fits, or the device is unusable; the message lists the devices.
    """
    ranked = sorted(devices, key=lambda d: (bool(d.unusable), _PREFERENCE.index(d.kind), d.index))
    vulkan = "; ".join(f"{d.index}: {d.name} ({d.kind_name})" for d in devices)
    listing = f"{vulkan}, or 'cpu' for compiled code on the CPU"
    if not ranked:
        raise _no_driver()
    if isinstance(selector, str) and selector and not any(map(str.isalnum, selector)):
        raise DeviceError(f"device is {shown(selector)}; choose one of {listing}")
    if selector is None or (isinstance(selector, str) and not selector):
        chosen = ranked[0]
    else:
        fitting = _by_index(devices, selector)
        # A number may also be part of a model's name, such as 4090; a small one is found in many.
        if not fitting and isinstance(selector, str) and not (selector.isdecimal() and len(selector) < 3):
            fitting = [d for d in ranked if selector.casefold() in d.name.casefold()]
        if not fitting and isinstance(selector, str) and selector.casefold() == "cpu":
            raise DeviceError(f"the CPU is no Vulkan device, and one is needed here; choose one of {vulkan}")
        if not fitting and isinstance(selector, str) and not selector.isdecimal():
            raise DeviceError(f"no device's name contains {shown(selector)}; choose one of {listing}")
        if not fitting:
            number = selector[:20] if isinstance(selector, str) else shown(selector)
            raise DeviceError(f"there is no device {number}; choose one of {listing}")
        chosen = fitting[0]
    if chosen.unusable:
        raise DeviceError(f"{chosen.name} {chosen.unusable}; choose one of {listing}")
    return chosen
