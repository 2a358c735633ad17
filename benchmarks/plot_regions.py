"""Draws the share of copy speed that each memory-bound region reaches, ours beside torch.compile and eager.

python -m benchmarks.plot_regions docs/results/h200_regions.jsonl docs/regions.svg        (needs matplotlib)
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from collections.abc import Sequence

from benchmarks.measure_regions import COPY_TB_PER_S

WAYS = (("eager", "#b8b8b8", "eager"), ("compile", "#7aa6c2", "torch.compile"), ("ours", "#d1495b", "torch_cudaagent"))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=pathlib.Path, help="JSON lines of benchmarks.measure_regions")
    parser.add_argument("picture", type=pathlib.Path)
    args = parser.parse_args(argv)
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "regions"  # the same picture byte for byte
    from matplotlib import pyplot

    rows = [json.loads(line) for line in args.rows.read_text().splitlines()]
    figure, axes = pyplot.subplots(figsize=(8, 6.4))
    for k, (key, color, label) in enumerate(WAYS):
        shares = [100 * row["bytes"] / row[f"{key}_ms"] / 1e9 / COPY_TB_PER_S for row in rows]
        axes.barh([i + (k - 1) * 0.27 for i in range(len(rows))], shares, height=0.27, color=color, label=label)
    axes.set_yticks(range(len(rows)), [row["region"] for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.axvline(100, color="black", linewidth=0.8)
    axes.set_xlabel("% of copy speed (4.27 TB/s), H200; 100 % is every byte moved once")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(args.picture, metadata={"Date": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
