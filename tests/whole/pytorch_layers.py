"""The other half of the table of `pytorch_ops.py`: activations with attributes, norms, convolutions, pools, recurrent layers,
random numbers and losses."""

import math

import torch
import torch.nn.functional as F

from pytorch_ops import OPS, Unsupported, op, spatial

ATTRIBUTED = {
    "leaky_relu": (F.leaky_relu, "negative_slope"),
    "elu": (F.elu, "alpha"),
    "celu": (F.celu, "alpha"),
    "hard_tanh": (F.hardtanh, "min max"),
    "hardshrink": (F.hardshrink, "lambd"),
    "softshrink": (F.softshrink, "lambd"),
    "threshold": (F.threshold, "threshold value"),
    "glu": (F.glu, "axis"),
    "softmax": (F.softmax, "axis"),
    "softmin": (F.softmin, "axis"),
    "log_softmax": (F.log_softmax, "axis"),
    "adaptive_avg_pool1d": (F.adaptive_avg_pool1d, "output_size"),
    "adaptive_avg_pool2d": (F.adaptive_avg_pool2d, "output_size"),
    "adaptive_max_pool1d": (F.adaptive_max_pool1d, "output_size"),
    "adaptive_max_pool2d": (F.adaptive_max_pool2d, "output_size"),
    "pixel_shuffle": (F.pixel_shuffle, "upscale_factor"),
    "pixel_unshuffle": (F.pixel_unshuffle, "downscale_factor"),
}


def attributed(function, names):
    """An op whose attributes are PyTorch's arguments after the operands."""
    return lambda call, x: function(x, *(call.attrs[name] for name in names.split()))


for name, (function, names) in ATTRIBUTED.items():
    OPS[name] = attributed(function, names)


@op("gelu")
def gelu(call, x):
    return F.gelu(x, approximate=call.approximate)


@op("swiglu", "geglu")
def gated(call, x):
    u, v = x.chunk(2, call.axis)
    return (F.silu(u) if call.op == "swiglu" else F.gelu(u)) * v


@op("layer_norm")
def layer_norm(call, x, weight=None, bias=None):
    # Written out: third derivatives of `F.layer_norm` are wrong.
    y = (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + call.eps).sqrt()
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


@op("rms_norm")
def rms_norm(call, x, weight=None):
    return F.rms_norm(x, x.shape[-1:], weight, call.eps)


@op("group_norm")
def group_norm(call, x, weight=None, bias=None):
    return torch.group_norm(x.contiguous(), call.groups, weight, bias, call.eps, False)


@op("instance_norm")
def instance_norm(call, x, weight=None, bias=None):
    # Each channel a group; the function of that name asks for more than one element.
    return torch.group_norm(x.contiguous(), x.shape[1], weight, bias, call.eps, False)


@op("batch_norm")
def batch_norm(call, x, *others):
    rows = [-1] + [1] * (x.ndim - 2)
    counts = [other for other in others if other.ndim == 0]
    tracked = counts[0] if counts else call.named.get("num_batches_tracked")
    others = [other for other in others if other.ndim]
    mean, var = (others.pop(0), others.pop(0)) if call.track_running_stats else (None, None)
    weight, bias = (others + [None, None])[:2]
    if call.track_running_stats and not call.training:
        # PyTorch derives nothing for running statistics.
        y = (x - mean.reshape(rows)) / torch.sqrt(var.reshape(rows) + call.eps)
        y = y if weight is None else y * weight.reshape(rows)
        return y if bias is None else y + bias.reshape(rows)
    # Its gradient is wrong for transposed views with an axis of 1.
    y = torch.batch_norm(x.contiguous(), weight, bias, None, None, True, 0.0, call.eps, False)
    if not call.track_running_stats:
        return (y,)
    axes = [axis for axis in range(x.ndim) if axis != 1]
    momentum = call.momentum if tracked is None else 1 / (tracked + 1)
    new = [torch.mean(x, axes), torch.var(x, axes)]
    results = (y, *((1 - momentum) * old + momentum * n for old, n in zip((mean, var), new)))
    return results if tracked is None else (*results, tracked + 1)


@op("conv1d", "conv2d")
def conv(call, x, weight, bias=None):
    rank = int(call.op[4])
    padding = call.padding if call.padding == "same" else spatial(call.padding, rank)
    stride, dilation = spatial(call.stride, rank), spatial(call.dilation, rank)
    return getattr(F, call.op)(x, weight, bias, stride, padding, dilation, call.groups)


