"""What the processes of these tests run, and how they ended."""

from __future__ import annotations

import dataclasses
from typing import Any

# Two models, so that what must be said once would be said twice. The last line on stdout is JSON.
MODELS = """
import copy, json, torch, torch_cudaagent
reasons, problems, same = [], [], True
for width in (8, 16):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, width), torch.nn.GELU(), torch.nn.Softmax(-1))
    optimized = torch_cudaagent.optimize(copy.deepcopy(model), measure=False)
    x = torch.randn(4, 8)
    with torch.no_grad():
        same = same and torch.allclose(optimized(x), model(x), rtol=1e-5, atol=1e-6)
    shown = torch_cudaagent.explain(optimized)
    reasons += [graph["why_eager"] for graph in shown.to_dict()["graphs"]]
    problems += [p["problem"] for graph in shown.to_dict()["graphs"] for p in graph["programs"] if p["problem"]]
    assert all(sentence in str(shown) for sentence in reasons + problems if sentence), str(shown)
print(json.dumps({"same": same, "reasons": reasons, "problems": problems}))
"""


@dataclasses.dataclass
class Child:
    """How a process ended: the JSON of its last line, and what it said on stderr, by line."""

    code: int
    result: Any
    said: list[str]
