"""The ops of the reference as PyTorch has them: a call and its operands in, its results out.

Floats are float64; integers are int64 that wrap to 32 bits after each call. An op is PyTorch's own function wherever there
is one, so that the comparison shares nothing with the bodies of our ops. `Unsupported` is what PyTorch cannot say.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F

OPS = {}


class Unsupported(Exception):
    """The program asks for what PyTorch does not have."""


class Call:
    """What an op knows beside its operands."""

    def __init__(self, op, attrs, shapes, dtypes, machine, named):
        self.op, self.attrs, self.shapes, self.dtypes = op, attrs, shapes, dtypes
        self.machine, self.named = machine, named

    def __getattr__(self, name):
        return self.attrs[name]

    def axes(self, x):
        """The reduced axes, all where none is given."""
        given = self.attrs.get("axes")
        given = self.attrs.get("axis") if given is None else given
        if given is None:
            return list(range(x.ndim))
        return [axis % x.ndim for axis in (given if isinstance(given, list) else [given])]


def op(*names):
    """Enters a function into the table."""

    def enter(function):
        for name in names:
            OPS[name] = function
        return function

    return enter


def plain(name, function):
    """An op without attributes that matter."""
    OPS[name] = lambda call, *args: function(*args)


def whole(x):
    return not x.dtype.is_floating_point


def spatial(value, rank):
    """One number for each axis."""
    return [value] * rank if isinstance(value, int) else list(value)


for name in ["neg", "abs", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "square", "reciprocal", "sin", "cos", "tan",
             "sinh", "cosh", "log2", "log10", "exp2", "tanh", "sigmoid", "erf", "floor", "ceil", "round", "sign", "add",
             "sub", "mul", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or",
             "logical_xor", "logical_not", "isnan", "isinf", "isfinite", "outer", "where"]:
    plain(name, getattr(torch, name, None))
for name in ["relu", "selu", "relu6", "silu", "mish", "softplus", "softsign", "tanhshrink", "prelu", "linear"]:
    plain(name, getattr(F, name))
plain("pow", torch.pow)
plain("hard_sigmoid", F.hardsigmoid)
plain("hard_swish", F.hardswish)
plain("log_sigmoid", F.logsigmoid)
plain("identity", lambda x: x)
plain("matmul", torch.matmul)
plain("outer", lambda a, b: torch.einsum("...i,...j->...ij", a, b))
plain("diag", torch.diag_embed)
plain("trace", lambda x: x.diagonal(0, -2, -1).sum(-1))


@op("prelu")
def prelu(call, x, weight):
    return F.prelu(x, weight)


@op("div")
def div(call, a, b):
    if not whole(a):
        return a / b
    a, b = torch.broadcast_tensors(a, b)
    return torch.where(b == 0, 0, torch.div(a, torch.where(b == 0, 1, b), rounding_mode="trunc"))


@op("rem")
def rem(call, a, b):
    if not whole(a):
        return torch.fmod(a, b)
    a, b = torch.broadcast_tensors(a, b)
    return torch.where(b == 0, 0, torch.fmod(a, torch.where(b == 0, 1, b)))


@op("clamp")
def clamp(call, x):
    number = int if whole(x) else float
    return x.clamp(*(None if bound is None else number(bound) for bound in (call.min, call.max)))


@op("cast", "f32", "i32", "u32", "bool")
def cast(call, x):
    dtype = call.attrs.get("dtype", call.op)
    if dtype == "f32":
        return x.double()
    if dtype == "bool":
        return x != 0
    if x.dtype == torch.float64:
        low, high = (0, 2**32 - 1) if dtype == "u32" else (-(2**31), 2**31 - 1)
        return x.detach().nan_to_num(0.0, float(high), float(low)).clamp(low, high).trunc().long()
    return x.long()


@op("sum", "mean", "max", "min", "var", "std", "logsumexp", "prod", "any", "all", "count_nonzero", "norm")
def reduction(call, x):
    axes, keep = call.axes(x), call.keepdims
    if not axes:
        x, axes, keep = x[None], [0], False
    if call.op == "sum":
        return x.sum(axes, keepdim=keep)
    if call.op in ("max", "min"):
        return getattr(torch, "a" + call.op)(x, axes, keepdim=keep)
    if call.op in ("var", "std"):
        # PyTorch takes a correction beyond the count for the count.
        return getattr(torch, call.op)(x, axes, correction=call.correction, keepdim=keep)
    if call.op == "norm":
        return torch.linalg.vector_norm(x, call.p, axes, keepdim=keep)
    if call.op == "count_nonzero":
        return (x != 0).sum(axes, keepdim=keep)
    if call.op in ("mean", "logsumexp", "any", "all"):
        return getattr(torch, call.op)(x, axes, keepdim=keep)
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis, keepdim=keep)
    return x


def keys(x):
    """What decides an order: equal sums that were added up in another order stay equal."""
    if whole(x):
        return x
    mantissa, exponent = torch.frexp(x.detach())
    return torch.ldexp(torch.round(mantissa * 2.0**44) / 2.0**44, exponent)


@op("argmax", "argmin")
def position(call, x):
    x = keys(x)
    if call.axis is None:
        return getattr(torch, call.op)(x.flatten(), 0).reshape(call.shapes[0])
    return getattr(torch, call.op)(x, call.axis, keepdim=call.keepdims)


@op("cumsum", "cumprod", "cummax", "cummin")
def running(call, x):
    unsigned = call.dtypes[0] == "u32"
    largest = {"f32": math.inf, "u32": 2**32 - 1, "i32": 2**31 - 1}[call.dtypes[0]]
    least = 0 if unsigned else -math.inf if not whole(x) else -(2**31)
    first = {"cumsum": 0, "cumprod": 1, "cummax": least, "cummin": largest}[call.op]
    x = x.movedim(call.axis, 0)
    x = x.flip(0) if call.reverse else x
    if call.op in ("cummax", "cummin"):
        # Equal extremes share the derivative.
        extreme = torch.amax if call.op == "cummax" else torch.amin
        y = torch.stack([extreme(x[: n + 1], 0) for n in range(len(x))])
    else:
        y = getattr(torch, call.op)(x, 0)
    if call.exclusive:
        y = torch.cat([torch.full_like(y[:1], first), y[:-1]])
    return (y.flip(0) if call.reverse else y).movedim(0, call.axis)


@op("sort", "argsort")
def ordered(call, x):
    at = torch.sort(keys(x), dim=call.axis, descending=call.descending, stable=True).indices
    return x.gather(call.axis, at) if call.op == "sort" else at


@op("top_k")
def top_k(call, x):
    at = torch.sort(keys(x), dim=call.axis, descending=call.largest, stable=True).indices
    at = at.narrow(call.axis, 0, call.k)
    return x.gather(call.axis, at), at


@op("normalize")
def normalize(call, x):
    return F.normalize(x, call.p, call.axis, call.eps)


@op("pairwise_distance")
def pairwise_distance(call, a, b):
    return F.pairwise_distance(a, b, call.p, call.eps)


@op("cosine_similarity")
def cosine_similarity(call, a, b):
    return F.cosine_similarity(a, b, call.axis, call.eps)


@op("cdist")
def cdist(call, a, b):
    # The second derivative of `torch.cdist` is missing, and its extents broadcast otherwise.
    return torch.linalg.vector_norm(a[..., :, None, :] - b[..., None, :, :], call.p, -1)


@op("attend")
def attend(call, q, k, v, mask=None):
    alone = q.ndim < k.ndim
    if alone:
        q, mask = q[..., None, :], None if mask is None else mask[..., None, :] if mask.ndim else mask
    if call.causal:
        seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
        if mask is None:
            mask = seen
        elif mask.dtype == torch.bool:
            mask = mask & seen
        else:
            mask = mask.masked_fill(~seen, -math.inf)
    if mask is not None:
        mask = mask.broadcast_to(*q.shape[:-1], k.shape[-2])
    lead = q.ndim < 4
    if lead:
        q, k, v = (x[(None,) * (4 - x.ndim)] for x in (q, k, v))
        mask = None if mask is None else mask[(None,) * (4 - mask.ndim)]
    grouped = q.shape[-3] != k.shape[-3]
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        y = F.scaled_dot_product_attention(q, k, v, mask, scale=call.scale, enable_gqa=grouped)
    return y.reshape(call.shapes[0])


@op("heads")
def heads(call, x):
    parts = x.unflatten(-1, (call.count, x.shape[-1] // call.count))
    return parts if x.ndim <= 2 else parts.transpose(-3, -2)


@op("merge_heads")
def merge_heads(call, x):
    return (x if x.ndim <= 3 else x.transpose(-3, -2)).flatten(-2)


@op("rotary")
def rotary(call, x, position=None):
    half = x.shape[-1] // 2
    position = torch.arange(x.shape[-2]) if position is None else position
    pairs = x.unflatten(-1, (half, 2)) if call.interleaved else x.unflatten(-1, (2, half)).transpose(-1, -2)
    angle = position[..., None].double() * call.base ** (-torch.arange(half).double() / half)
    turn = torch.polar(torch.ones_like(angle), angle)
    turned = torch.view_as_real(torch.view_as_complex(pairs.clone(memory_format=torch.contiguous_format)) * turn)
    return (turned if call.interleaved else turned.transpose(-1, -2)).flatten(-2)


@op("reshape")
def reshape(call, x):
    return x.reshape(call.shape)


@op("flatten")
def flatten(call, x):
    return x.flatten(call.start, call.end)


@op("squeeze", "unsqueeze")
def squeeze(call, x):
    # Which axes go where none is named is known by their types, not by their extents.
    return x.reshape(call.shapes[0])


@op("transpose")
def transpose(call, x):
    order = call.attrs["axes"]
    return x.transpose(-1, -2) if order is None else x.permute(order)


@op("broadcast_to")
def broadcast_to(call, x):
    return x.broadcast_to(call.shape)


@op("concat")
def concat(call, *xs):
    return torch.cat(xs, call.axis)


@op("stack")
def stack(call, *xs):
    return torch.stack(xs, call.axis)


@op("split")
def split(call, x):
    return x.chunk(call.parts, call.axis)


@op("slice")
def cut(call, x):
    axes = spatial(call.axis, 1)
    starts, steps = spatial(call.start, len(axes)), spatial(call.step, len(axes))
    ends = [None] * len(axes) if call.end is None else spatial(call.end, len(axes))
    index = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        index[axis] = slice(start, end, step)
    return x[tuple(index)]


@op("pad")
def pad(call, x):
    axes = list(range(x.ndim)) if call.axis is None else [axis % x.ndim for axis in spatial(call.axis, 1)]
    lows, highs = spatial(call.low, len(axes)), spatial(call.high, len(axes))
    if call.mode == "constant":
        sides = [0] * (2 * x.ndim)
        for axis, low, high in zip(axes, lows, highs):
            at = 2 * (x.ndim - 1 - axis)
            sides[at : at + 2] = low, high
        return F.pad(x, sides, value=int(call.value) if whole(x) else call.value)
    mode = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[call.mode]
    for axis, low, high in zip(axes, lows, highs):
        index = np.pad(np.arange(x.shape[axis]), (max(low, 0), max(high, 0)), mode)
        index = index[max(-low, 0) : len(index) - max(-high, 0)]
        x = x.index_select(axis, torch.from_numpy(index))
    return x


@op("flip")
def flip(call, x):
    return x.flip(list(range(x.ndim)) if call.axis is None else spatial(call.axis, 1))


@op("unbind")
def unbind(call, x):
    return x.unbind(call.axis)


@op("tile")
def tile(call, x):
    return x.repeat(call.counts)


@op("repeat_interleave")
def repeat_interleave(call, x):
    return x.repeat_interleave(call.count, call.axis)


@op("roll")
def roll(call, x):
    return x.roll(call.shift, call.axis)


@op("masked_fill")
def masked_fill(call, x, mask):
    return x.masked_fill(mask, int(call.value) if whole(x) else call.value)


@op("tril", "triu")
def triangle(call, x):
    return getattr(torch, call.op)(x, call.diagonal)


@op("diagonal")
def diagonal(call, x):
    return x.diagonal(call.offset, -2, -1)


@op("eye")
def eye(call):
    return torch.eye(call.n).double()


def inside(index, extent):
    """Indices that can be looked up, and whether they are those given."""
    valid = (index >= 0) & (index < extent)
    return torch.where(valid, index, 0), valid


def outside(x):
    return math.nan if x.dtype == torch.float64 else 0 if whole(x) and x.dtype != torch.bool else False


@op("take", "embedding")
def take(call, x, index):
    if call.op == "embedding":
        x, index, axis = index, x, 0
    else:
        axis = call.axis % x.ndim
    at, valid = inside(index, x.shape[axis])
    y = x.index_select(axis, at.flatten()).unflatten(axis, index.shape or (1,))
    y = y if index.ndim else y.squeeze(axis)
    valid = valid.reshape([1] * axis + list(index.shape) + [1] * (x.ndim - axis - 1))
    return torch.where(valid, y, outside(x))


@op("gather")
def gather(call, x, index):
    at, valid = inside(index, x.shape[call.axis])
    return torch.where(valid, x.gather(call.axis, at), outside(x))


@op("scatter_add")
def scatter_add(call, x, index, updates):
    at, valid = inside(index, x.shape[call.axis])
    return x.scatter_add(call.axis, at, torch.where(valid, updates, 0))


@op("index_add")
def index_add(call, x, index, updates):
    at, valid = inside(index, x.shape[call.axis])
    axis = call.axis % x.ndim
    valid = valid.reshape(-1, *[1] * (x.ndim - axis - 1))
    return x.index_add(axis, at, torch.where(valid, updates, 0))


@op("segment_sum", "segment_mean")
def segments(call, x, index):
    at, valid = inside(index, call.count)
    kept = torch.where(valid.reshape(-1, *[1] * (x.ndim - 1)), x, 0)
    total = torch.zeros(call.count, *x.shape[1:], dtype=x.dtype).index_add(0, at, kept)
    if call.op == "segment_sum":
        return total
    count = torch.zeros(call.count).double().index_add(0, at, valid.double()).clamp(min=1)
    return total / count.reshape(-1, *[1] * (x.ndim - 1))


def typed(dtype):
    return {"f32": torch.float64, "bool": torch.bool}.get(dtype, torch.int64)


@op("one_hot")
def one_hot(call, index):
    return (index[..., None] == torch.arange(call.classes)).to(typed(call.dtype))


@op("zeros", "ones", "full")
def full(call):
    value = {"zeros": 0, "ones": 1}.get(call.op, call.attrs.get("value"))
    return torch.full(call.shape, value).to(typed(call.dtype))


@op("iota")
def iota(call):
    axis = call.axis % len(call.shape)
    count = torch.arange(call.shape[axis])
    return count.reshape(-1, *[1] * (len(call.shape) - axis - 1)).broadcast_to(call.shape)


@op("arange")
def arange(call):
    return torch.arange(call.start, call.end, call.step).double()


@op("linspace")
def linspace(call):
    return torch.linspace(call.start, call.end, call.count, dtype=torch.float64)


@op("einsum")
def einsum(call, *xs):
    return torch.einsum(call.spec, *xs)
