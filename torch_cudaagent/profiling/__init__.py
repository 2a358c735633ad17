"""Where a model's time goes: each node of its captured graphs timed, counted and held against the device's roofline."""

from .profiler import Profile, profile

__all__ = ["Profile", "profile"]
