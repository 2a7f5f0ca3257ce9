"""Writes resnet18.onnx and classes.txt beside this file: torchvision's ResNet-18 for the 1,000 classes of ImageNet.

    pip install torch torchvision onnx
    python examples/onnx_resnet/fetch.py

Its weights are downloaded (45 MB). Where torchvision's server cannot be reached, `--random` makes some, which know nothing but
can be trained.
"""

import functools
import pathlib
import sys

import torch
from torchvision.models import ResNet18_Weights, resnet18

HERE = pathlib.Path(__file__).parent
WEIGHTS = ResNet18_Weights.IMAGENET1K_V1


class FeaturesAndScores(torch.nn.Module):
    """The scores of the classes, and the features that they are made of, for what is to be learnt besides."""

    def __init__(self, net):
        super().__init__()
        self.fc, net.fc = net.fc, torch.nn.Identity()
        self.net = net

    def forward(self, image):
        features = self.net(image)
        return features, self.fc(features)


def random():
    """A network whose batch norms have the statistics of some random pictures: without them all pictures would look alike to it."""
    torch.manual_seed(0)
    net = resnet18(norm_layer=functools.partial(torch.nn.BatchNorm2d, momentum=1.0))
    with torch.no_grad():
        net(torch.nn.functional.interpolate(torch.randn(32, 3, 14, 14), size=224))
    return net


net = FeaturesAndScores(random() if "--random" in sys.argv else resnet18(weights=WEIGHTS)).eval()
names = ["image", "features", "scores"]
# Without these two options batch norms would be part of the convolutions before them.
torch.onnx.export(
    net,
    (torch.zeros(1, 3, 224, 224),),
    HERE / "resnet18.onnx",
    dynamo=False,
    opset_version=17,
    do_constant_folding=False,
    training=torch.onnx.TrainingMode.PRESERVE,
    input_names=names[:1],
    output_names=names[1:],
    dynamic_axes={name: {0: "batch"} for name in names},
)
(HERE / "classes.txt").write_text("\n".join(WEIGHTS.meta["categories"]) + "\n")
