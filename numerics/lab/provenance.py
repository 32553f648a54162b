"""What the numbers of a run depend on beside its code: packages, tools and the device."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from numerics.lab.study import Study, StudyError

NEEDED = ("torch", "scipy", "matplotlib", "xarray", "h5netcdf", "h5py")


def versions(study: Study, cfg: Mapping[str, object], device: str) -> dict[str, str]:
    """The versions of the packages, and of the study's other tools, that the numbers depend on."""
    found = {}
    for name in ("numpy", "scipy", "torch"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found | dict(study.plan.tools(cfg, device)) if study.plan.tools else found


def device_name(device: str) -> str:
    """The device in words: "cpu", or the name of the card."""
    if device.startswith("cuda"):
        import torch

        return torch.cuda.get_device_name(torch.device(device))
    return device


def check_packages() -> None:
    """Raises StudyError where a package that studies need is missing."""
    absent = [name for name in NEEDED if find_spec(name) is None]
    if absent:
        raise StudyError(
            f"running a study needs {', '.join(absent)}: install the extra `numerics` "
            f"(in a checkout of symdyn: pip install -e '.[numerics]')"
        )


def check_device(device: str) -> None:
    """Raises StudyError where torch cannot use the device."""
    import torch

    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise StudyError(
            f"the device {device!r} cannot be used here ({reason}); choose --device cpu"
        ) from None
