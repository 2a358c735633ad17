from __future__ import annotations

import pytest

import torch_cudaagent as cudaagent


@pytest.mark.parametrize("precision", ["fp8", "", None, 2])
def test_one_sentence_names_the_choices(precision: object) -> None:
    with pytest.raises(cudaagent.UserError) as caught:
        cudaagent.optimize(lambda x: x, precision=precision)
    assert str(caught.value) == f'precision={precision!r} is not supported; use "highest", "high" or "medium".'


def test_an_architecture_that_is_none() -> None:
    with pytest.raises(cudaagent.UserError, match='name an architecture as in "sm_90a"'):
        cudaagent.optimize(lambda x: x, cuda_arch="foo")
