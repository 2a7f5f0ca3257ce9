"""Trains the network of the example `gpt` with PyTorch, on the same text, windows and rates.

    python examples/torch/gpt.py [steps] [seed]

Written for PyTorch 2.15; nothing else is needed. Prints what the example prints, to compare the losses.
"""
import math
import pathlib
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

LAYERS, HEADS, DIM, CONTEXT, BATCH = 4, 4, 128, 64, 12
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1

text = (pathlib.Path(__file__).parent.parent / "data/shakespeare.txt").read_text()
alphabet = sorted(set(text))
ids = torch.tensor([alphabet.index(c) for c in text])
cut = len(ids) // 10 * 9
learnt, kept = ids[:cut], ids[cut:]


class Windows:
    """The windows of `examples::text::Windows`."""

    def __init__(self, ids, seed):
        self.ids, self.state = ids, seed

    def draw(self):
        now, after = [], []
        for _ in range(BATCH):
            self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
            start = (self.state * (len(self.ids) - CONTEXT)) >> 64
            now.append(self.ids[start : start + CONTEXT])
            after.append(self.ids[start + 1 : start + CONTEXT + 1])
        return torch.stack(now), torch.stack(after)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(DIM, bias=False)
        self.qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.out = nn.Linear(DIM, DIM, bias=False)
        self.norm2 = nn.LayerNorm(DIM, bias=False)
        self.up = nn.Linear(DIM, 4 * DIM, bias=False)
        self.down = nn.Linear(4 * DIM, DIM, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (y.view(b, t, HEADS, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(DIM, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(len(alphabet), DIM)
        self.position = nn.Embedding(CONTEXT, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(DIM, bias=False)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                last = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * LAYERS) if last else 0.02)

    def forward(self, ids, after):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        scores = self.norm(x) @ self.token.weight.T
        return F.cross_entropy(scores.flatten(0, 1), after.flatten())


def rate(step):
    warm, most, least = min(100, steps), 1e-3, 1e-4
    if step < warm:
        return most * (step + 1) / (warm + 1)
    return least + (most - least) * (1 + math.cos((step - warm) / (steps - warm) * math.pi)) / 2


torch.manual_seed(seed)
torch.set_num_threads(2)
gpt = Gpt()
groups = [
    {"params": [p for p in gpt.parameters() if p.dim() == 2], "weight_decay": 0.1},
    {"params": [p for p in gpt.parameters() if p.dim() < 2], "weight_decay": 0.0},
]
optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.99))
windows, losses, start = Windows(learnt, seed), [], time.time()
for step in range(steps):
    for group in optimizer.param_groups:
        group["lr"] = rate(step)
    loss = gpt(*windows.draw())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(gpt.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
    if len(losses) == 250 or step + 1 == steps:
        print(f"step {step + 1:>4}: loss {sum(losses) / len(losses):.4f}", flush=True)
        losses = []
print(f"{steps} steps of {BATCH} windows in {time.time() - start:.1f} s with PyTorch {torch.__version__}")
windows = Windows(kept, 0)
with torch.no_grad():
    print(f"loss on text that it has not seen: {sum(gpt(*windows.draw()).item() for _ in range(200)) / 200:.4f}")
