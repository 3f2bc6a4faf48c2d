"""Kernels (shaders with their specialization constants), and their bindings to buffers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from vkssp.errors import DeviceError
from vkssp.gpu.ffi import array, call, constant, create, ffi, lib, struct
from vkssp.gpu.pipeline import Program
from vkssp.gpu.split_buffer import SplitBuffer
from vkssp.resource import Resource

if TYPE_CHECKING:
    from vkssp.gpu.buffer import Buffer
    from vkssp.gpu.device import Device

#: Id of the specialization constant that every shader has: the number of invocations of a workgroup.
WORKGROUP_SIZE = 0


class Kernel(Resource):
    """Shader ready to run; kernels of one device with equal shader code and constants share a pipeline.

    Parameters
    ----------
    device : Device
        Device that the kernel runs on.
    name : str
        Name of the shader, without suffix.
    bindings : int
        Number of storage buffers, at bindings 0 and up.
    push_constants : int
        Number of uint32 push constants.
    workgroup_size : int
        Number of invocations in a workgroup.
    constants : mapping of int to int, optional
        Other specialization constants by id, uint32 each.
    shared_bytes : int
        Bytes of shared memory that the shader takes with these constants. They are checked here, since a driver may
        lose the device instead of refusing a pipeline that takes too much.
    needs : collection of str
        Features that the shader uses, as `DeviceInfo.features` names them.
    owner : Resource, optional
        Resource that closes the kernel; by default the device.

    Raises
    ------
    DeviceError
        If the kernel exceeds the device's limits, or the device lacks a feature.
    """

    def __init__(
        self,
        device: Device,
        name: str,
        *,
        bindings: int,
        push_constants: int = 0,
        workgroup_size: int,
        constants: Mapping[int, int] | None = None,
        shared_bytes: int = 0,
        needs: Collection[str] = (),
        owner: Resource | None = None,
    ) -> None:
        self.device, self.name, self.bindings, self.push_bytes = device, name, bindings, 4 * push_constants
        self.workgroup_size = workgroup_size
        limits = device.limits
        for needed, limit, what, cure in (
            (workgroup_size, limits.workgroup_size, "invocations in a workgroup", "choose fewer"),
            (self.push_bytes, limits.push_constants, "bytes of push constants", "use another device"),
            (
                shared_bytes,
                limits.shared_memory,
                "bytes of shared memory",
                "choose smaller workgroups, blocks or chunks",
            ),
            (bindings, limits.storage_buffers, "storage buffers", "choose another algorithm"),
        ):
            if needed > limit:
                raise DeviceError(f"{name} needs {needed} {what}, {device.info.name} has {limit}; {cure}")
        lacking = sorted(set(needs) - device.info.features)
        if lacking:
            raise DeviceError(f"{name} needs {', '.join(lacking)}, which {device.info.name} lacks; use another device")
        self.program = Program.of(
            device, name, bindings, self.push_bytes, {WORKGROUP_SIZE: workgroup_size, **(constants or {})}
        )
        super().__init__(owner or device)
        try:
            made = device.pipelines.hold(self.program, self.serial)
        except BaseException:
            self.close()
            raise
        self.program = made.program  # equal to the old value, but shares its copy of the shader code
        self.set_layout, self.layout, self.pipeline = made.set_layout, made.layout, made.handle

    def on(self, *buffers: Buffer | SplitBuffer, owner: Resource | None = None) -> Bindings:
        """Return the kernel bound to its buffers, or to tables of addresses, in the order of their bindings.

        Parameters
        ----------
        *buffers : Buffer or SplitBuffer
            The buffers.
        owner : Resource, optional
            Resource that closes the bindings, such as the owner of the buffers; by default the kernel.
        """
        bound = [one.addresses if isinstance(one, SplitBuffer) else one for one in buffers]
        return Bindings(self, bound, owner or self)

    def _release(self) -> None:
        self.device.pipelines.let_go(self.program, self.serial)


class Bindings(Resource):
    """Kernel with the buffers that it uses: a descriptor set."""

    def __init__(self, kernel: Kernel, buffers: Sequence[Buffer], owner: Resource) -> None:
        if len(buffers) != kernel.bindings:
            raise ValueError(f"{kernel.name} works on {kernel.bindings} buffers, not {len(buffers)}")
        self.kernel = kernel
        device = kernel.device.handle
        storage = constant("VK_DESCRIPTOR_TYPE_STORAGE_BUFFER")
        size = struct("VkDescriptorPoolSize", type=storage, descriptorCount=max(1, len(buffers)))
        pool_info = struct("VkDescriptorPoolCreateInfo", maxSets=1, poolSizeCount=1, pPoolSizes=size)
        self._pool = create("vkCreateDescriptorPool", "VkDescriptorPool", device, pool_info, ffi.NULL)
        super().__init__(owner)
        allocate = struct(
            "VkDescriptorSetAllocateInfo",
            descriptorPool=self._pool,
            descriptorSetCount=1,
            pSetLayouts=array("VkDescriptorSetLayout", [kernel.set_layout]),
        )
        self.sets = ffi.new("VkDescriptorSet[1]")
        call("vkAllocateDescriptorSets", device, allocate, self.sets)
        writes = [
            struct(
                "VkWriteDescriptorSet",
                dstSet=self.sets[0],
                dstBinding=index,
                descriptorCount=1,
                descriptorType=storage,
                pBufferInfo=struct("VkDescriptorBufferInfo", buffer=buffer.handle, range=buffer.nbytes),
            )
            for index, buffer in enumerate(buffers)
        ]
        lib.vkUpdateDescriptorSets(device, len(writes), array("VkWriteDescriptorSet", writes), 0, ffi.NULL)

    def _release(self) -> None:
        lib.vkDestroyDescriptorPool(self.kernel.device.handle, self._pool, ffi.NULL)
