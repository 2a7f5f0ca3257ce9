"""Writes `pytorch.txt`: what PyTorch computes for the calls below, forwards and backwards, in float64.

    python pytorch.py > pytorch.txt
    python pytorch.py f64 > pytorch_f64.txt
    python pytorch.py bf16 > pytorch_bf16.txt
    python pytorch.py f16 > pytorch_f16.txt

The second file is for models in float64: its numbers have 17 digits, and inputs and parameters are any float64. Of each
function and layer it has the first case that is small, and of those with kernels of their own the first.

The last two are for arguments of two bytes. There PyTorch computes with tensors of that type, on the CPU, and its
gradients are of that type, too; the weighed sum is one of float32. Of each function they have the first case that is
small. Layers are left out, whose parameters are float32. At the end are calls on the numbers at which a type ends, without
gradients. Functions that PyTorch's CPU lacks for a type (`WIDENED`) get the arguments in float32, and the result is
rounded once.

A case starts with `op` and the call as a model writes it, or with `layer` and the field's type. Then follow the inputs,
the parameters of the layer (`self.`), the results (`=`) and the gradients (`d`), each with its type and its numbers. The
gradients are those of the sum of all elements of the float results, each times its weight: `((7 i + 3) mod 11 − 4.5) / 4`
for element `i` in row-major order. Inputs and parameters are exact in the type of the file; those that PyTorch derives nothing for have no gradient.

To add a case, add a line here and run the script: earlier cases stay as they are, since each draws from its own seed.
"""

import sys
import warnings

import torch
import torch.nn.functional as F
from torch import nn

# They would end up among the numbers.
warnings.simplefilter("ignore")
torch.set_default_dtype(torch.float64)
print(f"# torch {torch.__version__.split('+')[0]}")

# The type of the file's floats, and how many digits name each of its numbers.
KIND = (sys.argv[1:] or ["f32"])[0]
DTYPE, DIGITS = {"f32": (torch.float32, 9), "f64": (torch.float64, 17), "bf16": (torch.bfloat16, 5),
                 "f16": (torch.float16, 6)}[KIND]
NARROW = KIND in ("bf16", "f16")
# What PyTorch computes in.
COMPUTED = DTYPE if NARROW else torch.float64

# The most numbers of a case in the file of float64, what may have more, and what PyTorch computes with numbers of float32.
SMALL = 150 if NARROW else 63
LARGE = {"layer BatchNorm1d", "layer GroupNorm", "layer Linear", "op attend", "op conv2d", "op conv_transpose2d", "op ctc_loss",
         "op einsum", "op matmul", "op max_pool2d", "op rms_norm"}
ROUNDED = {"op hard_sigmoid"}

# What a file of two bytes lacks: functions whose results have the type of parameters, what is mixed with such, and
# alignments, where PyTorch lacks the function and the call's own logarithms are rounded.
LEFT_OUT = {"op one_hot", "op x * linspace", "op x * arange", "op ctc_loss"}
WIDENED = {"op cdist", "op rotary", "op multi_margin_loss"}

# Where the pieces of piecewise activations meet, and where careless formulas overflow.
EDGES = [-100.0, -6.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0, 100.0]
count = 0
written = set()


def exact(tensor):
    """The numbers as the type of the file has them."""
    return tensor.to(DTYPE).double()


def normal(*shape):
    """Standard normal numbers."""
    return torch.randn(*shape, dtype=DTYPE).double()


def low(*shape):
    """Numbers of which most are negative."""
    return exact(normal(*shape) - 1)


def positive(*shape):
    """Numbers between 0.2 and 3."""
    return exact(0.2 + 2.8 * torch.rand(*shape, dtype=DTYPE))


def unit(*shape):
    """Numbers between 0.05 and 0.95."""
    return exact(0.05 + 0.9 * torch.rand(*shape, dtype=DTYPE))


def wide(*shape):
    """Numbers whose exponentials differ by many orders of magnitude."""
    return exact(30 * normal(*shape))


def edges():
    """The edges of activations, and some numbers beside them."""
    return torch.cat([torch.tensor(EDGES), normal(10)])


def below(n, *shape):
    """Integers from 0 below n."""
    return torch.randint(n, shape)


def signs(*shape):
    """−1 and 1."""
    return 2.0 * torch.randint(2, shape) - 1.0


def bits(*shape):
    """Truth values."""
    return torch.randint(2, shape).bool()


def shown(name, tensor):
    """One line: the name, the type and the numbers."""
    kind = {COMPUTED: KIND, torch.float32: "f32", torch.int64: "u32", torch.bool: "bool"}[tensor.dtype]
    shape = f"[{', '.join(map(str, tensor.shape))}]" if tensor.shape else ""
    whole = not tensor.dtype.is_floating_point
    digits = 17 if NARROW and tensor.dtype == torch.float32 else DIGITS
    numbers = " ".join(str(int(x)) if whole else f"{x:.{digits}g}" for x in tensor.detach().flatten().tolist())
    return f"{name} {kind}{shape}: {numbers}"


def left_out(item):
    """Whether the file has nothing of the function or layer, or has it already."""
    if NARROW:
        return item in written | LEFT_OUT or item.startswith("layer")
    return KIND == "f64" and item in written | ROUNDED


def widened(function):
    """The function, computed in float32 and its results rounded once."""
    def call(*inputs):
        results = function(*(x.float() if x.is_floating_point() else x for x in inputs))
        return results.to(DTYPE) if isinstance(results, torch.Tensor) else tuple(x.to(DTYPE) for x in results)

    return call


def case(head, function, parameters, draw):
    """One case. `draw` gives the inputs by name; `function` takes them in that order."""
    global count
    torch.manual_seed(count)
    count += 1
    item = head.split("(")[0]
    if left_out(item):
        return
    inputs = draw()
    parameters = parameters()
    function = function(parameters)
    for name, tensor in inputs.items():
        assert tensor.dtype != torch.float64 or torch.equal(exact(tensor), tensor), f"{head}: {name}"
    if NARROW:
        inputs = {name: x.to(DTYPE) if x.dtype == torch.float64 else x for name, x in inputs.items()}
        function = widened(function) if item in WIDENED else function
    tensors = [*inputs.items(), *((f"self.{name}", tensor) for name, tensor in parameters.items())]
    floats = {name: x for name, x in inputs.items() if x.dtype == COMPUTED}
    leaves = {**floats, **{f"self.{name}": x for name, x in parameters.items()}}
    for leaf in leaves.values():
        leaf.requires_grad_(True)
    results = function(*inputs.values())
    results = results if isinstance(results, (tuple, list)) else (results,)
    loss = torch.zeros(())
    for result in results:
        tensors.append(("=", result))
        if result.dtype == COMPUTED:
            i = torch.arange(result.numel())
            result = result.float() if NARROW else result
            loss = loss + (result.flatten() * (((7 * i + 3) % 11) - 4.5) / 4).sum()
    if loss.requires_grad:
        gradients = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
        for name, gradient in zip(leaves, gradients):
            if gradient is not None:
                tensors.append((f"d {name}", gradient))
    if KIND == "f32" or item in LARGE or sum(tensor.numel() for _, tensor in tensors) <= SMALL:
        written.add(item)
        print("\n".join([f"\n{head}", *(shown(*tensor) for tensor in tensors)]))


