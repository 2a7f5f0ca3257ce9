"""What PyTorch does where nothing is written: prints defaults.txt.

    python defaults.py > defaults.txt

First three numbers after five steps of each optimiser with the numbers that it has by itself, for the function and the data
of ../optimisers.rs; then, of each parameter of each module as it starts out, the mean, the standard deviation and the mean
size of a sample of some hundred thousand numbers. The modules' names are those of the fields of ../defaults.rs.
"""

import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")
torch.manual_seed(0)


def optimizer(name, rule):
    """Half of the weighed squares, from ones."""
    a = torch.ones(3, dtype=torch.float64, requires_grad=True)
    rule = rule([a])
    for step in range(5):
        x = torch.tensor([1 + 0.1 * step, 3 - 0.2 * step, 0.5], dtype=torch.float64)
        rule.zero_grad()
        (0.5 * (x * a * a).sum()).backward()
        rule.step()
    print(f"{name} {' '.join(f'{v:.9g}' for v in a.tolist())}")


# SGD's rate is given: PyTorch's has changed.
optimizer("sgd", lambda p: torch.optim.SGD(p, lr=1e-3))
optimizer("adam", torch.optim.Adam)
optimizer("adamw", torch.optim.AdamW)
optimizer("rmsprop", torch.optim.RMSprop)


def initial(name, make):
    """The distribution of the parameters and running statistics of modules that `make` makes."""
    samples = {}
    least = min(p.numel() for p in make().state_dict().values())
    for _ in range(-(-300_000 // least) if least > 20 else 2000):
        for key, value in make().state_dict().items():
            samples.setdefault(key, []).append(value.flatten().double())
    for key, values in samples.items():
        if key.endswith("num_batches_tracked"):
            continue
        x = torch.cat(values)
        print(f"{name}.{key} {x.mean():.4g} {x.std(correction=0):.4g} {x.abs().mean():.4g}")


initial("linear", lambda: nn.Linear(40, 30))
initial("conv1d", lambda: nn.Conv1d(6, 40, 3, groups=2))
initial("conv2d", lambda: nn.Conv2d(4, 40, (3, 2)))
initial("conv_transpose1d", lambda: nn.ConvTranspose1d(6, 40, 3, groups=2))
initial("conv_transpose2d", lambda: nn.ConvTranspose2d(4, 40, (3, 2)))
initial("embedding", lambda: nn.Embedding(50, 20))
initial("prelu", lambda: nn.PReLU(30))
initial("layer_norm", lambda: nn.LayerNorm(30))
initial("rms_norm", lambda: nn.RMSNorm(30))
initial("group_norm", lambda: nn.GroupNorm(2, 30))
initial("instance_norm", lambda: nn.InstanceNorm1d(30, affine=True))
initial("batch_norm", lambda: nn.BatchNorm1d(30))
initial("rnn", lambda: nn.RNN(10, 24))
initial("lstm", lambda: nn.LSTM(10, 24))
initial("gru", lambda: nn.GRU(10, 24))
initial("attention", lambda: nn.MultiheadAttention(24, 4))


def rule(name, fill, *shape):
    """The distribution of a parameter of that shape after `fill`."""

    def make():
        module = nn.Module()
        module.p = nn.Parameter(torch.empty(*shape))
        fill(module.p)
        return module

    initial(name, make)


init = nn.init
rule("normal", init.normal_, 30, 40)
rule("normal_of", lambda p: init.normal_(p, std=0.3), 30, 40)
rule("uniform_of", lambda p: init.uniform_(p, -0.3, 0.3), 30, 40)
rule("trunc_normal", init.trunc_normal_, 30, 40)
rule("orthogonal", init.orthogonal_, 30, 40)
rule("orthogonal_of", lambda p: init.orthogonal_(p, 2), 30, 4, 2)
rule("xavier_uniform", init.xavier_uniform_, 30, 4, 5)
rule("xavier_uniform_of", lambda p: init.xavier_uniform_(p, gain=2), 30, 4, 5)
rule("xavier_normal", init.xavier_normal_, 30, 4, 5)
rule("xavier_normal_of", lambda p: init.xavier_normal_(p, gain=2), 30, 4, 5)
rule("kaiming_uniform", init.kaiming_uniform_, 30, 4, 5)
rule("kaiming_uniform_of", lambda p: init.kaiming_uniform_(p, a=1, mode="fan_out"), 30, 4, 5)
rule("kaiming_normal", init.kaiming_normal_, 30, 4, 5)
rule("kaiming_normal_of", lambda p: init.kaiming_normal_(p, a=1, mode="fan_out"), 30, 4, 5)
