"""Writes the ONNX files that tests import, and what ONNX Runtime makes of them: `onnx/*.onnx`, and `onnx.txt`.

    pip install onnx onnxruntime numpy && python tests/references/onnx_files.py
"""

import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, external_data_helper, helper, numpy_helper

HERE = pathlib.Path(__file__).parent


def initializer(random, name, *shape, low=-0.5, high=0.5):
    return numpy_helper.from_array(random.uniform(low, high, shape).astype(np.float32), name)


def images():
    """A convolutional network whose flattening is written as PyTorch's exporter writes it, over the shape of its argument."""
    random = np.random.default_rng(1)
    node = helper.make_node
    nodes = [
        node("Conv", ["image", "conv.weight", "conv.bias"], ["conv"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("BatchNormalization", ["conv", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"], ["norm"]),
        node("Relu", ["norm"], ["relu"]),
        node("MaxPool", ["relu"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Shape", ["pool"], ["shape"]),
        node("Constant", [], ["zero"], value_int=0),
        node("Gather", ["shape", "zero"], ["batch"], axis=0),
        node("Constant", [], ["first"], value_ints=[0]),
        node("Unsqueeze", ["batch", "first"], ["extent"]),
        node("Constant", [], ["rest"], value_ints=[-1]),
        node("Concat", ["extent", "rest"], ["flat_shape"], axis=0),
        node("Reshape", ["pool", "flat_shape"], ["flat"]),
        node("Gemm", ["flat", "head.weight", "head.bias"], ["scores"], transB=1),
    ]
    weights = [
        initializer(random, "conv.weight", 4, 1, 3, 3),
        initializer(random, "conv.bias", 4),
        initializer(random, "norm.weight", 4, low=0.5, high=1.5),
        initializer(random, "norm.bias", 4),
        initializer(random, "norm.running_mean", 4),
        initializer(random, "norm.running_var", 4, low=0.5, high=1.5),
        initializer(random, "head.weight", 3, 16),
        initializer(random, "head.bias", 3),
    ]
    argument = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])
    result = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 3])
    return helper.make_graph(nodes, "images", [argument], [result], weights)


def words():
    """Embeddings of words, a recurrent layer over as many as there are, and two results."""
    random = np.random.default_rng(2)
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "words"], ["embedded"]),
        node("Transpose", ["embedded"], ["steps"], perm=[1, 0, 2]),
        node("GRU", ["steps", "weight", "recurrent", "offsets"], ["states", "last"], hidden_size=5, linear_before_reset=1),
        node("Squeeze", ["last", "first"], ["state"]),
        node("Equal", ["words", "stop"], ["is_stop"]),
        node("Cast", ["is_stop"], ["stops"], to=TensorProto.INT64),
        node("ReduceSum", ["stops", "second"], ["count"], keepdims=0),
    ]
    weights = [
        initializer(random, "table", 11, 4),
        initializer(random, "weight", 1, 15, 4),
        initializer(random, "recurrent", 1, 15, 5),
        initializer(random, "offsets", 1, 30),
        numpy_helper.from_array(np.array([0]), "first"),
        numpy_helper.from_array(np.array([1]), "second"),
        numpy_helper.from_array(np.array(3), "stop"),
    ]
    argument = helper.make_tensor_value_info("words", TensorProto.INT64, ["batch", "length"])
    results = [
        helper.make_tensor_value_info("state", TensorProto.FLOAT, ["batch", 5]),
        helper.make_tensor_value_info("count", TensorProto.INT64, ["batch"]),
    ]
    return helper.make_graph(nodes, "words", [argument], results, weights)


def types():
    """Weights of many types, computed with before they are used, and names that two have or that the runtime does not allow."""
    random = np.random.default_rng(4)
    node = helper.make_node
    known = lambda name, numbers, dtype: numpy_helper.from_array(np.asarray(numbers, dtype), name)

    def branch(name, operator):
        result = helper.make_tensor_value_info("chosen", TensorProto.FLOAT, ["batch", 3])
        weight = initializer(random, "w", 3)
        return helper.make_graph([node(operator, ["joined", "w"], ["chosen"])], name, [], [result], [weight])

    def choice(condition, result):
        return node("If", [condition], [result], then_branch=branch("sum", "Add"), else_branch=branch("product", "Mul"))

    nodes = [
        node("Cast", ["half"], ["half_wide"], to=TensorProto.FLOAT),
        node("Transpose", ["half_wide"], ["half_turned"]),
        node("MatMul", ["x", "half_turned"], ["a"]),
        node("DequantizeLinear", ["bytes", "scale"], ["bytes_wide"]),
        node("MatMul", ["x", "bytes_wide"], ["b"]),
        node("Gather", ["table*", "picks"], ["c"]),
        node("Cast", ["eighth"], ["d"], to=TensorProto.FLOAT),
        node("Gather", ["table*", "words"], ["e"]),
        node("Where", ["mask", "a", "b"], ["f"]),
        node("Sum", ["a", "b", "c", "d", "e", "f"], ["joined"]),
        choice("yes", "first"),
        choice("no", "second"),
        node("Add", ["first", "second"], ["y"]),
    ]
    eighth = helper.make_tensor("eighth", TensorProto.FLOAT8E4M3FN, [3], bytes([0x38, 0xB9, 0x03]), raw=True)
    weights = [
        numpy_helper.from_array(random.uniform(-1, 1, (3, 4)).astype(np.float16), "half"),
        known("bytes", random.integers(-100, 100, (4, 3)), np.int8),
        known("scale", 0.01, np.float32),
        initializer(random, "table*", 5),
        known("picks", [4, 0, 2], np.int64),
        eighth,
        known("words", [3, 1, 4], np.int32),
        known("mask", [True, False, True], bool),
        known("yes", True, bool),
        known("no", False, bool),
    ]
    argument = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])
    return helper.make_graph(nodes, "types", [argument], [result], weights)