def op(call, function, **inputs):
    """An op: the call over the inputs, whose values are functions that draw."""
    case(f"op {call}", lambda _: function, dict, lambda: {name: draw() for name, draw in inputs.items()})


def layer(declared, make, draw, call="self.layer(x)", names=lambda name: name):
    """A layer of one input: the type of the field `layer`, and the module."""
    module = None

    def parameters():
        nonlocal module
        module = make()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.copy_(exact(parameter))
        return {f"layer.{names(name)}": p for name, p in module.named_parameters()}

    case(f"layer {declared}\ncall {call}", lambda _: module, parameters, lambda: {"x": draw()})


# Activations.
for call, function in {
    "relu(x)": F.relu,
    "relu6(x)": F.relu6,
    "leaky_relu(x, 0.2)": lambda x: F.leaky_relu(x, 0.2),
    "elu(x)": F.elu,
    "elu(x, 0.5)": lambda x: F.elu(x, 0.5),
    "selu(x)": F.selu,
    "celu(x, 0.5)": lambda x: F.celu(x, 0.5),
    "gelu(x)": F.gelu,
    'gelu(x, approximate = "tanh")': lambda x: F.gelu(x, approximate="tanh"),
    "silu(x)": F.silu,
    "mish(x)": F.mish,
    "softplus(x)": F.softplus,
    "softsign(x)": F.softsign,
    "sigmoid(x)": torch.sigmoid,
    "log_sigmoid(x)": F.logsigmoid,
    "tanh(x)": torch.tanh,
    "tanhshrink(x)": F.tanhshrink,
    "hard_tanh(x)": F.hardtanh,
    "hard_sigmoid(x)": F.hardsigmoid,
    "hard_swish(x)": F.hardswish,
    "hardshrink(x)": F.hardshrink,
    "softshrink(x)": F.softshrink,
    "threshold(x, 0.5, -2.0)": lambda x: F.threshold(x, 0.5, -2.0),
}.items():
    op(call, function, x=edges)
op("prelu(x, w)", F.prelu, x=lambda: normal(2, 3, 5), w=lambda: normal(3))
layer("PReLU(3)", lambda: nn.PReLU(3), lambda: normal(2, 3, 5))
op("glu(x)", F.glu, x=lambda: normal(3, 8))
op("swiglu(x)", lambda x: F.silu(x[:, :4]) * x[:, 4:], x=lambda: normal(3, 8))
op("geglu(x)", lambda x: F.gelu(x[:, :4]) * x[:, 4:], x=lambda: normal(3, 8))
op("softmax(x)", lambda x: F.softmax(x, -1), x=lambda: normal(3, 5))
op("softmin(x, axis = 1)", lambda x: F.softmin(x, 1), x=lambda: normal(2, 3, 5))
op("log_softmax(x, axis = 1)", lambda x: F.log_softmax(x, 1), x=lambda: wide(2, 3, 5))
op("logsumexp(x, axis = 1)", lambda x: torch.logsumexp(x, 1), x=lambda: wide(3, 5))

# Elementwise functions.
for name, domain in {
    "exp": normal, "expm1": normal, "log": positive, "log1p": positive, "sqrt": positive, "rsqrt": positive,
    "sin": normal, "cos": normal, "erf": normal, "abs": normal, "square": normal, "reciprocal": positive,
    "floor": normal, "round": normal,
}.items():
    op(f"{name}(x)", getattr(torch, name), x=lambda domain=domain: domain(11))
op("pow(x, y)", torch.pow, x=lambda: positive(9), y=lambda: normal(9))
op("x % y", torch.fmod, x=lambda: normal(9), y=lambda: positive(9))
op("maximum(x, y)", torch.maximum, x=lambda: below(4, 9).double(), y=lambda: below(4, 9).double())
op("clamp(x, -0.5, 0.75)", lambda x: x.clamp(-0.5, 0.75), x=lambda: normal(9))
op("where(c, x, y)", torch.where, c=lambda: bits(9), x=lambda: normal(9), y=lambda: normal(9))

# Reductions.
op("sum(x, axis = 1)", lambda x: x.sum(1), x=lambda: normal(3, 5))
op("mean(x, axes = [0, 2])", lambda x: x.mean((0, 2)), x=lambda: normal(2, 3, 4))
op("max(x, axis = 1)", lambda x: x.amax(1), x=lambda: below(4, 4, 6).double())
op("prod(x, axis = 1)", lambda x: x.prod(1), x=lambda: below(4, 4, 3).double())
op("var(x, axis = 1)", lambda x: x.var(1), x=lambda: normal(3, 5))
op("std(x, axis = 1, correction = 0)", lambda x: x.std(1, correction=0), x=lambda: normal(3, 5))
op("norm(x, axis = 1)", lambda x: torch.linalg.vector_norm(x, 2, 1), x=lambda: torch.cat([normal(3, 5), torch.zeros(1, 5)]))
op("norm(x, 3, axis = 1)", lambda x: torch.linalg.vector_norm(x, 3, 1), x=lambda: normal(3, 5))
op("norm(x, 1)", lambda x: torch.linalg.vector_norm(x, 1), x=lambda: normal(3, 5))
op("normalize(x)", F.normalize, x=lambda: normal(3, 5))
op("pairwise_distance(x, y)", F.pairwise_distance, x=lambda: normal(3, 5), y=lambda: normal(3, 5))
op("cosine_similarity(x, y)", lambda x, y: F.cosine_similarity(x, y, -1), x=lambda: normal(3, 5), y=lambda: normal(3, 5))
op("argmax(x, axis = 1)", lambda x: x.argmax(1), x=lambda: normal(3, 5))