@op("conv_transpose1d", "conv_transpose2d")
def conv_transpose(call, x, weight, bias=None):
    numbers = [spatial(call.attrs[name], int(call.op[-2])) for name in ("stride", "padding", "output_padding")]
    return getattr(F, call.op)(x, weight, bias, *numbers, call.groups, spatial(call.dilation, int(call.op[-2])))


@op("max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d")
def pool(call, x):
    rank = int(call.op[-2])
    rows = x.reshape(-1, 1, *x.shape[-rank:])
    window = spatial(call.window, rank)
    stride = window if call.stride is None else spatial(call.stride, rank)
    padding = spatial(call.padding, rank)
    if call.op.startswith("max"):
        y = getattr(F, call.op)(rows, window, stride, padding, spatial(call.dilation, rank), call.ceil_mode)
    else:
        y = getattr(F, call.op)(rows, window, stride, padding, call.ceil_mode, call.count_include_pad)
    return y.reshape(*x.shape[:-rank], *y.shape[2:])


@op("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d")
def adaptive(call, x):
    rank = int(call.op[-2])
    y = getattr(F, call.op)(x.reshape(-1, 1, *x.shape[-rank:]), spatial(call.output_size, rank))
    return y.reshape(*x.shape[:-rank], *y.shape[2:])


@op("global_avg_pool")
def global_avg_pool(call, x):
    return x.mean(list(range(2, x.ndim)), keepdim=True) if x.ndim > 2 else x


@op("global_max_pool")
def global_max_pool(call, x):
    if x.ndim <= 2:
        return x
    return F.adaptive_max_pool1d(x.flatten(2), 1).reshape(call.shapes[0])


@op("upsample")
def upsample(call, x):
    corners = None if call.mode == "nearest" else call.align_corners
    rank = x.ndim - 2
    size = None if call.size is None else spatial(call.size, rank)
    factor = None if call.scale_factor is None else [float(n) for n in spatial(call.scale_factor, rank)]
    return F.interpolate(x, size, factor, call.mode, corners)


@op("rnn", "lstm", "gru")
def recurrent(call, x, *rest):
    directions, states = 2 if call.bidirectional else 1, 2 if call.op == "lstm" else 1
    count = call.layers * directions * (4 if call.bias else 2)
    first, weights = rest[: len(rest) - count], list(rest[len(rest) - count :])
    if call.dropout > 0 and call.layers > 1 and call.machine.trains:
        raise Unsupported("dropout between recurrent layers")
    if not first:
        zeros = torch.zeros(call.layers * directions, len(x), weights[1].shape[1], dtype=torch.float64)
        first = (zeros,) * states
    function = torch.rnn_tanh if call.op == "rnn" else getattr(torch, call.op)

    def run(x, first):
        state = tuple(first) if call.op == "lstm" else first[0]
        options = (call.bias, call.layers, 0.0, False, call.bidirectional, True)
        return function(x.contiguous(), state, weights, *options)

    if "lengths" not in call.named:
        return run(x, first)
    rows = []
    for row, n in enumerate(call.named["lengths"].tolist()):
        start = [h[:, row : row + 1].contiguous() for h in first]
        n = min(n, x.shape[1])
        y, *last = run(x[row : row + 1, :n], start) if n else (x.new_zeros(1, 0, call.shapes[0][-1]), *start)
        rows.append((F.pad(y, (0, 0, 0, x.shape[1] - n)), *last))
    parts = list(zip(*rows))
    return (torch.cat(parts[0]), *(torch.cat(part, 1) for part in parts[1:]))


def threefry(key, counter):
    """The first word of Threefry-2x32 with 20 rounds (Salmon et al. 2011) at `(counter, 0)`."""
    mask = 0xFFFFFFFF
    schedule = [key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA]
    a, b = (counter + schedule[0]) & mask, (torch.zeros_like(counter) + schedule[1]) & mask
    for group in range(5):
        for turn in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            a = (a + b) & mask
            b = (((b << turn) | (b >> (32 - turn))) & mask) ^ a
        a = (a + schedule[(group + 1) % 3]) & mask
        b = (b + schedule[(group + 2) % 3] + group + 1) & mask
    return a


def fold(key, data):
    """The key number `data` of those that belong to `key`."""
    data = torch.as_tensor(data)
    return [int(threefry(key, (2 * data + odd) & 0xFFFFFFFF)) for odd in (0, 1)]


def key_of(call, given, purpose=1):
    """The words that a draw uses: of the key that is given, or of the place in a step."""
    if given is not None:
        return fold(given.tolist(), purpose)
    if call.machine.closed:
        raise Unsupported(f"{call.op} without a key in a closure")
    site = call.machine.sites
    call.machine.sites += 1
    return fold(call.machine.key, site)


