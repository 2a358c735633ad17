"""Options of one `optimize` call: checked here, handed to the core as JSON (csrc/base/options.h)."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from typing import Any

from . import library
from .errors import UserError

PRECISIONS = ("highest", "high", "medium")


@dataclasses.dataclass(frozen=True)
class Options:
    """What a user may choose.

    precision       "highest": as accurate as eager under the user's own flags; "high": as eager with TF32 allowed
                    everywhere; "medium": as eager in bfloat16
    assume_finite   allow rewrites that are wrong only where a value is NaN or infinite
    freeze          the weights never change, so what is derived from them may be kept between calls (nothing is yet)
    verify, measure prove every kernel, and time it against eager, before it is installed
    search          how many candidates of our own templates to time for each kernel, in this process, beyond the
                    analytic model's choice; a winner is proved before it is installed, and kept in the cache
    cache_dir       the writable kernel store; None: TORCH_CUDAAGENT_CACHE_DIR or the user's cache folder
    cuda_arch       compile for this architecture ("sm_90a"); None: that of the device in use
    seed            of the verifier's inputs; 0 draws one from the system
    dynamic         as in torch.compile: None lets a dimension that changed become symbolic
    """

    precision: str = "highest"
    assume_finite: bool = False
    freeze: bool = False
    verify: bool = True
    measure: bool = True
    search: int = 0
    cache_dir: str | None = None
    cuda_arch: str | None = None
    seed: int = 0
    dynamic: bool | None = None

    def to_json(self) -> str:
        fields = dataclasses.asdict(self)
        del fields["dynamic"]
        document = {name: value for name, value in fields.items() if value is not None}
        return json.dumps(document | library.paths(), sort_keys=True)


FIELDS = tuple(field.name for field in dataclasses.fields(Options))


def make_options(given: dict[str, Any]) -> Options:
    """Options from keywords; a UserError names what is accepted."""
    for name in given:
        if name not in FIELDS:
            raise UserError(f"optimize() has no option {name!r}; its options are {', '.join(FIELDS)}.")
    values = dict(given)
    if values.get("precision", "highest") not in PRECISIONS:
        raise UserError(f'precision={values["precision"]!r} is not supported; use "highest", "high" or "medium".')
    for name in ("assume_finite", "freeze", "verify", "measure"):
        if not isinstance(values.get(name, False), bool):
            raise UserError(f"{name}={values[name]!r} is not supported; use True or False.")
    if not any(values.get("dynamic") is accepted for accepted in (None, True, False)):
        raise UserError(f"dynamic={values['dynamic']!r} is not supported; use None, True or False.")
    for name in ("cache_dir", "cuda_arch"):
        if values.get(name) is not None:
            if not isinstance(values[name], str | os.PathLike):
                raise UserError(f"{name}={values[name]!r} is not supported; use a string or None.")
            values[name] = os.fspath(values[name])
    if not re.fullmatch(r"sm_\d+[a-z]?", values.get("cuda_arch") or "sm_90a"):
        raise UserError(f'cuda_arch={values["cuda_arch"]!r} is not supported; name an architecture as in "sm_90a".')
    for name in ("seed", "search"):
        number = values.get(name, 0)
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise UserError(f"{name}={number!r} is not supported; use an integer that is not negative.")
    return Options(**values)