# Losses.
pair = dict(x=lambda: normal(4, 3), y=lambda: normal(4, 3))
op("mse_loss(x, y)", F.mse_loss, **pair)
op("l1_loss(x, y)", F.l1_loss, **pair)
op("huber_loss(x, y, delta = 0.5)", lambda x, y: F.huber_loss(x, y, delta=0.5), **pair)
op('smooth_l1_loss(x, y, "sum", 0.5)', lambda x, y: F.smooth_l1_loss(x, y, beta=0.5, reduction="sum"), **pair)
op("kl_div(x, softmax(y))", lambda x, y: F.kl_div(x, F.softmax(y, -1)), **pair)
op('kl_div(x, y, "batchmean")', lambda x, y: F.kl_div(x, y.detach(), reduction="batchmean"),
   x=lambda: normal(4, 3), y=lambda: torch.cat([unit(3, 3), torch.zeros(1, 3)]))
op('kl_div(x, y, "none", log_target = true)', lambda x, y: F.kl_div(x, y, reduction="none", log_target=True), **pair)
op("binary_cross_entropy(x, y)", F.binary_cross_entropy, x=lambda: unit(4, 3), y=lambda: unit(4, 3))
op('binary_cross_entropy(x, y, "none")', lambda x, y: F.binary_cross_entropy(x, y.detach(), reduction="none"),
   x=lambda: exact(torch.tensor([0.01, 0.25, 0.5, 0.9])), y=lambda: torch.tensor([0.0, 0.25, 1.0, 1.0]))
op("binary_cross_entropy_with_logits(x, y)", F.binary_cross_entropy_with_logits, x=edges, y=lambda: unit(21))
op("gaussian_nll_loss(x, y, v)", F.gaussian_nll_loss, **pair, v=lambda: positive(4, 3))
op('gaussian_nll_loss(x, y, v, "sum", full = true)',
   lambda x, y, v: F.gaussian_nll_loss(x, y, v, full=True, reduction="sum"), **pair, v=lambda: positive(4, 3))
op("poisson_nll_loss(x, y)", F.poisson_nll_loss, x=lambda: normal(4, 3), y=lambda: positive(4, 3))
op('poisson_nll_loss(x, y, "none", log_input = false, full = true)',
   lambda x, y: F.poisson_nll_loss(x, y.detach(), log_input=False, full=True, reduction="none"),
   x=lambda: positive(4, 3), y=lambda: below(5, 4, 3).double())
op("margin_ranking_loss(x, y, t, margin = 0.5)", lambda x, y, t: F.margin_ranking_loss(x, y, t, 0.5),
   **pair, t=lambda: signs(4, 3))
op("hinge_embedding_loss(x, t)", lambda x, t: F.hinge_embedding_loss(x, t.detach()),
   x=lambda: normal(4, 3), t=lambda: signs(4, 3))
op("soft_margin_loss(x, t)", lambda x, t: F.soft_margin_loss(x, t.detach()), x=lambda: normal(4, 3), t=lambda: signs(4, 3))
op("cosine_embedding_loss(x, y, t, margin = 0.1)",
   lambda x, y, t: F.cosine_embedding_loss(x, y, t.detach(), margin=0.1), **pair, t=lambda: signs(4))
triple = dict(x=lambda: normal(4, 3), y=lambda: normal(4, 3), z=lambda: normal(4, 3))
op("triplet_margin_loss(x, y, z)", F.triplet_margin_loss, **triple)
op('triplet_margin_loss(x, y, z, "none", 2.0, swap = true)',
   lambda x, y, z: F.triplet_margin_loss(x, y, z, margin=2.0, swap=True, reduction="none"), **triple)
classes = dict(x=lambda: normal(6, 4), y=lambda: below(4, 6))
weighed = dict(classes, w=lambda: positive(4))
op("cross_entropy(x, y)", F.cross_entropy, **classes)
op("cross_entropy(x, y, label_smoothing = 0.1, ignore_index = 2)",
   lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1, ignore_index=2), **classes)
op("cross_entropy(x, y, w)", lambda x, y, w: F.cross_entropy(x, y, w.detach()), **weighed)
op("cross_entropy(x, y, w, label_smoothing = 0.1, ignore_index = 2)",
   lambda x, y, w: F.cross_entropy(x, y, w.detach(), label_smoothing=0.1, ignore_index=2), **weighed)
op('cross_entropy(x, y, w, "none", label_smoothing = 0.1)',
   lambda x, y, w: F.cross_entropy(x, y, w.detach(), label_smoothing=0.1, reduction="none"), **weighed)
op("cross_entropy(x, softmax(y), w, label_smoothing = 0.1)",
   lambda x, y, w: F.cross_entropy(x, F.softmax(y, -1), w.detach(), label_smoothing=0.1),
   x=lambda: normal(6, 4), y=lambda: normal(6, 4), w=lambda: positive(4))
op("cross_entropy(x, y, axis = 1)", F.cross_entropy, x=lambda: normal(2, 4, 3), y=lambda: below(4, 2, 3))
op("nll_loss(x, y, w, ignore_index = 2)", lambda x, y, w: F.nll_loss(x, y, w.detach(), ignore_index=2), **weighed)
op('nll_loss(x, y, "sum")', lambda x, y: F.nll_loss(x, y, reduction="sum"), **classes)

# Shapes and indices.
op("transpose(x, [2, 0, 1])", lambda x: x.permute(2, 0, 1), x=lambda: normal(2, 3, 4))
op("reshape(x, [4, 6])", lambda x: x.reshape(4, 6), x=lambda: normal(2, 3, 4))
op("concat(x, y, axis = 1)", lambda x, y: torch.cat([x, y], 1), x=lambda: normal(2, 3), y=lambda: normal(2, 2))
op("stack(x, y, axis = 1)", lambda x, y: torch.stack([x, y], 1), x=lambda: normal(2, 3), y=lambda: normal(2, 3))
op("split(x, 2, axis = 1)", lambda x: x.chunk(2, 1), x=lambda: normal(2, 6))
op("flip(x, axis = 1)", lambda x: x.flip(1), x=lambda: normal(2, 5))
op("take(x, i, axis = 1)", lambda x, i: x[:, i], x=lambda: normal(2, 5, 2), i=lambda: below(5, 3, 2))
op("gather(x, i, axis = 1)", lambda x, i: x.gather(1, i), x=lambda: normal(2, 5), i=lambda: below(5, 2, 7))
op("one_hot(i, 5)", lambda i: F.one_hot(i, 5).double(), i=lambda: below(5, 4))

