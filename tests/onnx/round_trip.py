"""Checks a suite of exported models: python tests/onnx/round_trip.py DIR [--only TEXT] [--verbose]

DIR has folders like those of suite.py. Each model is checked by onnx.checker and evaluated by ONNX Runtime, where it lacks an
operator or a type by the reference evaluator of the package onnx, and its results are compared with those of the data.
"""

import argparse
import collections
import sys
import warnings
from pathlib import Path

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

# Floats: relative and absolute errors; those of few bits are held to their last place.
RELATIVE, ABSOLUTE = 1e-3, 1e-5
FEW_BITS = {"bfloat16": 2**-6, "float8_e4m3fn": 2**-2}

# What ONNX Runtime says where it has no kernel for a type, or NumPy no such type.
LACKS = ["NOT_IMPLEMENTED", "Numpy_type", "Numpy type"]


def tensor(path):
    return numpy_helper.to_array(onnx.load_tensor(str(path)))


def tensors(folder, kind):
    count = len(list(folder.glob(f"{kind}_*.pb")))
    return [tensor(folder / f"{kind}_{k}.pb") for k in range(count)]


def difference(wanted, made):
    """Why two tensors are not the same; nothing where they are."""
    made = numpy.asarray(made)
    if (wanted.shape, wanted.dtype) != (made.shape, made.dtype):
        return f"{made.dtype}{list(made.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
    relative = max(RELATIVE, FEW_BITS.get(wanted.dtype.name, 0))
    if wanted.dtype.kind == "f" or wanted.dtype.name in FEW_BITS:
        wanted, made = wanted.astype(numpy.float64), made.astype(numpy.float64)
        same = numpy.isclose(made, wanted, rtol=relative, atol=ABSOLUTE, equal_nan=True)
    else:
        same = wanted == made
    if same.all():
        return None
    at = tuple(numpy.argwhere(~same)[0])
    return f"{int((~same).sum())} of {same.size} differ, such as {made[at]} instead of {wanted[at]} at {[int(k) for k in at]}"


def evaluated(file, feeds):
    """The results and what gave them."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        return session.run(None, feeds), "ONNX Runtime"
    except Exception as why:
        if not any(word in str(why) for word in LACKS):
            return None, str(why).split("\n")[0]
    try:
        return ReferenceEvaluator(str(file)).run(None, feeds), "reference"
    except Exception as why:
        return None, f"reference: {type(why).__name__}: {why}"


def outcome(folder):
    """What evaluated a model, and what is wrong."""
    file, data = folder / "model.onnx", folder / "test_data_set_0"
    model = onnx.load(str(file))
    try:
        onnx.checker.check_model(str(file), full_check=True)
    except Exception as why:
        return "checker", " ".join(str(why).split())
    feeds = dict(zip((one.name for one in model.graph.input), tensors(data, "input")))
    made, by = evaluated(file, feeds)
    if made is None:
        return "failed", by
    wanted = tensors(data, "output")
    if len(wanted) != len(made):
        return by, f"{len(made)} results instead of {len(wanted)}"
    found = (difference(*pair) for pair in zip(wanted, made))
    return by, next((f"result {k}: {why}" for k, why in enumerate(found) if why), None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("suite", type=Path)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    warnings.filterwarnings("ignore")
    counts = collections.Counter()
    folders = sorted(file.parent for file in args.suite.glob("**/model.onnx") if args.only in str(file.parent))
    for folder in folders:
        by, why = outcome(folder)
        counts[by, why is None] += 1
        if why:
            print(f"{folder.name}: {by}: {why}"[:400], flush=True)
    print("\n| evaluated by | equal | different |\n|---|---|---|")
    for by in sorted({by for by, _ in counts}):
        print(f"| {by} | {counts[by, True]} | {counts[by, False]} |")
    equal = sum(count for (_, is_equal), count in counts.items() if is_equal)
    print(f"| **all** | {equal} | {len(folders) - equal} |")
    return 0 if equal == len(folders) else 1


if __name__ == "__main__":
    sys.exit(main())
