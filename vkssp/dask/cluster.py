"""Clusters of dask: one on this machine, with a worker for each GPU, or the caller's."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from importlib import import_module
from threading import Timer
from typing import Any

from vkssp.algorithms.choice import is_cpu
from vkssp.checks import shown, whole_number
from vkssp.cores import num_cores
from vkssp.errors import ClusterError, QueryError
from vkssp.extras import optional
from vkssp.gpu.device import DEVICE_VARIABLE
from vkssp.log import logger
from vkssp.solver.several import Devices, chosen

_log: logging.Logger = logger(__name__)
#: Resource of workers that tasks of this package need, where any worker has it; see `local_cluster`.
RESOURCE = "vkssp"
#: Tasks of a worker at a time: one computes rows, while others write theirs and wait for the disk.
THREADS = 4
_HOST = "127.0.0.1"
_WHAT = "computations on clusters need"
#: Seconds in which a scheduler must answer, and after which a warning says that it has not done so yet.
WAIT_S, _PATIENCE_S = 60, 5
# Seconds in which a question should reach all workers.
_SPREAD_S = 5
# Seconds in which a worker of this machine that has ended is back: on a busy one it loads libraries for long.
_BACK_S = 600


def distributed() -> Any:
    """Return the library ``distributed``."""
    return optional("distributed", _WHAT, "dask")


def worker_options(device: object, workers: int, host: str | None = None) -> dict[str, Any]:
    """Return the arguments of a nanny whose worker uses one device, and which is one of some workers of a machine."""
    # Dask would give a worker the share of the memory that its threads have of the cores.
    memory = import_module("distributed.system").MEMORY_LIMIT // workers
    return {
        "memory_limit": memory,
        "nthreads": THREADS,
        "resources": {RESOURCE: THREADS},
        "env": {DEVICE_VARIABLE: str(device)},
        **({} if host is None else {"host": host}),
    }


def devices_of_workers(devices: Devices | None = None) -> list[str]:
    """Return the devices of this machine that get a worker each, as the environment variable names them."""
    selected, _ = chosen(devices, "auto")
    if any(not isinstance(device, int | str) for device in selected):
        raise QueryError("devices are open in this process; name them by indices, so that workers open them")
    return [str(device) for device in selected]


def local_cluster(
    devices: Devices | None = None, workers: int | None = None, cores: int | None = None, **options: Any
) -> Any:
    """Start a cluster of processes on this machine, which listens on 127.0.0.1 only.

    Needs the extra ``dask``. Processes are spawned: a script needs ``if __name__ == "__main__":`` around its work.

    Parameters
    ----------
    devices : int, str, or sequence of them, optional
        Devices, as for `vkssp.SolverPool`; each gets a worker. By default all GPUs, or the CPU if there is none.
    workers : int, optional
        Number of workers that share the cores if the CPU is the only device; by default 1, which uses all of them.
    cores : int, optional
        Cores that each worker uses at most; by default its share.
    **options : object
        Arguments of dask's ``Nanny`` for all workers, such as ``memory_limit``.

    Returns
    -------
    distributed.SpecCluster
        The cluster, a context manager; its method ``close`` ends it.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    DeviceError
        If there is no such device.
    """
    dask = distributed()
    named = devices_of_workers(devices)
    if workers is not None:
        workers = whole_number(workers, "workers", 1, 1024)
        if not all(map(is_cpu, named)):
            raise QueryError("workers is for the CPU; each GPU has one worker, leave it out")
        named = named[:1] * workers
    if cores is not None:
        cores = whole_number(cores, "cores", 1, 2**16)
    every = {"host": _HOST, "silence_logs": logging.WARNING, **options}
    spec = {
        number: {"cls": dask.Nanny, "options": {**worker_options(device, len(named)), **every}}
        for number, device in enumerate(named)
    }
    scheduler = {"cls": dask.Scheduler, "options": {"host": _HOST, "port": 0, "dashboard_address": f"{_HOST}:0"}}
    quiet = {"silence_logs": logging.WARNING}
    # Dask would give up a worker that has ended and is not back in time, for ever; its nanny starts it anew.
    import_module("dask.config").set({"distributed.deploy.lost-worker-timeout": _BACK_S})
    cluster = dask.SpecCluster(workers=spec, scheduler=scheduler, name=f"vkssp-{os.getpid()}", **quiet)
    cpus = sum(map(is_cpu, named))
    with dask.Client(cluster, set_as_default=False) as client:
        _register(client, cores or (max(1, num_cores() // cpus) if cpus > 1 else None))
    return cluster


def run_workers(address: str, devices: Devices | None = None, host: str | None = None) -> list[str]:
    """Run a worker for each device of this machine, until the scheduler ends; return the devices.

    Parameters
    ----------
    address : str
        Address of the scheduler.
    devices : int, str, or sequence of them, optional
        Devices, as for `vkssp.SolverPool`; by default all GPUs, or the CPU if there is none.
    host : str, optional
        Address that the workers listen at.

    Raises
    ------
    ClusterError
        If no scheduler answers at the address.
    QueryError
        If dask is not installed.
    DeviceError
        If there is no such device.
    """
    dask, named = distributed(), devices_of_workers(devices)

    async def work() -> None:
        async with AsyncExitStack() as stack:
            for device in named:
                nanny = dask.Nanny(address, death_timeout=WAIT_S, **worker_options(device, len(named), host))
                await stack.enter_async_context(nanny)
                stack.callback(_log.info, "the worker on %s has ended", device)
                running.append(nanny)
            await asyncio.gather(*(nanny.finished() for nanny in running))

    running: list[Any] = []
    try:
        asyncio.run(work())
    except (OSError, ValueError, RuntimeError, TimeoutError) as error:
        raise ClusterError(f"no worker could be started for {shown(address)} ({error}); check the address") from error
    return named


@contextmanager
def connected(cluster: Any = None) -> Iterator[Any]:
    """Connect to a cluster, and close what was opened for it at the end of the block.

    Needs the extra ``dask``.

    Parameters
    ----------
    cluster : distributed.Client, cluster, str or None
        A client; a cluster of dask, such as `local_cluster`, ``dask_jobqueue.SLURMCluster`` or
        ``dask_kubernetes.operator.KubeCluster``; the address of a scheduler, such as ``"tcp://10.0.0.1:8786"``; or the
        client that is the current one, and else a `local_cluster`, which ends with the block.

    Yields
    ------
    distributed.Client
        The client.

    Raises
    ------
    ClusterError
        If nothing answers at the address.
    QueryError
        If dask is not installed, or `cluster` is something else.
    """
    dask = distributed()
    if cluster is None:
        try:
            cluster = dask.get_client()
        except ValueError:
            with local_cluster() as own, connected(own) as client:
                yield client
            return
    if isinstance(cluster, dask.Client):
        _register(cluster, None)
        yield cluster
        return
    if not isinstance(cluster, str) and not hasattr(cluster, "scheduler_address"):
        raise QueryError(
            f"cluster is {shown(cluster)}; give a Client, a cluster of dask, or the address of a scheduler"
        )
    if isinstance(cluster, str):  # a client that fails on it could not be closed
        check_address(cluster)
    waiting = Timer(_PATIENCE_S, _log.warning, ("no scheduler answers yet at %s; waiting", shown(cluster)))
    waiting.daemon = True
    waiting.start()
    try:
        client = dask.Client(cluster, set_as_default=False, timeout=WAIT_S)
    except (OSError, ValueError) as error:
        raise _no_scheduler(cluster, error) from None
    finally:
        waiting.cancel()
    with client:
        _register(client, None)
        yield client


def check_address(address: str) -> None:
    """Raise a `ClusterError` unless a text has the form of an address."""
    distributed()
    try:
        import_module("distributed.comm").get_address_host(address)
    except ValueError as error:
        raise _no_scheduler(address, error) from None


def _no_scheduler(address: Any, error: Exception) -> ClusterError:
    return ClusterError(f"no scheduler of dask answers at {shown(address)}; start one, or check it ({error})")


def _register(client: Any, cores: int | None) -> None:
    from vkssp.dask.worker_plugin import NAME, SolversPlugin

    try:
        client.register_plugin(SolversPlugin(cores), name=NAME)
    except OSError as error:
        raise ClusterError(f"the scheduler has ended ({error}); start a cluster, and ask again") from error
    except Exception as error:  # of a worker, whatever it lacks
        raise ClusterError(
            f"workers of the cluster cannot start vkssp ({shown(str(error))}); install the same version of vkssp[dask] "
            "everywhere"
        ) from error


def is_connected(client: Any) -> bool:
    """Return whether the scheduler of a client answers."""
    return client.status == "running" and _workers_of(client) is not None


def _workers_of(client: Any) -> list[Any] | None:
    """Return what the scheduler knows of its workers; None if it does not answer."""
    try:
        known = client.scheduler_info(n_workers=-1)
    except OSError:
        return None
    return list(known["workers"].values()) if "workers" in known else None


def resources_of(client: Any) -> dict[str, int] | None:
    """Return the resources that tasks need on a cluster: where some workers have devices, tasks go to these."""
    known = _workers_of(client) or []
    return {RESOURCE: 1} if any(RESOURCE in worker.get("resources", {}) for worker in known) else None


def spread(client: Any, future: Any, resources: dict[str, int] | None, most: int) -> None:
    """Copy the result of a task to `most` workers that have some resources, so that each of them is given tasks early.

    The scheduler gives tasks to workers that have what they need, and moves some to others only where many wait. What
    is not copied within some seconds is waited for no longer.
    """
    known = client.scheduler_info(n_workers=-1)["workers"]
    able = [address for address, worker in known.items() if (resources or {}).keys() <= worker["resources"].keys()]
    if len(able) > 1 and most > 1:
        # Tasks, which others do for a worker that ends; the scheduler's own copying may wait for it without end.
        given: dict[str, Any] = {"allow_other_workers": True, "priority": 1, "pure": False}
        copies = [client.submit(_taken, future, workers=[address], **given) for address in able[:most]]
        with client.as_current(), suppress(TimeoutError):
            import_module("distributed").wait(copies, timeout=_SPREAD_S)


def _taken(result: object) -> None:
    """Do nothing with a result that the worker has by then; a task."""


def threads_of(client: Any) -> int:
    """Return the number of tasks that a cluster can run at a time, at least 1; tell that there are no workers."""
    known = _workers_of(client) or []
    if not known:
        _log.warning("the cluster has no workers now; the work begins when there are some")
    return max(1, sum(int(worker["nthreads"]) for worker in known))