# Products and layers.
op("matmul(x, y)", torch.matmul, x=lambda: normal(2, 3, 4), y=lambda: normal(4, 5))
op('einsum("bij,bjk->ik", x, y)', lambda x, y: torch.einsum("bij,bjk->ik", x, y),
   x=lambda: normal(2, 3, 4), y=lambda: normal(2, 4, 5))
layer("Linear(4, 3)", lambda: nn.Linear(4, 3), lambda: normal(2, 5, 4))
op("embedding(i, w)", F.embedding, i=lambda: below(6, 2, 4), w=lambda: normal(6, 3))
op("layer_norm(x, w, c)", lambda x, w, c: F.layer_norm(x, (6,), w, c), x=lambda: normal(3, 6), w=lambda: normal(6), c=lambda: normal(6))
op("rms_norm(x, w, eps = 0.01)", lambda x, w: F.rms_norm(x, (6,), w, 0.01), x=lambda: normal(3, 6), w=lambda: normal(6))
layer("Conv2d(2, 4, kernel = 3, stride = 2, padding = 1, groups = 2)",
      lambda: nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2), lambda: normal(2, 2, 5, 6))
op("conv2d(x, w, c, dilation = 2)", lambda x, w, c: F.conv2d(x, w, c, dilation=2),
   x=lambda: normal(1, 2, 6, 7), w=lambda: normal(3, 2, 2, 3), c=lambda: normal(3))
op("max_pool2d(x, window = 3, stride = 2, padding = 1)", lambda x: F.max_pool2d(x, 3, 2, 1), x=lambda: normal(2, 6, 7))
op("avg_pool2d(x, window = 2, stride = 1, padding = 1)", lambda x: F.avg_pool2d(x, 2, 1, 1), x=lambda: normal(2, 4, 5))

# Convolutions and pools over one and two axes.
op("conv1d(x, w, c, stride = 2, padding = 3, dilation = 2, groups = 2)",
   lambda x, w, c: F.conv1d(x, w, c, 2, 3, 2, 2), x=lambda: normal(2, 4, 9), w=lambda: normal(6, 2, 3), c=lambda: normal(6))
op('conv1d(x, w, padding = "same")', lambda x, w: F.conv1d(x, w, padding="same"), x=lambda: normal(2, 3, 7), w=lambda: normal(2, 3, 4))
op('conv2d(x, w, padding = "same", dilation = [1, 2])', lambda x, w: F.conv2d(x, w, padding="same", dilation=(1, 2)),
   x=lambda: normal(1, 2, 5, 6), w=lambda: normal(2, 2, 2, 3))
layer("Conv1d(2, 4, kernel = 3, stride = 2)", lambda: nn.Conv1d(2, 4, 3, stride=2), lambda: normal(2, 2, 8))
op("conv_transpose1d(x, w, c, stride = 3, padding = 2, output_padding = 2, groups = 2, dilation = 2)",
   lambda x, w, c: F.conv_transpose1d(x, w, c, 3, 2, 2, 2, 2), x=lambda: normal(2, 4, 5), w=lambda: normal(4, 3, 3), c=lambda: normal(6))
op("conv_transpose2d(x, w, c, stride = [2, 3], padding = [0, 1], output_padding = [1, 0], groups = 2, dilation = [2, 1])",
   lambda x, w, c: F.conv_transpose2d(x, w, c, (2, 3), (0, 1), (1, 0), 2, (2, 1)),
   x=lambda: normal(1, 4, 3, 4), w=lambda: normal(4, 2, 3, 2), c=lambda: normal(4))
layer("ConvTranspose2d(4, 2, kernel = 3, stride = 2, padding = 1, output_padding = 1)",
      lambda: nn.ConvTranspose2d(4, 2, 3, 2, 1, 1), lambda: normal(1, 4, 3, 2))
layer("ConvTranspose1d(4, 2, kernel = 2, groups = 2, bias = false)", lambda: nn.ConvTranspose1d(4, 2, 2, groups=2, bias=False), lambda: normal(2, 4, 3))
op("max_pool1d(x, 4, 3, 1, 2, ceil_mode = true)", lambda x: F.max_pool1d(x, 4, 3, 1, 2, True), x=lambda: normal(2, 3, 18))
op("max_pool2d(x, 3, 2, ceil_mode = true)", lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True), x=lambda: normal(2, 7, 6))
op("max_pool2d(x, 2, 3, 1, ceil_mode = true)", lambda x: F.max_pool2d(x, 2, 3, 1, ceil_mode=True), x=lambda: normal(2, 7, 5))
op("max_pool2d(relu(x), 3, 2, 1)", lambda x: F.max_pool2d(F.relu(x), 3, 2, 1), x=lambda: low(2, 7, 6))
op("avg_pool1d(x, 3, 2, 1)", lambda x: F.avg_pool1d(x, 3, 2, 1), x=lambda: normal(2, 3, 8))
op("avg_pool2d(x, 3, 2, 1, ceil_mode = true)", lambda x: F.avg_pool2d(x, 3, 2, 1, True), x=lambda: normal(2, 7, 6))
op("avg_pool2d(x, [3, 2], 2, 1, true, false)", lambda x: F.avg_pool2d(x, (3, 2), 2, 1, True, False), x=lambda: normal(2, 6, 5))
op("adaptive_avg_pool1d(x, 3)", lambda x: F.adaptive_avg_pool1d(x, 3), x=lambda: normal(2, 2, 7))
op("adaptive_avg_pool2d(x, [3, 2])", lambda x: F.adaptive_avg_pool2d(x, (3, 2)), x=lambda: normal(2, 7, 5))
op("adaptive_max_pool1d(relu(x), 3)", lambda x: F.adaptive_max_pool1d(F.relu(x), 3), x=lambda: normal(2, 2, 8))
op("adaptive_max_pool2d(relu(x), [3, 4])", lambda x: F.adaptive_max_pool2d(F.relu(x), (3, 4)), x=lambda: low(2, 5, 6))
op("global_avg_pool(x)", lambda x: F.adaptive_avg_pool2d(x, 1), x=lambda: normal(2, 3, 4, 3))
op("global_max_pool(relu(x))", lambda x: F.adaptive_max_pool2d(F.relu(x), 1), x=lambda: low(2, 3, 2, 2))

