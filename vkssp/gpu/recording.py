"""Command buffers with dispatches, barriers, copies and timestamps, recorded once and submitted many times.

Recording calls the raw functions of the loader, which take about a microsecond each. The wrappers of the `vulkan`
package are noticeably slower for a recording with thousands of dispatches.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from vkssp.errors import DeviceError
from vkssp.gpu.ffi import NOT_READY, SUCCESS, TIMEOUT, array, call, constant, create, ffi, lib, struct
from vkssp.resource import Resource

if TYPE_CHECKING:
    from vkssp.gpu.buffer import Buffer
    from vkssp.gpu.device import Device
    from vkssp.gpu.kernel import Bindings

#: Seconds after which the wait for a submission ends with an error: a software device may be slow, a hung one may never
#: answer.
PATIENCE = 600.0
_SLICE_NS = 200_000_000  # length of one wait; Python can handle Ctrl-C between two waits
_RESULT_64 = 0x1  # VK_QUERY_RESULT_64_BIT
# VK_QUEUE_FAMILY_EXTERNAL, VK_WHOLE_SIZE and VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT.
_FAMILY_EXTERNAL, _WHOLE_SIZE, _BOTTOM_STAGE = 0xFFFFFFFE, 2**64 - 1, 0x2000
_COMPUTE_STAGE, _TRANSFER_STAGE, _HOST_STAGE = 0x800, 0x1000, 0x4000
_SHADER_READ_WRITE, _TRANSFER_READ_WRITE, _HOST_READ_WRITE = 0x20 | 0x40, 0x800 | 0x1000, 0x2000 | 0x4000
_COMPUTE, _TRANSFER = (_COMPUTE_STAGE, _SHADER_READ_WRITE), (_TRANSFER_STAGE, _TRANSFER_READ_WRITE)
_HOST = (_HOST_STAGE, _HOST_READ_WRITE)
_WRITING = (_COMPUTE[0] | _TRANSFER[0], _COMPUTE[1] | _TRANSFER[1])
_SCOPES = {
    "compute": _COMPUTE,
    "transfer": _TRANSFER,
    "host": _HOST,
    "all": (_COMPUTE[0] | _TRANSFER[0] | _HOST[0], _COMPUTE[1] | _TRANSFER[1] | _HOST[1]),
}


class Timestamps(Resource):
    """Query pool whose slots the device writes the time to."""

    def __init__(self, device: Device, count: int, owner: Resource | None = None) -> None:
        self.device = device
        self.period = device.limits.timestamp_period
        info = struct("VkQueryPoolCreateInfo", queryType=constant("VK_QUERY_TYPE_TIMESTAMP"), queryCount=count)
        self.handle = create("vkCreateQueryPool", "VkQueryPool", device.handle, info, ffi.NULL)
        super().__init__(owner or device)

    def read(self, slot: int) -> float:
        """Return the time in a slot in milliseconds, after it was written; 0 if the queue has no timestamps."""
        return self.read_all(slot, 1)[0]

    def between(self, first: int = 0) -> float:
        """Return the milliseconds between a slot and the next one."""
        begin, end = self.read_all(first, 2)
        return end - begin

    def read_all(self, first: int, count: int) -> list[float]:
        """Return the times in `count` slots from `first` on, in milliseconds."""
        if not self.period:
            return [0.0] * count
        ticks = ffi.new("uint64_t[]", count)
        call("vkGetQueryPoolResults", self.device.handle, self.handle, first, count, 8 * count, ticks, 8, _RESULT_64)
        return [float(tick) * self.period * 1e-6 for tick in ticks]

    def _release(self) -> None:
        lib.vkDestroyQueryPool(self.device.handle, self.handle, ffi.NULL)


class Recording(Resource):
    """Command buffer, and the fence that signals that the device has executed it.

    The block ``with recording.record():`` records the commands anew. The recording may then be submitted any number of
    times; each submission waits for the last one.

    Parameters
    ----------
    device : Device
        Device that executes the commands.
    owner : Resource, optional
        Resource that closes the recording; by default the device.
    copies : bool
        Whether the recording only copies between shared buffers; it is then submitted to the transfer queue, which
        can work while the compute queue does.

    Attributes
    ----------
    pending : bool
        Whether a submission may not have ended yet.
    key : object
        What tells the recorded commands from others, as given to `record`; None if nothing does.
    """

    def __init__(self, device: Device, owner: Resource | None = None, *, copies: bool = False) -> None:
        self.device = device
        self._family = device.transfer_family if copies else device.family
        self._queue = device.transfer_queue if copies else device.queue
        self.pending = False
        self.key: object = None
        self._with: Recording | None = None  # the recording of the same submission, whose fence stands for both
        # Vulkan allows null handles to be destroyed, so `close` also works after a partial failure.
        self._pool = self._fence = ffi.NULL
        super().__init__(owner or device)
        try:
            self._create()
        except BaseException:
            self.close()
            raise

    def _create(self) -> None:
        device = self.device
        pool_info = struct(
            "VkCommandPoolCreateInfo",
            flags=constant("VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT"),
            queueFamilyIndex=self._family,
        )
        self._pool = create("vkCreateCommandPool", "VkCommandPool", device.handle, pool_info, ffi.NULL)
        self._fence = create("vkCreateFence", "VkFence", device.handle, struct("VkFenceCreateInfo"), ffi.NULL)
        allocate = struct("VkCommandBufferAllocateInfo", commandPool=self._pool, commandBufferCount=1)
        self.handle = create("vkAllocateCommandBuffers", "VkCommandBuffer", device.handle, allocate)
        buffers = array("VkCommandBuffer", [self.handle])
        self._submit_info = struct("VkSubmitInfo", commandBufferCount=1, pCommandBuffers=buffers)
        self._submit_infos: dict[Recording, Any] = {}
        self._fences = array("VkFence", [self._fence])
        self._barrier, self._begin_info = struct("VkMemoryBarrier"), struct("VkCommandBufferBeginInfo")

    @contextmanager
    def record(self, key: object = None) -> Iterator[Self]:
        """Record the commands of the block in place of the old ones; a key tells what they are, see `key`."""
        self._check_open()
        self.wait()
        self.key = None
        call("vkBeginCommandBuffer", self.handle, self._begin_info)
        try:
            yield self
        finally:
            call("vkEndCommandBuffer", self.handle)
        self.key = key

    def bind(self, bindings: Bindings) -> None:
        """Bind a kernel's pipeline and its buffers."""
        lib.vkCmdBindPipeline(self.handle, 1, bindings.kernel.pipeline)
        lib.vkCmdBindDescriptorSets(self.handle, 1, bindings.kernel.layout, 0, 1, bindings.sets, 0, ffi.NULL)

    def push(self, bindings: Bindings, *values: int) -> None:
        """Set all push constants of a kernel, uint32 each."""
        kernel = bindings.kernel
        if 4 * len(values) != kernel.push_bytes:
            raise ValueError(f"{kernel.name} takes {kernel.push_bytes // 4} push constants, not {len(values)}")
        data = ffi.new("uint32_t[]", values)
        lib.vkCmdPushConstants(self.handle, kernel.layout, 0x20, 0, kernel.push_bytes, data)

    def dispatch(self, workgroups: int, rows: int = 1) -> None:
        """Run the bound kernel on a number of workgroups, or on so many in each of some rows."""
        lib.vkCmdDispatch(self.handle, workgroups, rows, 1)

    def dispatch_for(self, bindings: Bindings, items: int, each: int = 1) -> None:
        """Run the bound kernel on enough workgroups for some items, one at least, within the limit of the device.

        Parameters
        ----------
        bindings : Bindings
            What is bound. The invocations of its kernel must loop, since the limit may leave fewer than are needed.
        items, each : int
            Number of items, and of items that an invocation is to take.
        """
        wanted = -(-items // (each * bindings.kernel.workgroup_size))
        self.dispatch(min(max(1, wanted), self.device.limits.workgroups))

    def barrier(self, before: str = "compute", after: str = "compute") -> None:
        """Make writes of the stage `before` visible to the stage `after`; each is compute, transfer, host or all."""
        (stages, access), (next_stages, next_access) = _SCOPES[before], _SCOPES[after]
        self._barrier.srcAccessMask, self._barrier.dstAccessMask = access, next_access
        lib.vkCmdPipelineBarrier(self.handle, stages, next_stages, 0, 1, self._barrier, 0, ffi.NULL, 0, ffi.NULL)

    def give_away(self, buffer: Buffer, *, takes_back: bool = False) -> None:
        """Make all writes to an exported buffer visible to other libraries, which own it then, or take it back."""
        here, there = self._family, _FAMILY_EXTERNAL
        barrier = struct(
            "VkBufferMemoryBarrier",
            srcAccessMask=0 if takes_back else _WRITING[1],
            dstAccessMask=_WRITING[1] if takes_back else 0,
            srcQueueFamilyIndex=there if takes_back else here,
            dstQueueFamilyIndex=here if takes_back else there,
            buffer=buffer.handle,
            size=_WHOLE_SIZE,
        )
        after = _WRITING[0] if takes_back else _BOTTOM_STAGE
        lib.vkCmdPipelineBarrier(self.handle, _WRITING[0], after, 0, 0, ffi.NULL, 1, barrier, 0, ffi.NULL)

    def copy(self, source: Buffer, target: Buffer, nbytes: int, source_offset: int = 0, target_offset: int = 0) -> None:
        """Copy bytes from one buffer to another."""
        region = struct("VkBufferCopy", srcOffset=source_offset, dstOffset=target_offset, size=nbytes)
        lib.vkCmdCopyBuffer(self.handle, source.handle, target.handle, 1, region)

    def fill(self, buffer: Buffer, value: int, nbytes: int | None = None) -> None:
        """Set each word of the first `nbytes` bytes of a buffer, by default of the whole buffer."""
        lib.vkCmdFillBuffer(self.handle, buffer.handle, 0, buffer.nbytes if nbytes is None else nbytes, value)

    def timestamp(self, timestamps: Timestamps, slot: int) -> None:
        """Write to a slot the time at which all commands recorded so far are complete."""
        if timestamps.period:
            lib.vkCmdResetQueryPool(self.handle, timestamps.handle, slot, 1)
            lib.vkCmdWriteTimestamp(self.handle, 0x2000, timestamps.handle, slot)

    def submit(self, first: Recording | None = None) -> None:
        """Submit the commands to the device's queue without waiting for their completion.

        Parameters
        ----------
        first : Recording, optional
            Recording to execute first, in the same submission. A submission costs the host more than its commands.
        """
        self._check_open()
        self.wait()
        self._with = None  # which a submission that failed may have left
        info, both = self._submit_info, [self]
        if first is not None:
            first._check_open()
            first.wait()
            both.append(first)
            if first not in self._submit_infos:
                handles = array("VkCommandBuffer", [first.handle, self.handle])
                self._submit_infos[first] = struct("VkSubmitInfo", commandBufferCount=2, pCommandBuffers=handles)
            info, first._with = self._submit_infos[first], self
        with self.device.lock:
            # Set before the call: objects that the device uses would be freed if a submitted recording was not pending.
            for recording in both:
                recording.pending = True
            try:
                call("vkQueueSubmit", self._queue, 1, info, self._fence)
            except Exception:
                for recording in both:
                    recording.pending = False
                raise

    def forget_others(self) -> None:
        """Forget the recordings that were submitted together with this one; call it when none of both is pending."""
        self._submit_infos.clear()

    def wait(self, expected_us: float = 0.0) -> None:
        """Wait until the device has executed the last submission.

        Parameters
        ----------
        expected_us : float
            Time that the submission is expected to take: the fence is polled so much longer.

        Raises
        ------
        DeviceError
            If the device is lost or does not answer.
        """
        if not self.pending:
            return
        if self._with is not None:
            self._with.wait(expected_us)
            self.pending, self._with = False, None
            return
        handle = self.device.handle
        if not self._is_polled(handle, expected_us):
            deadline = time.monotonic() + PATIENCE
            while call("vkWaitForFences", handle, 1, self._fences, 1, _SLICE_NS, allow=(TIMEOUT,)) == TIMEOUT:
                if self.device.is_abandoned or time.monotonic() > deadline:
                    raise self.device.abandon(f"has not answered for {PATIENCE:.0f} s; it may hang")
        call("vkResetFences", handle, 1, self._fences)
        self.pending = False

    def _is_polled(self, handle: Any, expected_us: float) -> bool:
        """Poll the fence for the expected time and a moment, and return whether the submission has been executed."""
        device, code = self.device, NOT_READY
        polling_us = device.tuned["wait.polling_us"]
        if not polling_us or not device.polling.acquire(blocking=False):
            return False
        try:
            end = time.perf_counter_ns() + int(1000 * (polling_us + expected_us))
            while code == NOT_READY and time.perf_counter_ns() < end:
                code = lib.vkGetFenceStatus(handle, self._fence)
        finally:
            device.polling.release()
        return bool(code == SUCCESS)

    def _check_open(self) -> None:
        if self.closed:
            raise DeviceError("this recording has been closed; make another")

    def _release(self) -> None:
        handle = self.device.handle
        if self.pending:
            # After an error or Ctrl-C the submission may still run or start. Only the queue says reliably when it ends.
            with contextlib.suppress(DeviceError):
                self.device.wait_idle(self._queue)
            self.pending = False  # ends the waits of other recordings for this one
        lib.vkDestroyFence(handle, self._fence, ffi.NULL)
        lib.vkDestroyCommandPool(handle, self._pool, ffi.NULL)
