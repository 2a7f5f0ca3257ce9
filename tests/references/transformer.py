"""Writes `transformer.safetensors`, the `state_dict` of some of PyTorch's Transformers, and `transformer.txt`: arguments,
what comes out, and derivatives of the sum of the outputs, each times `((7 i + 3) mod 11 − 4.5) / 4` for element `i`.

    python transformer.py
"""

import pathlib

import torch
from safetensors.torch import save_file
from torch import nn

torch.manual_seed(1)
B, T, S, DIM, HEADS, HIDDEN = 2, 5, 7, 8, 2, 12


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        options = dict(dim_feedforward=HIDDEN, batch_first=True, dropout=0.0)
        post = nn.TransformerEncoderLayer(DIM, HEADS, **options)
        pre = nn.TransformerEncoderLayer(DIM, HEADS, activation="gelu", norm_first=True, **options)
        decoder = nn.TransformerDecoderLayer(DIM, HEADS, activation="gelu", **options)
        self.post = nn.TransformerEncoder(post, 2, enable_nested_tensor=False)
        self.pre = nn.TransformerEncoder(pre, 2, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(decoder, 2)
        self.mixed = nn.MultiheadAttention(DIM, HEADS, batch_first=True)


model = Model()
# Layers are copies of each other, and norms and offsets start as ones and zeros.
with torch.no_grad():
    for parameter in model.parameters():
        parameter += 0.2 * torch.randn_like(parameter)
folder = pathlib.Path(__file__).parent
save_file(model.state_dict(), folder / "transformer.safetensors")

model = model.double()
x, y = torch.randn(B, T, DIM), torch.randn(B, S, DIM)
lengths = torch.tensor([3, 5])
hidden = torch.arange(T)[None] >= lengths[:, None]
causal = nn.Transformer.generate_square_subsequent_mask(T, dtype=torch.float64)
xd, yd = x.double(), y.double()
results = {
    "post": model.post(xd),
    "hidden": model.post(xd, src_key_padding_mask=hidden),
    "pre": model.pre(xd, mask=causal, is_causal=True),
    "decoder": model.decoder(xd, yd, tgt_mask=causal, tgt_is_causal=True),
    "mixed": model.mixed(xd, yd, yd, need_weights=False)[0],
}
total = sum(
    (value.flatten() * ((7 * torch.arange(value.numel()) + 3) % 11 - 4.5) / 4).sum() for value in results.values()
)
total.backward()
lines = [f"# torch {torch.__version__.split('+')[0]}"]


def line(name, tensor):
    lines.append(f"{name}: " + " ".join(f"{v:.9g}" for v in tensor.flatten().tolist()))


line("x", x)
line("y", y)
line("lengths", lengths)
for name, value in results.items():
    line(f"= {name}", value)
for name, parameter in model.named_parameters():
    if any(part in name for part in ("in_proj", "linear1", "norm1")):
        line(f"d {name}", parameter.grad)
(folder / "transformer.txt").write_text("\n".join(lines) + "\n")