# Norms of channels.
op("group_norm(x, w, c, groups = 3)", lambda x, w, c: F.group_norm(x, 3, w, c), x=lambda: normal(2, 6, 4), w=lambda: normal(6), c=lambda: normal(6))
op("instance_norm(x, w, c, eps = 0.01)", lambda x, w, c: F.instance_norm(x, weight=w, bias=c, eps=0.01),
   x=lambda: normal(2, 3, 2, 3), w=lambda: normal(3), c=lambda: normal(3))
op("batch_norm(x, m, v, w, c, 0.01)", lambda x, m, v, w, c: F.batch_norm(x, m.detach(), v.detach(), w, c, eps=0.01),
   x=lambda: normal(3, 2, 4), m=lambda: normal(2), v=lambda: positive(2), w=lambda: normal(2), c=lambda: normal(2))

# Other sizes and places.
op("upsample(x, 2)", lambda x: F.interpolate(x, scale_factor=2), x=lambda: normal(1, 2, 2, 3))
op("upsample(x, size = [5, 4])", lambda x: F.interpolate(x, (5, 4)), x=lambda: normal(1, 2, 3, 7))
op('upsample(x, size = 5, mode = "linear")', lambda x: F.interpolate(x, 5, mode="linear"), x=lambda: normal(1, 2, 8))
op('upsample(x, [2, 3], "bilinear")', lambda x: F.interpolate(x, scale_factor=(2, 3), mode="bilinear"), x=lambda: normal(1, 2, 3, 2))
op('upsample(x, size = [6, 3], mode = "bilinear", align_corners = true)',
   lambda x: F.interpolate(x, (6, 3), mode="bilinear", align_corners=True), x=lambda: normal(1, 2, 4, 5))
op("pixel_shuffle(x, 2)", lambda x: F.pixel_shuffle(x, 2), x=lambda: normal(1, 8, 2, 3))
op("pixel_unshuffle(x, 3)", lambda x: F.pixel_unshuffle(x, 3), x=lambda: normal(1, 2, 3, 6))
for mode in ["reflect", "replicate", "circular"]:
    op(f'pad(x, low = [1, 2], high = [2, 3], axis = [2, 3], mode = "{mode}")',
       lambda x: F.pad(x, (2, 3, 1, 2), mode), x=lambda: normal(1, 2, 3, 4))

# Running reductions, order and segments.
op("cumsum(x)", lambda x: x.cumsum(-1), x=lambda: normal(2, 40))
op("cumsum(x, axis = 0, reverse = true)", lambda x: x.flip(0).cumsum(0).flip(0), x=lambda: normal(19, 2))
op("cumsum(x, exclusive = true)", lambda x: x.cumsum(-1) - x, x=lambda: normal(2, 7))
op("cumprod(x, axis = 1)", lambda x: x.cumprod(1), x=lambda: torch.cat([positive(2, 9), below(3, 2, 9).double()], 1))
op("cummax(x)", lambda x: x.cummax(-1).values, x=lambda: normal(3, 20))
op("cummin(x)", lambda x: x.cummin(-1).values, x=lambda: normal(3, 20))
op("sort(x)", lambda x: x.sort(-1).values, x=lambda: normal(3, 9))
op("sort(x, axis = 0, descending = true)", lambda x: x.sort(0, descending=True).values, x=lambda: normal(9, 2))
op("argsort(x)", lambda x: x.argsort(dim=-1, stable=True), x=lambda: below(4, 3, 9).double())
op("argsort(x, descending = true)", lambda x: x.argsort(dim=-1, descending=True, stable=True), x=lambda: below(4, 3, 9).double())
op("top_k(x, 3)", lambda x: tuple(x.topk(3)), x=lambda: normal(3, 9))
op("top_k(x, 2, axis = 0, largest = false)", lambda x: tuple(x.topk(2, 0, largest=False)), x=lambda: normal(9, 2))
op("scatter_add(x, i, y, axis = 1)", lambda x, i, y: x.scatter_add(1, i, y),
   x=lambda: normal(3, 4), i=lambda: below(4, 3, 6), y=lambda: normal(3, 6))
op("index_add(x, i, y)", lambda x, i, y: x.index_add(0, i, y),
   x=lambda: normal(4, 2), i=lambda: below(4, 6), y=lambda: normal(6, 2))
op("segment_sum(x, i, 4)", lambda x, i: x.new_zeros(4, 2).index_add(0, i, x), x=lambda: normal(6, 2), i=lambda: below(4, 6))

# Masks, diagonals and repetition.
op("masked_fill(x, c, -2.0)", lambda x, c: x.masked_fill(c, -2.0), x=lambda: normal(3, 4), c=lambda: bits(3, 4))
op("tril(x, -1)", lambda x: x.tril(-1), x=lambda: normal(2, 4, 4))
op("triu(x, 1)", lambda x: x.triu(1), x=lambda: normal(4, 5))
op("diagonal(x, -1)", lambda x: x.diagonal(-1), x=lambda: normal(5, 4))
op("trace(x)", torch.trace, x=lambda: normal(4, 4))
op("diag(x)", torch.diag_embed, x=lambda: normal(2, 3))
op("tile(x, [2, 1, 3])", lambda x: x.repeat(2, 1, 3), x=lambda: normal(2, 3))
op("repeat_interleave(x, 3, axis = 1)", lambda x: x.repeat_interleave(3, 1), x=lambda: normal(2, 3))
op("roll(x, -2, axis = 1)", lambda x: x.roll(-2, 1), x=lambda: normal(2, 5))
op("unbind(x, axis = 1)", lambda x: x.unbind(1), x=lambda: normal(2, 3))
op("outer(x, y)", torch.outer, x=lambda: normal(3), y=lambda: normal(4))
op("cdist(x, y)", torch.cdist, x=lambda: normal(3, 2), y=lambda: normal(4, 2))
op("x * linspace(-1, 2, 7)", lambda x: x * torch.linspace(-1, 2, 7), x=lambda: normal(7))
op("x * arange(-2, 9, step = 3)", lambda x: x * torch.arange(-2, 9, 3), x=lambda: normal(4))
op("count_nonzero(x, axis = 1)", lambda x: x.count_nonzero(1), x=lambda: below(3, 3, 5).double())
op("isnan(log(x))", lambda x: x.log().isnan(), x=lambda: normal(8))
op("isinf(reciprocal(x))", lambda x: x.reciprocal().isinf(), x=lambda: below(2, 8).double())
for name, domain in {"sinh": normal, "cosh": normal, "tan": unit, "log2": positive, "log10": positive, "exp2": normal}.items():
    op(f"{name}(x)", getattr(torch, name), x=lambda domain=domain: domain(9))

