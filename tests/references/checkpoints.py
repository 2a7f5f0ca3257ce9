"""Writes small checkpoints of networks as their packages save them, with random weights, and `checkpoints.txt`: an argument
of each and what comes out, computed in binary64.

    python checkpoints.py

GPT-2, BERT and Llama are those of Hugging Face's Transformers, the vision transformer and ConvNeXt those of timm, MobileNetV3 and
ResNet those of torchvision, with few layers and channels; MobileNetV3 is trained for two steps as well. Weights are
exact in what they are stored in: BERT and Llama in binary16 and in bfloat16. GPT-2, BERT and Llama are in several files with
an index as well, as `save_pretrained` writes them.
"""

import copy
import pathlib

import timm
import torch
import transformers
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F
from torchvision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3
from torchvision.models.resnet import BasicBlock, ResNet

folder = pathlib.Path(__file__).parent / "checkpoints"
folder.mkdir(exist_ok=True)
lines = [f"# torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, timm {timm.__version__}"]


def line(name, tensor):
    lines.append(f"{name}: " + " ".join(f"{v:.9g}" for v in tensor.detach().flatten().tolist()))


def image(*shape):
    """Numbers that are short to write."""
    return (8 * torch.randn(shape)).round() / 8


def write(name, model, argument, result, dtype=torch.float32, shard=None):
    """The parameters of a model, in one file and in shards of some size, and what it makes of an argument."""
    model = model.eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # Away from the zeros and ones at which norms and biases start.
            parameter.add_(0.1 * torch.randn_like(parameter))
            parameter.copy_(parameter.to(torch.half if dtype == torch.float32 else dtype))
    tied = set()
    tensors = {}
    for key, value in model.state_dict().items():
        # What two names share is stored once, as the packages do.
        if value.data_ptr() in tied:
            continue
        tied.add(value.data_ptr())
        tensors[key] = value.to(dtype).contiguous()
    save_file(tensors, folder / f"{name}.safetensors")
    if shard:
        copy.deepcopy(model).to(dtype).save_pretrained(folder / name, max_shard_size=shard)
        for path in [*(folder / name).glob("*config.json")]:
            path.unlink()
    line(f"{name} x", argument)
    line(f"{name} y", result(model.double())(argument.double() if argument.is_floating_point() else argument))


torch.manual_seed(3)
ids = torch.randint(50, (2, 7))
write("gpt2", transformers.GPT2LMHeadModel(transformers.GPT2Config(
    vocab_size=50, n_positions=16, n_embd=24, n_layer=2, n_head=4)), ids, lambda model: lambda x: model(x).logits, shard="30KB")


def bert(name, *how):
    write(name, transformers.BertModel(transformers.BertConfig(
        vocab_size=50, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
        max_position_embeddings=16)), ids, lambda model: lambda x: model(x).pooler_output, *how)


def llama(name, *how):
    write(name, transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=50, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=16)), ids, lambda model: lambda x: model(x).logits, *how)


bert("bert", torch.float16)
llama("llama", torch.bfloat16, "10KB")
write("vit", timm.models.VisionTransformer(
    img_size=16, patch_size=4, embed_dim=24, depth=2, num_heads=4, num_classes=5), image(2, 3, 16, 16), lambda model: model)
write("convnext", timm.models.ConvNeXt(
    depths=(1, 2, 1, 1), dims=(6, 8, 12, 16), num_classes=5), image(1, 3, 32, 32), lambda model: model)


class Thin(ResNet):
    """ResNet's blocks and names with four channels in the place of 64."""

    def __init__(self):
        super().__init__(BasicBlock, [1, 1, 1, 1], num_classes=5)
        self.inplanes = 4
        self.conv1 = nn.Conv2d(3, 4, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.layer1 = self._make_layer(BasicBlock, 4, 2)
        self.layer2 = self._make_layer(BasicBlock, 6, 2, stride=2)
        self.layer3 = self._make_layer(BasicBlock, 8, 2, stride=2)
        self.layer4 = self._make_layer(BasicBlock, 10, 2, stride=2)
        self.fc = nn.Linear(10, 5)


write("resnet", Thin(), image(1, 3, 40, 40), lambda model: model)
conf = lambda *numbers: InvertedResidualConfig(*numbers, 1, 1.0)
mobilenet = MobileNetV3([
    conf(8, 3, 8, 8, True, "RE", 2), conf(8, 3, 16, 8, False, "RE", 2), conf(8, 3, 24, 8, False, "RE", 1),
    conf(8, 5, 24, 16, True, "HS", 2), conf(16, 5, 32, 16, True, "HS", 1)], 24, num_classes=5, dropout=0.0)
batch = image(4, 3, 32, 32)
write("mobilenet", mobilenet, batch, lambda model: model)
label = torch.tensor([0, 3, 1, 4])
losses = []
optimizer = torch.optim.SGD(mobilenet.train().parameters(), lr=0.05)
for _ in range(2):
    optimizer.zero_grad()
    loss = F.cross_entropy(mobilenet(batch.double()), label)
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
line("mobilenet losses", torch.stack(losses))
save_file({key: value.float() for key, value in mobilenet.state_dict().items()}, folder / "mobilenet-trained.safetensors")
bert("bert-bf16", torch.bfloat16, "10KB")
llama("llama-f16", torch.float16)
(folder / "checkpoints.txt").write_text("\n".join(lines) + "\n")
