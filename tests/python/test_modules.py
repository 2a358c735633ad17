"""An optimized module stays the module it was: identity, state, hooks, copies, modes, weights that change."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref

import pytest
import torch
from checks import assert_captured, assert_same, check_module, graphs
from torch import nn

import torch_cudaagent as cudaagent


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.note = "mine"

    def forward(self, x):
        return self.norm(self.fc(x)).relu()

    def helper(self):
        return self.note + "!"


def inputs():
    return torch.randn(6, 4)


def test_it_is_the_same_module(optimize):
    net = Net().eval()
    keys, names = list(net.state_dict()), [name for name, _ in net.named_modules()]
    fast = optimize(net)
    assert fast is net and type(fast) is Net and isinstance(fast, Net)
    assert fast.note == "mine" and fast.helper() == "mine!"
    fast.note = "changed"
    assert net.helper() == "changed!"
    assert list(fast.state_dict()) == keys and [name for name, _ in fast.named_modules()] == names
    assert repr(fast) == repr(Net().eval())


def test_load_state_dict_after_first_call(optimize):
    fast, other = optimize(Net().eval()), Net().eval()
    x = inputs()
    with torch.no_grad():
        fast(x)
        fast.load_state_dict(other.state_dict())
        assert_same(fast(x), other(x))
        third = Net().eval()
        fast.load_state_dict(copy.deepcopy(third.state_dict()), assign=True)
        assert_same(fast(x), third(x))
    assert_captured(fast)


@pytest.mark.parametrize("change", ["copy", "data", "data_copy", "fill", "numpy", "replace", "delete"])
def test_weights_changed_after_first_call(optimize, change):
    module = nn.Linear(4, 3)
    fast, slow = optimize(copy.deepcopy(module)), copy.deepcopy(module)
    x, new = inputs(), torch.randn(3, 4)

    def apply(target):
        match change:
            case "copy":
                target.weight.copy_(new)
            case "data":
                target.weight.data = new.clone()
            case "data_copy":
                target.weight.data.copy_(new)
            case "fill":
                target.weight[0].fill_(2.0)
            case "numpy":
                target.weight.numpy()[:] = new.numpy()
            case "replace":
                target.weight = nn.Parameter(new.clone())
            case "delete":
                del target.bias
                target.register_parameter("bias", None)

    with torch.no_grad():
        assert_same(fast(x), slow(x))
        for target in (fast, slow):
            apply(target)
        for _ in range(2):
            assert_same(fast(x), slow(x))
    assert_captured(fast)


def test_old_weights_are_freed_when_replaced(optimize):
    fast = optimize(nn.Linear(4, 3))
    with torch.no_grad():
        fast(inputs())
        old = weakref.ref(fast.weight)
        fast.weight = nn.Parameter(torch.randn(3, 4))
        fast(inputs())
        gc.collect()
        assert old() is None


def test_model_is_freed(optimize):
    fast = optimize(Net().eval())
    with torch.no_grad():
        fast(inputs())
    module, weight = weakref.ref(fast), weakref.ref(fast.fc.weight)
    del fast
    gc.collect()
    assert module() is None and weight() is None


def test_optimizer_step_between_calls(optimize):
    fast, slow = optimize(Net()), Net()
    slow.load_state_dict(fast.state_dict())
    x = inputs()
    for module in (fast, slow):
        optimizer = torch.optim.SGD(module.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            module(x).square().mean().backward()
            optimizer.step()
        module.eval()
    with torch.no_grad():
        assert_same(fast(x), slow(x))
    assert_same(fast.state_dict(), slow.state_dict())


def test_buffers_updated_in_training_mode(optimize):
    fast, slow = optimize(Net().train()), Net().train()
    slow.load_state_dict(fast.state_dict())
    with torch.no_grad():
        for _ in range(3):
            x = inputs()
            version = fast.norm.running_mean._version
            assert_same(fast(x), slow(x))
            assert fast.norm.running_mean._version > version
    assert fast.norm.num_batches_tracked == 3
    assert_same(fast.state_dict(), slow.state_dict())
    assert_captured(fast)


def test_buffer_updated_in_eval_mode(optimize):
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(2))
            self.register_buffer("cache", torch.zeros(4, 2), persistent=False)

        def forward(self, x):
            self.count += 1
            self.cache[1].copy_(x[0])
            return x * self.count + self.cache.sum()

    fast, slow = optimize(Counter().eval()), Counter().eval()
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(3, 2)
            assert_same(fast(x), slow(x))
            assert_same((fast.count, fast.cache), (slow.count, slow.cache))
    assert_captured(fast)


def test_buffer_replaced(optimize):
    class Running(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(2))

        def forward(self, x):
            self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
            return x - self.mean

    fast, slow = optimize(Running()), Running()
    with torch.no_grad():
        for _ in range(4):
            x = torch.randn(3, 2)
            assert_same((fast(x), fast.mean), (slow(x), slow.mean))


def test_train_and_eval_switch(optimize):
    fast, slow = optimize(Net()), Net()
    slow.load_state_dict(fast.state_dict())
    with torch.no_grad():
        for training in (True, False, True, False, False):
            x = inputs()
            assert_same(fast.train(training)(x), slow.train(training)(x))
            assert fast.training is training
    assert_captured(fast, count=2)


def test_tied_weights(optimize):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, tokens):
            return self.head(self.embed(tokens))

    fast = check_module(optimize, Tied(), torch.tensor([[1, 2, 3]]))
    assert fast.head.weight is fast.embed.weight
    with torch.no_grad():
        fast.embed.weight.mul_(2)
        wanted = nn.functional.linear(nn.functional.embedding(torch.tensor([[4]]), fast.embed.weight), fast.head.weight)
        assert_same(fast(torch.tensor([[4]])), wanted)


def test_hooks(optimize):
    net = Net().eval()
    fast = optimize(net)
    seen = []
    with torch.no_grad():
        plain = fast(inputs())
        handles = [
            fast.register_forward_pre_hook(lambda module, arguments: (arguments[0] * 2,)),
            fast.register_forward_hook(lambda module, arguments, output: output + 1),
            fast.fc.register_forward_hook(lambda module, arguments, output: seen.append(tuple(output.shape))),
        ]
        x = inputs()
        assert_same(fast(x), fast.norm(nn.functional.linear(x * 2, net.fc.weight, net.fc.bias)).relu() + 1)
        assert seen
        for handle in handles:
            handle.remove()
        count = len(seen)
        assert fast(x).shape == plain.shape and len(seen) == count
        with cudaagent.disable():
            wanted = fast(x)
        assert_same(fast(x), wanted)


def test_backward_hooks(optimize):
    fast = optimize(nn.Linear(3, 2))
    seen = []
    fast.register_full_backward_hook(lambda module, gin, gout: seen.append(gout[0].shape))
    fast(torch.randn(4, 3, requires_grad=True)).sum().backward()
    assert seen == [torch.Size([4, 2])]


def test_deepcopy(optimize):
    fast = optimize(Net().eval())
    x = inputs()
    with torch.no_grad():
        before = fast(x)
        twin = copy.deepcopy(fast)
        assert_same(twin(x), before)
        twin.fc.weight.zero_()
        twin.fc.bias.zero_()
        assert_same(fast(x), before)
        assert not torch.equal(twin(x), before)
    assert twin is not fast and type(twin) is Net
    assert_captured(twin)
    assert_captured(fast, count=1)


def test_deepcopy_before_first_call(optimize):
    twin = copy.deepcopy(optimize(Net().eval()))
    x = inputs()
    with torch.no_grad():
        got = twin(x)
        with cudaagent.disable():
            assert_same(got, twin(x))
    assert_captured(twin)


def test_shallow_copy_runs_as_itself(optimize):
    fast = optimize(Net().eval())
    shallow = copy.copy(fast)
    shallow.note = "other"
    x = inputs()
    with torch.no_grad():
        assert_same(shallow(x), fast(x))
    assert shallow.helper() == "other!" and fast.helper() == "mine!"


def test_pickle(optimize):
    fast = optimize(Net().eval(), precision="high")
    x = inputs()
    with torch.no_grad():
        wanted = fast(x)
        again = pickle.loads(pickle.dumps(fast))
        assert_same(again(x), wanted)
    assert type(again) is Net and again.note == "mine"
    assert_captured(again)
    assert again._cudaagent.options.precision == "high"


def test_torch_save(optimize):
    fast = optimize(nn.Sequential(optimize(Net().eval()), nn.ReLU()))
    x = inputs()
    file = io.BytesIO()
    torch.save(fast, file)
    file.seek(0)
    again = torch.load(file, weights_only=False)
    with torch.no_grad():
        assert_same(again(x), fast(x))


def test_state_dict_round_trip(optimize):
    fast = optimize(Net().eval())
    file = io.BytesIO()
    torch.save(fast.state_dict(), file)
    file.seek(0)
    plain = Net().eval()
    plain.load_state_dict(torch.load(file))
    x = inputs()
    with torch.no_grad():
        assert_same(fast(x), plain(x))


def test_optimized_child_of_a_plain_module(optimize):
    net = nn.Sequential(Net().eval(), nn.Linear(4, 2))
    reference = copy.deepcopy(net)
    optimize(net[0])
    x = inputs()
    with torch.no_grad():
        assert_same(net(x), reference(x))
    assert_captured(net, count=1)


def test_many_modules_of_one_class(optimize):
    layers = nn.ModuleList(optimize(Net().eval()) for _ in range(12))
    plain = copy.deepcopy(layers)
    cudaagent.disable(plain)
    x = inputs()
    with torch.no_grad():
        for _ in range(2):
            y, z = x, x
            for fast, slow in zip(layers, plain, strict=True):
                y, z = fast(y), slow(z)
            assert_same(y, z)
    for layer in layers:
        assert_captured(layer, count=1)


def test_modules_that_share_a_broken_frame(optimize):
    """After a graph break Dynamo keeps one graph for a class; every set of weights has a program of its own."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            x = self.fc(x).relu()
            torch._dynamo.graph_break()
            return x + 1

    model = nn.Sequential(*[Block() for _ in range(6)])
    reference = copy.deepcopy(model)
    fast = optimize(model)
    with torch.no_grad():
        for _ in range(3):
            x = inputs()
            assert_same(fast(x), reference(x))