# Convolutions, norms and pools.
layer("Conv1d(3, 4, kernel = 3, stride = 2, padding = 1)", lambda: nn.Conv1d(3, 4, 3, 2, 1), lambda: normal(2, 3, 7))
layer("ConvTranspose1d(4, 2, kernel = 3, stride = 2, padding = 1, output_padding = 1)",
      lambda: nn.ConvTranspose1d(4, 2, 3, 2, 1, 1), lambda: normal(2, 4, 5))
layer("ConvTranspose2d(4, 2, kernel = 2, stride = 2, groups = 2)",
      lambda: nn.ConvTranspose2d(4, 2, 2, 2, groups=2), lambda: normal(1, 4, 3, 4))
op("group_norm(x, w, c, groups = 2)", lambda x, w, c: F.group_norm(x, 2, w, c),
   x=lambda: normal(2, 4, 5), w=lambda: normal(4), c=lambda: normal(4))
op("instance_norm(x)", F.instance_norm, x=lambda: normal(2, 3, 4, 4))
op("upsample(x, 2)", lambda x: F.interpolate(x, scale_factor=2), x=lambda: normal(1, 2, 3, 3))
op('upsample(x, size = [5, 7], mode = "bilinear")', lambda x: F.interpolate(x, (5, 7), mode="bilinear"), x=lambda: normal(1, 2, 3, 4))
op("pixel_shuffle(x, 2)", lambda x: F.pixel_shuffle(x, 2), x=lambda: normal(1, 8, 2, 3))
op("max_pool1d(x, 3, stride = 2)", lambda x: F.max_pool1d(x, 3, 2), x=lambda: normal(2, 3, 9))
op("avg_pool1d(x, 2)", lambda x: F.avg_pool1d(x, 2), x=lambda: normal(2, 3, 8))
op("adaptive_avg_pool2d(x, [4, 2])", lambda x: F.adaptive_avg_pool2d(x, (4, 2)), x=lambda: normal(1, 2, 6, 5))

# Attention, with fewer keys than queries and more, and a query that sees nothing.
attention = F.scaled_dot_product_attention
heads = dict(q=lambda: normal(2, 2, 5, 4), k=lambda: normal(2, 2, 3, 4), v=lambda: normal(2, 2, 3, 3))
op("attend(q, k, v)", lambda q, k, v: attention(q, k, v), **heads)
op("attend(q, k, v, causal = true, scale = 0.7)", lambda q, k, v: attention(q, k, v, is_causal=True, scale=0.7), **heads)
op("attend(q, k, v, causal = true)", lambda q, k, v: attention(q, k, v, is_causal=True),
   q=lambda: normal(3, 2, 4), k=lambda: normal(3, 7, 4), v=lambda: normal(3, 7, 2))
op("attend(q, k, v)", lambda q, k, v: attention(q, k, v, enable_gqa=True),
   q=lambda: normal(2, 4, 3, 2), k=lambda: normal(2, 2, 5, 2), v=lambda: normal(2, 2, 5, 2))
op("attend(q, k, v, m)", lambda q, k, v, m: attention(q, k, v, m), **heads,
   m=lambda: below(2, 2, 1, 5, 3).bool() & (torch.arange(5)[:, None] > 0))
op("attend(q, k, v, m)", lambda q, k, v, m: attention(q, k, v, m), **heads, m=lambda: normal(1, 2, 5, 3))
op("attend(q, k, v)", lambda q, k, v: attention(q[..., None, :], k, v)[..., 0, :],
   q=lambda: normal(2, 2, 4), k=lambda: normal(2, 2, 9, 4), v=lambda: normal(2, 2, 9, 4))


def rotary(x, position, base, interleaved):
    """Rotary position embedding by complex numbers."""
    half = x.shape[-1] // 2
    pairs = x.unflatten(-1, (half, 2)) if interleaved else x.unflatten(-1, (2, half)).transpose(-1, -2)
    angle = position[..., None] * base ** (-torch.arange(half) / half)
    turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angle), angle))
    return (turned if interleaved else turned.transpose(-1, -2)).flatten(-2)


op("rotary(x)", lambda x: rotary(x, torch.arange(5.0), 10000.0, False), x=lambda: normal(2, 5, 6))
op("rotary(x, at, base = 100.0, interleaved = true)", lambda x, at: rotary(x, at, 100.0, True),
   x=lambda: normal(2, 3, 4), at=lambda: below(9, 2, 1))

# What is not written: numbers of activations and losses, and epsilons, on inputs so small that these count.
def tiny(size, *shape):
    """Numbers of about that size."""
    return lambda: exact(size * normal(*shape))


for call, function in {
    "celu(x)": F.celu,
    "leaky_relu(x)": F.leaky_relu,
    "softshrink(x, lambd = 0.2)": lambda x: F.softshrink(x, 0.2),
    "hardshrink(x, 0.2)": lambda x: F.hardshrink(x, 0.2),
    "hard_tanh(x, -0.5, 2.0)": lambda x: F.hardtanh(x, -0.5, 2.0),
}.items():
    op(call, function, x=edges)
far = dict(x=lambda: exact(3 * normal(4, 3)), y=lambda: normal(4, 3))
op("huber_loss(x, y)", F.huber_loss, **far)
op("smooth_l1_loss(x, y)", F.smooth_l1_loss, **far)
op("margin_ranking_loss(x, y, t)", lambda x, y, t: F.margin_ranking_loss(x, y, t.detach()), **pair, t=lambda: signs(4, 3))
op("hinge_embedding_loss(x, t, margin = 0.3)", lambda x, t: F.hinge_embedding_loss(x, t.detach(), margin=0.3),
   x=lambda: normal(4, 3), t=lambda: signs(4, 3))
op("cosine_embedding_loss(x, y, t)", lambda x, y, t: F.cosine_embedding_loss(x, y, t.detach()), **pair, t=lambda: signs(4))
op("var(x)", lambda x: x.var(), x=lambda: normal(3, 5))
op("std(x, axis = 0)", lambda x: x.std(0), x=lambda: normal(3, 5))
op("pad(x, low = 1, high = 2)", lambda x: F.pad(x, (1, 2, 1, 2)), x=lambda: normal(2, 3))
op("layer_norm(x)", lambda x: F.layer_norm(x, (6,)), x=tiny(3e-3, 3, 6))
op("rms_norm(x)", lambda x: F.rms_norm(x, (6,), eps=torch.finfo(torch.float32).eps), x=tiny(3e-4, 3, 6))
op("group_norm(x, groups = 2)", lambda x: F.group_norm(x, 2), x=tiny(3e-3, 2, 4, 5))
op("instance_norm(x)", F.instance_norm, x=tiny(3e-3, 2, 3, 4))
op("batch_norm(x, m, v)", lambda x, m, v: F.batch_norm(x, m.detach(), v.detach()),
   x=lambda: normal(3, 2), m=lambda: normal(2), v=lambda: exact(torch.tensor([1e-5, 3e-6])))
