"""With what a result was made: versions, source revision, peak memory."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

import torch

from simpgcn.version import VERSION


def versions() -> dict[str, str]:
    """The versions that can change a result.

    >>> sorted(versions())
    ['numpy', 'python', 'simpgcn', 'torch', 'torch_geometric']
    """
    found = {name: metadata.version(name) for name in ("numpy", "torch", "torch_geometric")}
    return {"simpgcn": VERSION, "python": platform.python_version(), **found}


def machine(device: torch.device) -> dict[str, str | int]:
    """The hardware a result was made on: processor, cores, memory in GB, and the GPU if that is the ``device``.

    >>> sorted(machine(torch.device("cpu")))
    ['cores', 'memory_gb', 'processor']
    """
    processor = platform.processor() or platform.machine()
    described = Path("/proc/cpuinfo")
    if described.is_file():
        models = [line.partition(":")[2].strip() for line in described.read_text().splitlines() if "model name" in line]
        processor = models[0] if models else processor
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found: dict[str, str | int] = {
        "processor": processor,
        "cores": os.cpu_count() or 1,
        "memory_gb": round(memory / 1e9),
    }
    return {**found, "gpu": torch.cuda.get_device_name(device)} if device.type == "cuda" else found


@cache
def git_revision() -> str | None:
    """The commit of the source tree this package runs from, ``-dirty`` if changed; None outside of one."""
    source = Path(__file__).parent

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(source), *arguments], capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", Path(__file__).name)
        return git("rev-parse", "HEAD") + ("-dirty" if git("status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def peak_memory_mb(device: torch.device) -> float:
    """The most memory in use so far, in MB: the GPU's for CUDA, else the process's."""
    if device.type == "cuda":
        return round(torch.cuda.max_memory_allocated(device) / 1e6, 1)
    status = Path("/proc/self/status")
    if status.is_file():
        # ru_maxrss starts at what the process that started this one had; but not every system tells this figure
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) * 1024 / 1e6, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6, 1)