def test_adapter_added_later(optimize):
    class Adapter(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base, self.down, self.up = base, nn.Linear(4, 2, bias=False), nn.Linear(2, 4, bias=False)

        def forward(self, x):
            return self.base(x) + self.up(self.down(x))

    fast = optimize(Net().eval())
    x = inputs()
    with torch.no_grad():
        before = fast(x)
        fast.fc = Adapter(fast.fc)
        with cudaagent.disable():
            wanted = fast(x)
        assert_same(fast(x), wanted)
        assert not torch.allclose(before, wanted)
        fast.fc.up.weight.zero_()
        assert_same(fast(x), before)
        fast.fc = fast.fc.base
        assert_same(fast(x), before)
    assert_captured(fast)


def test_attribute_that_steers_forward(optimize):
    class Switch(nn.Module):
        scale = 1.0

        def forward(self, x):
            return x * self.scale

    fast = optimize(Switch())
    x = inputs()
    with torch.no_grad():
        for scale in (1.0, 2.0, 3.0):
            fast.scale = scale
            assert_same(fast(x), x * scale)


def test_optimize_twice_takes_the_new_options(optimize):
    net = optimize(Net().eval())
    optimize(net, precision="medium")
    assert net._cudaagent.options.precision == "medium"
    with torch.no_grad():
        net(inputs())
    assert len(graphs(net)) == 1


def test_parameter_list_and_lazy_modules(optimize):
    class Listed(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = nn.ParameterList([nn.Parameter(torch.randn(4)) for _ in range(3)])
            self.table = nn.ParameterDict({"a": nn.Parameter(torch.randn(4))})

        def forward(self, x):
            for weight in self.weights:
                x = x * weight
            return x + self.table["a"]

    check_module(optimize, Listed(), inputs())
    lazy = optimize(nn.LazyLinear(3))
    with torch.no_grad():
        x = inputs()
        got = lazy(x)
        assert_same(got, nn.functional.linear(x, lazy.weight, lazy.bias))


def test_module_to_another_type(optimize):
    fast = optimize(nn.Linear(4, 3))
    x = inputs()
    with torch.no_grad():
        fast(x)
        fast.double()
        assert_same(fast(x.double()), nn.functional.linear(x.double(), fast.weight, fast.bias))
