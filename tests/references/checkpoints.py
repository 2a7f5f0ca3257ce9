"""Writes small checkpoints of networks as their packages save them, with random weights, and `checkpoints.txt`: an argument
of each and what comes out, computed in binary64.

    python checkpoints.py

GPT-2, BERT and Llama are those of Hugging Face's Transformers, the vision transformer and ConvNeXt those of timm. Weights are
exact in what they are stored in: BERT in binary16, Llama in bfloat16.
"""

import pathlib

import timm
import torch
import transformers
from safetensors.torch import save_file
from torch import nn

folder = pathlib.Path(__file__).parent / "checkpoints"
folder.mkdir(exist_ok=True)
lines = [f"# torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, timm {timm.__version__}"]


def line(name, tensor):
    lines.append(f"{name}: " + " ".join(f"{v:.9g}" for v in tensor.detach().flatten().tolist()))


def write(name, model, argument, result, dtype=torch.float32):
    """The parameters of a model, and what it makes of an argument."""
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
    line(f"{name} x", argument)
    line(f"{name} y", result(model.double())(argument.double() if argument.is_floating_point() else argument))


torch.manual_seed(3)
ids = torch.randint(50, (2, 7))
write("gpt2", transformers.GPT2LMHeadModel(transformers.GPT2Config(
    vocab_size=50, n_positions=16, n_embd=24, n_layer=2, n_head=4)), ids, lambda model: lambda x: model(x).logits)
write("bert", transformers.BertModel(transformers.BertConfig(
    vocab_size=50, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
    max_position_embeddings=16)), ids, lambda model: lambda x: model(x).pooler_output, torch.float16)
write("llama", transformers.LlamaForCausalLM(transformers.LlamaConfig(
    vocab_size=50, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=16)), ids, lambda model: lambda x: model(x).logits, torch.bfloat16)
image = torch.randn(2, 3, 16, 16)
write("vit", timm.models.VisionTransformer(
    img_size=16, patch_size=4, embed_dim=24, depth=2, num_heads=4, num_classes=5), image, lambda model: model)
write("convnext", timm.models.ConvNeXt(
    depths=(1, 2, 1, 1), dims=(6, 8, 12, 16), num_classes=5), torch.randn(1, 3, 32, 32), lambda model: model)
(folder / "checkpoints.txt").write_text("\n".join(lines) + "\n")