layer("LayerNorm(6)", lambda: nn.LayerNorm(6), tiny(3e-3, 3, 6))
layer("RMSNorm(6)", lambda: nn.RMSNorm(6, eps=torch.finfo(torch.float32).eps), tiny(3e-4, 3, 6))
layer("GroupNorm(3, 6)", lambda: nn.GroupNorm(3, 6), tiny(3e-3, 2, 6, 4))
layer("InstanceNorm1d(3, affine = true)", lambda: nn.InstanceNorm1d(3, affine=True), tiny(3e-3, 2, 3, 5))
op("normalize(x)", F.normalize, x=tiny(1e-12, 4, 3))
op("pairwise_distance(x, y)", F.pairwise_distance, x=tiny(1e-6, 3, 5), y=tiny(1e-6, 3, 5))
op("cosine_similarity(x, y)", lambda x, y: F.cosine_similarity(x, y, -1), x=tiny(1e-8, 4, 3), y=lambda: normal(4, 3))
op("gaussian_nll_loss(x, y, v)", lambda x, y, v: F.gaussian_nll_loss(x, y, v.detach()), **pair, v=lambda: exact(torch.tensor(
    [3e-7, 1e-3, 1.0, 2e-6]))[:, None].expand(4, 3).contiguous())
op("poisson_nll_loss(x, y, log_input = false)", lambda x, y: F.poisson_nll_loss(x, y.detach(), log_input=False),
   x=lambda: exact(torch.tensor([0.0, 1e-8, 1e-3, 2.0])), y=lambda: positive(4))

# A row without variance, at which the derivative of the root is infinite.
op("std(x, axis = 1)", lambda x: x.std(1), x=lambda: torch.cat([normal(2, 5), torch.ones(1, 5)]))


# Lists of layers that differ.
class Each(nn.ModuleList):
    """Layers one after the other, each with a function of what it gives and was given."""

    def __init__(self, layers, function):
        super().__init__(layers)
        self.function = function

    def forward(self, x):
        for one in self:
            x = self.function(one(x), x)
        return x


layer("Sequential(Linear(5, 7), relu, LayerNorm(7), |x| leaky_relu(x, negative_slope = 0.1), Sequential(Linear(7, 3), tanh))",
      lambda: nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.LayerNorm(7), nn.LeakyReLU(0.1),
                            nn.Sequential(nn.Linear(7, 3), nn.Tanh())), lambda: normal(4, 5))
layer("[Linear(5, 7), LayerNorm(7), Linear(7, 2, bias = false)]",
      lambda: Each([nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 2, bias=False)], lambda y, _: torch.tanh(y)),
      lambda: normal(4, 5), call="{ let mut y = x; for one in self.layer { y = tanh(one(y)); } y }")
layer("[Conv1d(3, 3, kernel = 3, dilation = pow(2, i), padding = pow(2, i)) for i in 0..3]",
      lambda: Each([nn.Conv1d(3, 3, 3, dilation=2**i, padding=2**i) for i in range(3)], lambda y, x: x + torch.tanh(y)),
      lambda: normal(2, 3, 11), call="{ let mut y = x; for one in self.layer { y = y + tanh(one(y)); } y }")

# Causal windows, which PyTorch pads by hand, and the multi-class hinge loss.
op('conv1d(x, w, padding = "causal", dilation = 2)', lambda x, w: F.conv1d(F.pad(x, (4, 0)), w, dilation=2),
   x=lambda: normal(2, 3, 7), w=lambda: normal(4, 3, 3))
op('conv1d(x, w, padding = "causal", stride = 2)', lambda x, w: F.conv1d(F.pad(x, (2, 0)), w, stride=2),
   x=lambda: normal(2, 3, 7), w=lambda: normal(4, 3, 3))
op("multi_margin_loss(x, y)", F.multi_margin_loss, x=lambda: normal(6, 5), y=lambda: below(5, 6))
op("multi_margin_loss(x, y, p = 2, margin = 0.3)", lambda x, y: F.multi_margin_loss(x, y, p=2, margin=0.3),
   x=lambda: normal(6, 5), y=lambda: below(5, 6))
layer("Sequential(Linear(5, 5), [Linear(5, 5), Linear(5, 5)], tanh, [LayerNorm(5), Linear(5, 3)])",
      lambda: nn.Sequential(nn.Linear(5, 5), nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 5)), nn.Tanh(),
                            nn.Sequential(nn.LayerNorm(5), nn.Linear(5, 3))), lambda: normal(4, 5))


def lower_right(q, k, v, mask=None):
    """Attention whose causal mask is aligned at the last query and key."""
    t, s = q.shape[-2], k.shape[-2]
    seen = torch.ones(t, s, dtype=torch.bool).tril(s - t)
    if mask is not None:
        seen = seen & mask if mask.dtype == torch.bool else torch.where(seen, mask, float("-inf"))
    return attention(q, k, v, seen)


op('attend(q, k, v, causal = "lower_right")', lower_right,
   q=lambda: normal(3, 2, 4), k=lambda: normal(3, 7, 4), v=lambda: normal(3, 7, 2))
op('attend(q, k, v, causal = "lower_right")', lower_right, **heads)
op('attend(q, k, v, m, causal = "lower_right")', lower_right,
   q=lambda: normal(2, 2, 5, 4), k=lambda: normal(2, 2, 9, 4), v=lambda: normal(2, 2, 9, 3), m=lambda: normal(1, 1, 1, 9))
op('attend(q, k, v, m, causal = "lower_right")', lower_right,
   q=lambda: normal(2, 2, 5, 4), k=lambda: normal(2, 2, 9, 4), v=lambda: normal(2, 2, 9, 3),
   m=lambda: below(2, 2, 1, 1, 9).bool() | (torch.arange(9) == 2))
