"""What PyTorch makes of four steps of training with batch norms: prints batch_norm.txt.

    python batch_norm.py > batch_norm.txt

The model is the one of ../batch_norm.rs, in binary64; parameters and data come from the same formula as there.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.set_default_dtype(torch.float64)


def numbers(count, seed):
    return torch.tensor([((i * 7 + seed * 5 + i * i % 11) % 23 - 11) / 10 for i in range(count)])


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return F.relu(x + self.norm(self.conv(x)))


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(3, affine=False)
        self.first = Block(3)
        self.second = Block(3)
        self.hidden = nn.Linear(12, 4, bias=False)
        self.twice = nn.BatchNorm1d(4, momentum=0.3, eps=1e-3)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        x = self.second(self.first(x))
        x = torch.tanh(self.twice(self.hidden(x.flatten(1))))
        for _ in range(2):
            x = self.twice(x * x)
        return self.head(self.second.norm(x[:, :3, None, None]).flatten(1) @ torch.ones(3, 4) + x)


class Averaged(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(8, 3, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm1d(3, momentum=None, affine=affine) for affine in (True, True))
        self.plain = nn.BatchNorm1d(3, momentum=None, affine=False)
        self.fresh = nn.BatchNorm1d(3, track_running_stats=False)
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        x = self.hidden(x)
        for norm in self.norms:
            x = torch.tanh(norm(x)) + x
        return self.head(self.fresh(self.plain(self.plain(x) * x)))


def line(name, values):
    print(name, *(f"{v:.9g}" for v in values.flatten().tolist()))


for optimizer in ["Sgd", "AdamW"]:
    model = Normed()
    with torch.no_grad():
        for seed, name in enumerate(sorted(n for n, _ in model.named_parameters())):
            p = model.get_parameter(name)
            p.copy_(numbers(p.numel(), seed).reshape(p.shape) / 2)
    if optimizer == "Sgd":
        rule = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    else:
        rule = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    for step in range(4):
        images = numbers(6 * 2 * 3 * 4, step).reshape(6, 2, 3, 4)
        loss = F.cross_entropy(model(images), torch.arange(6) % 2)
        line(f"{optimizer}.loss{step}", loss)
        rule.zero_grad()
        loss.backward()
        rule.step()
    for name, value in sorted(model.state_dict().items()):
        if not name.endswith("num_batches_tracked"):
            line(f"{optimizer}.{name}", value)
    model.eval()
    line(f"{optimizer}.scores", model(numbers(6 * 2 * 3 * 4, 9).reshape(6, 2, 3, 4)))

model = Averaged()
with torch.no_grad():
    for seed, name in enumerate(sorted(n for n, _ in model.named_parameters())):
        p = model.get_parameter(name)
        p.copy_(numbers(p.numel(), seed).reshape(p.shape) / 2)
rule = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = F.cross_entropy(model(numbers(6 * 8, step).reshape(6, 8)), torch.arange(6) % 2)
    line(f"averaged.loss{step}", loss)
    rule.zero_grad()
    loss.backward()
    rule.step()
for name, value in sorted(model.state_dict().items()):
    line(f"averaged.{name}", value)
model.eval()
line("averaged.scores", model(numbers(6 * 8, 9).reshape(6, 8)))