def layers():
    """Layers that are alike but for their weights, with one of another kind between them, all of which read a gate made before them."""
    random = np.random.default_rng(5)
    node = helper.make_node
    nodes, weights, before = [node("Sigmoid", ["x"], ["gate"])], [], "x"
    for number in range(7):
        own = lambda name: f"layer.{number}.{name}"
        activation = "Tanh" if number == 3 else "Sigmoid"
        nodes += [
            node("LayerNormalization", [before, own("norm.weight"), own("norm.bias")], [own("normed")]),
            node("MatMul", [own("normed"), own("up.weight")], [own("up")]),
            node("Add", [own("up"), own("up.bias")], [own("hidden")]),
            node(activation, [own("hidden")], [own("active")]),
            node("MatMul", [own("active"), own("down.weight")], [own("down")]),
            node("Mul", [own("down"), "gate"], [own("gated")]),
            node("Add", [own("gated"), before], [own("result")]),
        ]
        weights += [
            initializer(random, own("norm.weight"), 4, low=0.5, high=1.5),
            initializer(random, own("norm.bias"), 4),
            initializer(random, own("up.weight"), 4, 6),
            initializer(random, own("up.bias"), 6),
            initializer(random, own("down.weight"), 6, 4),
        ]
        before = own("result")
    nodes.append(node("Identity", [before], ["y"]))
    argument = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])
    return helper.make_graph(nodes, "layers", [argument], [result], weights)


def external():
    """Initialisers and a constant whose elements are in two other files, those of two initialisers in one place."""
    random = np.random.default_rng(5)
    node = helper.make_node
    matrix = initializer(random, "matrix", 24, 4)
    nodes = [
        node("MatMul", ["x", "first.weight"], ["first"]),
        node("Add", ["first", "first.bias"], ["shifted"]),
        node("Relu", ["shifted"], ["positive"]),
        node("Constant", [], ["matrix"], value=matrix),
        node("MatMul", ["positive", "matrix"], ["narrow"]),
        node("MatMul", ["narrow", "encoder.weight"], ["wide"]),
        node("Transpose", ["decoder.weight"], ["transposed"]),
        node("MatMul", ["wide", "transposed"], ["again"]),
        node("Cast", ["half"], ["scale"], to=TensorProto.FLOAT),
        node("Mul", ["again", "scale"], ["scaled"]),
        node("Reshape", ["scaled", "square"], ["y"]),
    ]
    tied = initializer(random, "encoder.weight", 4, 6)
    weights = [
        initializer(random, "first.weight", 4, 24),
        initializer(random, "first.bias", 24),
        tied,
        numpy_helper.from_array(numpy_helper.to_array(tied), "decoder.weight"),
        numpy_helper.from_array(random.uniform(0.5, 1.5, 4).astype(np.float16), "half"),
        numpy_helper.from_array(np.array([-1, 2, 2]), "square"),
    ]
    argument = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 2, 2])
    return helper.make_graph(nodes, "external", [argument], [result], weights)


def move_to_other_files(model):
    """Writes the elements of tensors of `external` to other files, with gaps between them. The others stay where they are."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    tensors["matrix"] = next(node.attribute[0].t for node in model.graph.node if node.op_type == "Constant")
    files = {
        "external.data": ["half", "encoder.weight"],
        "parts/more.data": ["matrix"],
    }
    for location, names in files.items():
        data = b""
        for name in names:
            data += b"-" * (-len(data) % 64)
            for own in [tensors[name]] + [tensors["decoder.weight"]] * (name == "encoder.weight"):
                external_data_helper.set_external_data(own, location, offset=len(data), length=len(own.raw_data))
            data += tensors[name].raw_data
        path = HERE / "onnx" / location
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    for tensor in tensors.values():
        if external_data_helper.uses_external_data(tensor):
            tensor.ClearField("raw_data")


def main():
    random = np.random.default_rng(3)
    arguments = {
        "images": {"image": random.standard_normal((2, 1, 8, 8)).astype(np.float32)},
        "words": {"words": random.integers(0, 11, (3, 6))},
        "types": {"x": random.standard_normal((2, 4)).astype(np.float32)},
        "layers": {"x": random.standard_normal((3, 4)).astype(np.float32)},
        "external": {"x": random.standard_normal((3, 4)).astype(np.float32)},
    }
    # Optimised, products with quantised weights quantise their other factor, too.
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    lines = []
    for graph, version in [(images(), 17), (words(), 17), (types(), 19), (layers(), 17), (external(), 17)]:
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8 if version == 17 else 9)
        onnx.checker.check_model(model, full_check=True)
        if graph.name == "external":
            move_to_other_files(model)
        path = HERE / "onnx" / f"{graph.name}.onnx"
        path.write_bytes(model.SerializeToString(deterministic=True))
        given = arguments[graph.name]
        results = onnxruntime.InferenceSession(path, options).run(None, given)
        named = list(given.items()) + list(zip([output.name for output in graph.output], results))
        for name, values in named:
            numbers = " ".join(repr(value) for value in values.ravel().tolist())
            lines.append(f"{graph.name} {name}: {numbers}\n")
    (HERE / "onnx.txt").write_text("".join(lines))


main()
