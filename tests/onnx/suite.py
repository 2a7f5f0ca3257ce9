"""Writes the backend tests of the PyPI package onnx as folders: python tests/onnx/suite.py DIR

DIR/node/NAME/model.onnx has the model of a test, and DIR/node/NAME/test_data_set_0/{input,output}_K.pb its tensors.
Tests of sequences, maps and optional values are left out.
"""

import sys
from pathlib import Path

import numpy
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_node_model_tests


def serialized(value, name):
    tensor = value if isinstance(value, TensorProto) else numpy_helper.from_array(numpy.asarray(value), name)
    return tensor.SerializeToString(deterministic=True)


for test in load_node_model_tests():
    values = [*test.model.graph.input, *test.model.graph.output]
    if any(value.type.WhichOneof("value") != "tensor_type" for value in values):
        continue
    folder = Path(sys.argv[1], "node", test.name)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(test.model.SerializeToString(deterministic=True))
    inputs, outputs = test.data_sets[0]
    for kind, tensors, infos in ("input", inputs, test.model.graph.input), ("output", outputs, test.model.graph.output):
        for k, (tensor, info) in enumerate(zip(tensors, infos)):
            (data / f"{kind}_{k}.pb").write_bytes(serialized(tensor, info.name))
