"""Benchmarks run by hand: fixed lists of regions, models and their paired timing."""
