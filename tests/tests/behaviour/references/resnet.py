"""What PyTorch makes of three steps of training of a small residual network: prints resnet.txt.

    python resnet.py > resnet.txt

The model is the one of ../resnet.rs, in binary64; parameters and data come from the same formula as there.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.set_default_dtype(torch.float64)


def numbers(count, seed):
    return torch.tensor([((i * 7919 + seed * 1543 + 1) % 1009) / 504.5 - 1 for i in range(count)])


class BasicBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + x)


class DownBlock(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.shortcut = nn.Conv2d(before, after, 1, stride=2, bias=False)
        self.norm = nn.BatchNorm2d(after)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.norm(self.shortcut(x)))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(6)
        self.layer1 = nn.ModuleList([BasicBlock(6), BasicBlock(6)])
        self.layer2 = DownBlock(6, 10)
        self.fc = nn.Linear(10, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, stride=2, padding=1)
        for block in self.layer1:
            x = block(x)
        return self.fc(F.adaptive_avg_pool2d(self.layer2(x), 1).flatten(1))


def line(name, values):
    print(name, *(f"{v:.9g}" for v in values.flatten().tolist()))


model = ResNet()
with torch.no_grad():
    for seed, name in enumerate(sorted(n for n, _ in model.named_parameters())):
        p = model.get_parameter(name)
        p.copy_(numbers(p.numel(), seed).reshape(p.shape) / 2)
rule = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=0.001)
for step in range(3):
    images = numbers(5 * 3 * 17 * 15, 100 + step).reshape(5, 3, 17, 15)
    loss = F.cross_entropy(model(images), torch.arange(5) % 4)
    line(f"loss{step}", loss)
    rule.zero_grad()
    loss.backward()
    rule.step()
for name in ["conv1.weight", "bn1.running_var", "layer1.1.bn1.running_mean", "layer2.shortcut.weight", "fc.weight"]:
    line(name, model.state_dict()[name])
model.eval()
line("scores", model(numbers(5 * 3 * 17 * 15, 200).reshape(5, 3, 17, 15)))