layer("BatchNorm1d(3, track_running_stats = false)", lambda: nn.BatchNorm1d(3, track_running_stats=False), lambda: normal(4, 3, 5))
op("batch_norm(x, w, c, track_running_stats = false)",
   lambda x, w, c: F.batch_norm(x, None, None, w, c, training=True),
   x=lambda: normal(5, 3), w=lambda: normal(3), c=lambda: normal(3))
op("x[(1..).step_by(3), (..-1).step_by(2)]", lambda x: x[1::3, :-1:2], x=lambda: normal(8, 6))
op("x[.., (2..).step_by(4), 1]", lambda x: x[..., 2::4, 1], x=lambda: normal(2, 9, 3))

# Alignments: repeated labels, padding that is no class, lengths of all kinds, and inputs that are too short.
def ctc(x, y, i, t, **how):
    return F.ctc_loss(F.log_softmax(x, 2), y, i, t, **how)


repeated = {"y": lambda: torch.tensor([[1, 1, 2, 2, 2], [3, 1, 1, 99, 99], [2, 7, 0, 3, 1]]),
            "i": lambda: torch.tensor([13, 7, 9]), "t": lambda: torch.tensor([5, 3, 1])}
op("ctc_loss(log_softmax(x, axis = 2), y, i, t)", ctc, x=lambda: normal(13, 3, 5), **repeated)
op('ctc_loss(log_softmax(x, axis = 2), y, i, t, reduction = "none")',
   lambda x, y, i, t: ctc(x, y, i, t, reduction="none"), x=lambda: 2 * normal(13, 3, 4), **repeated)
op('ctc_loss(log_softmax(x, axis = 2), y, i, t, reduction = "sum", blank = 6, zero_infinity = true)',
   lambda x, y, i, t: ctc(x, y, i, t, reduction="sum", blank=6, zero_infinity=True),
   x=lambda: normal(5, 4, 7), y=lambda: below(2, 4, 4), i=lambda: torch.tensor([5, 2, 3, 5]),
   t=lambda: torch.tensor([4, 3, 0, 2]))
op("ctc_loss(log_softmax(x, axis = 2), y, i, t)", ctc, x=lambda: normal(37, 1, 3), y=lambda: 1 + below(2, 1, 11),
   i=lambda: torch.tensor([35]), t=lambda: torch.tensor([11]))


# Of types of two bytes the ends: zeros, the least numbers, the largest, what overflows and what is no number.
if NARROW:
    info = torch.finfo(DTYPE)
    least = info.tiny * info.eps
    ENDS = torch.tensor([0.0, -0.0, least, -least, 3 * least, info.tiny, -info.tiny, 1 - info.eps / 2, 1.0, -1.0, 1 + info.eps, 0.5,
                         2.5, -2.5, 11.0, -17.0, info.max / 2, info.max, -info.max, torch.inf, -torch.inf, torch.nan])
    FEW = torch.tensor([0.0, -0.0, least, -info.tiny, 1.0, -1.5, info.max, -info.max, torch.inf, -torch.inf, torch.nan])
    # Halfway between two numbers, beside that, and where numbers become infinite or zero.
    TIES = torch.tensor([1 + info.eps / 2, 1 + 1.5 * info.eps, 1 + info.eps / 2 + 2**-23, -1 - info.eps / 2 + 2**-23, least / 2,
                         1.5 * least, 0.51 * least, info.max * (1 + info.eps / 8), -info.max * (1 + info.eps / 3), torch.inf,
                         torch.nan, -0.0, 0.1]).float()


def last(call, function, **inputs):
    """An op on such numbers, of which nothing is derived."""
    if NARROW:
        written.discard("op " + call.split("(")[0])
        with torch.no_grad():
            op(call, function, **{name: lambda x=x: x if x.dtype == torch.float32 else x.to(DTYPE) for name, x in inputs.items()})


if NARROW:
    last(f"{KIND}(x)", lambda x: x.to(DTYPE), x=TIES)
    for call, function in {
        "f32(x)": torch.Tensor.float,
        "-x": torch.neg,
        "relu(x)": F.relu,
        "leaky_relu(x, 0.2)": lambda x: F.leaky_relu(x, 0.2),
        "sigmoid(x)": torch.sigmoid,
        "softplus(x)": F.softplus,
        "elu(x)": F.elu,
        "clamp(x, -0.5, 0.75)": lambda x: x.clamp(-0.5, 0.75),
        "x + 1.0": lambda x: x + 1,
        "x * 1e-3": lambda x: x * 1e-3,
        "1.0 / x": lambda x: 1 / x,
        **{f"{name}(x)": getattr(torch, name)
           for name in ["abs", "square", "sqrt", "rsqrt", "exp", "log", "tanh", "floor", "ceil", "round", "sign", "isnan", "isinf",
                        "isfinite"]},
    }.items():
        last(call, function, x=ENDS)
    pairs = dict(x=FEW.repeat_interleave(len(FEW)), y=FEW.repeat(len(FEW)))
    for call, function in {
        "x + y": torch.add, "x - y": torch.sub, "x * y": torch.mul, "x / y": torch.div, "maximum(x, y)": torch.maximum,
        "minimum(x, y)": torch.minimum, "x < y": torch.lt, "x == y": torch.eq, "x >= y": torch.ge,
        "where(x < y, x, y)": lambda x, y: torch.where(x < y, x, y),
    }.items():
        last(call, function, **pairs)
    # What overflows f16 does not overflow sums in float32; of bf16 these have the same largest number.
    top = info.max if KIND == "f16" else info.max / 4
    rows = torch.tensor([[top, top, -top], [-torch.inf, 0.0, 1.0], [top, 3.0, -top], [least, -least, 5 * least],
                         [-0.0, -0.0, -0.0], [torch.inf, 1.0, 2.0], [torch.nan, 0.0, 1.0]])
    for call, function in {
        "sum(x, axis = 1)": lambda x: x.sum(1),
        "max(x, axis = 1)": lambda x: x.amax(1),
        "sort(x)": lambda x: x[:6].sort(-1).values,
        "softmax(x)": lambda x: F.softmax(x, -1),
        "cumsum(x)": lambda x: x.cumsum(-1),
        "logsumexp(x, axis = 1)": lambda x: x.logsumexp(1),
        "flip(x, axis = 1)": lambda x: x.flip(1),
    }.items():
        last(call, function, x=rows[:6] if call.startswith("sort") else rows)
    last("matmul(x, y)", torch.matmul, x=rows[:5] / 2, y=torch.tensor([[2.0, 1.0], [1.0, 1.0], [1.0, 0.5]]))
