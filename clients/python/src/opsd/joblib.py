"""Backend of joblib: `import opsd.joblib`, then `joblib.parallel_config(backend="opsd")`.

Each batch of calls is an operation. joblib enlarges the batches until the start of a process is cheap in comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from joblib import register_parallel_backend
from joblib._parallel_backends import FallbackToBackend, SequentialBackend
from joblib.parallel import AutoBatchingMixin, ParallelBackendBase

from .client import Client
from .executor import OpsExecutor
from .future import OpsFuture

# Arguments that joblib passes to every backend. They control shared memory and messages, which opsd does not have.
_NOT_OURS = {"max_nbytes", "temp_folder", "mmap_mode", "verbose", "context", "idle_worker_timeout"}


class OpsBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]
    """Runs the calls of `joblib.Parallel` as operations.

    `parallel_config` also accepts the arguments of OpsExecutor: `queue`, `priority`, `categories`, ... With
    `n_jobs=-1`, as many calls run as the daemon runs at once. Any other number is the limit of a new queue, unless
    `queue` names one.
    """

    supports_retrieve_callback = True
    supports_sharedmem = False
    uses_threads = False

    def __init__(self, nesting_level: int | None = None, inner_max_num_threads: int | None = None, **keys: Any) -> None:
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        self.nesting_level = nesting_level
        self._keys = keys
        self._executor: OpsExecutor | None = None
        self._max_workers: int | None = None

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Returns how many calls can run at once."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None:
            return 1
        if n_jobs > 0:
            return n_jobs
        with Client(self._keys.get("socket")) as client:
            return max(client.status().workers + 1 + n_jobs, 1)

    def configure(
        self, n_jobs: int = 1, parallel: Any = None, prefer: Any = None, require: Any = None, **keys: Any
    ) -> int:
        """Creates the executor for one use of Parallel."""
        n_jobs_here = self.effective_n_jobs(n_jobs)
        if n_jobs_here == 1 and n_jobs != -1:
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        self._keys.update({name: value for name, value in keys.items() if name not in _NOT_OURS})
        self._max_workers = n_jobs_here if n_jobs != -1 and "queue" not in self._keys else None
        self.parallel = parallel
        self._executor = OpsExecutor(self._max_workers, **self._keys)
        return n_jobs_here

    def submit(self, func: Callable[[], Any], callback: Callable[[Any], None] | None = None) -> OpsFuture[Any]:
        """Submits a batch of calls."""
        if self._executor is None:
            self._executor = OpsExecutor(self._max_workers, **self._keys)
        future = self._executor.submit(func)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, future: OpsFuture[Any]) -> Any:
        """Returns the result of a batch."""
        return future.result()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Cancels all batches, even running ones."""
        if self._executor is not None:
            self._executor._engine.cancel("waiting", "executing")
        self.terminate()

    def terminate(self) -> None:
        """Releases the executor. The next batch creates another one."""
        if self._executor is not None:
            self._executor.shutdown(wait=False)
            self._executor = None


register_parallel_backend("opsd", OpsBackend)
