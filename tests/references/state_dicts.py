"""Writes `state_dicts.safetensors`, the `state_dict` of an MLP, a CNN with batch norms that was trained for some steps and
an LSTM, as PyTorch saves it, and `state_dicts.txt`: an argument of each and what comes out, computed in binary64.

    python state_dicts.py
"""

import pathlib

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

torch.manual_seed(2)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(7, 13)
        self.output = nn.Linear(13, 3)

    def forward(self, x):
        return self.output(torch.tanh(self.hidden(x)))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 8, 3, groups=2)
        self.bn2 = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = Mlp()
        self.cnn = Cnn()
        self.lstm = nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True)


model = Model()
optimizer = torch.optim.SGD(model.cnn.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    model.cnn(2 * torch.randn(9, 3, 11, 9) + 0.5).square().mean().backward()
    optimizer.step()
folder = pathlib.Path(__file__).parent
save_file(model.state_dict(), folder / "state_dicts.safetensors")

model = model.eval()
x, image, sequence = torch.randn(4, 7), torch.randn(2, 3, 11, 9), torch.randn(3, 6, 4)
lines = [f"# torch {torch.__version__.split('+')[0]}"]


def line(name, tensor):
    lines.append(f"{name}: " + " ".join(f"{v:.9g}" for v in tensor.detach().flatten().tolist()))


line("x", x)
line("image", image)
line("sequence", sequence)
model = model.double()
line("mlp", model.mlp(x.double()))
line("cnn", model.cnn(image.double()))
output, (h, c) = model.lstm(sequence.double())
line("output", output)
line("h", h)
line("c", c)
(folder / "state_dicts.txt").write_text("\n".join(lines) + "\n")