def unit(key, shape):
    count = torch.arange(math.prod(shape))
    return ((threefry(key, count) >> 8).double() / 2**24).reshape(shape)


@op("dropout")
def dropout(call, x, key=None):
    key = call.named.get("key", key)
    if call.p == 0 or key is None and not call.machine.trains:
        return x
    if call.p == 1:
        return x * 0
    # The probability is compared as an f32.
    kept = unit(key_of(call, key), x.shape) >= torch.tensor(call.p, dtype=torch.float32).double()
    return torch.where(kept, x / (1 - call.p), 0)


@op("uniform")
def uniform(call, key=None):
    return unit(key_of(call, key), call.shape) * (call.high - call.low) + call.low


@op("bernoulli")
def bernoulli(call, key=None):
    return unit(key_of(call, key), call.shape) < torch.tensor(call.p, dtype=torch.float32).double()


@op("normal")
def normal(call, key=None):
    key, count = key_of(call, key), torch.arange(math.prod(call.shape))
    radius, angle = ((threefry(key, 2 * count + odd) >> 8).double() for odd in (0, 1))
    draws = torch.sqrt(-2 * torch.log((radius + 1) / 2**24)) * torch.cos(angle * (math.tau / 2**24))
    return draws.reshape(call.shape)


@op("split_key")
def split_key(call, key):
    parent = key_of(call, key, 3)
    return tuple(torch.tensor(fold(parent, n)) for n in range(call.count))


@op("fold_in")
def fold_in(call, key, data):
    return torch.tensor(fold(key_of(call, key, 2), data))


def reduced(call, loss):
    return {"mean": loss.mean, "sum": loss.sum, "none": lambda: loss}[call.reduction]()


@op("cross_entropy", "nll_loss")
def entropy(call, x, target, weight=None):
    axis = call.axis % x.ndim
    rows = x.movedim(axis, -1).reshape(-1, x.shape[axis])
    ids = not target.dtype.is_floating_point
    goal = target.flatten() if ids else target.movedim(axis, -1).reshape(rows.shape)
    ignored = -100 if call.ignore_index is None else call.ignore_index
    options = {"label_smoothing": call.label_smoothing} if call.op == "cross_entropy" else {}
    if ids:
        options["ignore_index"] = ignored
        wrong = ((goal < 0) | (goal >= rows.shape[1])) & (goal != ignored)
        if bool(wrong.any()):
            raise Unsupported("a class id outside of the classes")
    if weight is not None and weight.requires_grad:
        raise Unsupported("a derivative by the weights of classes")
    shape = target.shape if ids else [n for k, n in enumerate(x.shape) if k != axis]
    loss = getattr(F, call.op)(rows, goal, weight, reduction=call.reduction, **options)
    return loss.reshape(shape) if call.reduction == "none" else loss


def loss(name, *names):
    """A loss whose attributes are PyTorch's by name."""
    function = getattr(F, name)
    OPS[name] = lambda call, *xs: function(*xs, reduction=call.reduction, **{n: call.attrs[n] for n in names})


loss("mse_loss")
loss("l1_loss")
loss("huber_loss", "delta")
loss("smooth_l1_loss", "beta")
loss("kl_div", "log_target")
loss("binary_cross_entropy")
loss("binary_cross_entropy_with_logits")
loss("gaussian_nll_loss", "full", "eps")
loss("poisson_nll_loss", "log_input", "full", "eps")
loss("margin_ranking_loss", "margin")
loss("triplet_margin_loss", "margin", "p", "eps", "swap")


def signs(target):
    """A target of the losses that know two classes."""
    if not bool(((target == 1) | (target == -1)).all()):
        raise Unsupported("a target that is neither 1 nor −1")
    return target


@op("hinge_embedding_loss")
def hinge_embedding_loss(call, x, target):
    return F.hinge_embedding_loss(x, signs(target), margin=call.margin, reduction=call.reduction)


@op("soft_margin_loss")
def soft_margin_loss(call, x, target):
    if target.requires_grad:
        # PyTorch derives nothing for the target.
        return reduced(call, F.softplus(-target * x))
    return F.soft_margin_loss(x, target, reduction=call.reduction)


@op("cosine_embedding_loss")
def cosine_embedding_loss(call, a, b, target):
    rows = [x.reshape(-1, x.shape[-1]) for x in (a, b)]
    y = F.cosine_embedding_loss(*rows, signs(target).flatten(), margin=call.margin, reduction=call.reduction)
    return y.reshape(target.shape) if call.reduction == "none" else y
