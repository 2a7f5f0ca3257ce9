"""Judges compiled random programs by PyTorch in float64.

    PRECAST_PYTORCH=DIR PRECAST_SEED=20000 PRECAST_FUZZ=100 cargo run --release -p whole
    python tests/whole/pytorch.py DIR

reads what the batches wrote for each program (`src/dump.rs`): the program as JSON (`src/json.rs`), the arguments and parameters
of each call, the words that the compiled code gave, and the span of what our oracle gives under several roundings. Results,
losses and the gradients of parameters are computed again by PyTorch and its autograd, and compared element by element
within the bounds of `src/judge.rs`; elements at which the oracle's roundings disagree are excused. A call that PyTorch
cannot express is named and counted.
"""

import collections
import json
import math
import pathlib
import sys
import traceback
import warnings

import torch

import pytorch_layers
from pytorch_ops import OPS, Call, Unsupported

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
# They would end up among the verdicts.
warnings.simplefilter("ignore")

# How far PyTorch may be from the oracle that does not round, relative to the largest number: constants are f32 in one
# of them, functions such as erf are approximated in both.
EXACT = 1e-6


def extent(text, dims):
    """An extent, which is text in the named dimensions."""
    return eval(text, {"div": lambda a, b: a // b, "max": max}, dict(dims))


def tensor_of(given):
    """A tensor of the file."""
    numbers = given["numbers"]
    dtype = {"f32": torch.float64, "bool": torch.bool}.get(given["dtype"], torch.int64)
    return torch.tensor(numbers, dtype=torch.float64).to(dtype).reshape(given["shape"])


def wrapped(x, dtype):
    """Integers as 32 bits hold them."""
    if dtype == "u32":
        return x & 0xFFFFFFFF
    if dtype == "i32":
        return ((x + 2**31) & 0xFFFFFFFF) - 2**31
    return x


class Machine:
    """Evaluates a program on one call's arguments."""

    def __init__(self, program, call):
        self.program, self.dims, self.trains, self.key = program, call["dims"], call["trains"], call["key"]
        self.sites, self.closed = 0, False
        self.params = {name: tensor_of(x) for name, x in call["params"].items()}
        if self.trains:
            for x in self.params.values():
                x.requires_grad_(True)
        self.values = {int(local): tensor_of(x) for local, x in call["args"].items()}
        for local in program["params"]:
            self.values[local] = self.params[f"p{local}"]

    def shape(self, local):
        return [extent(text, self.dims) for text in self.program["types"][local]["shape"]]

    def attribute(self, value):
        if isinstance(value, list):
            return [self.attribute(x) for x in value]
        return extent(value["dim"], self.dims) if isinstance(value, dict) else value

    def set(self, local, value, what):
        """Keeps a value, which must have the type that the program gives it."""
        ty = self.program["types"][local]
        kind = torch.float64 if ty["dtype"] == "f32" else torch.bool if ty["dtype"] == "bool" else torch.int64
        if list(value.shape) != self.shape(local) or value.dtype != kind:
            raise TypeError(f"{what}: v{local} is {value.dtype} {list(value.shape)}, not {ty} {self.shape(local)}")
        self.values[local] = wrapped(value, ty["dtype"])

    def results(self, step, values, what):
        values = values if isinstance(values, (tuple, list)) else (values,)
        if len(values) != len(step["results"]):
            raise TypeError(f"{what} gives {len(values)} results, not {len(step['results'])}")
        for local, value in zip(step["results"], values):
            self.set(local, value, what)

    def run(self, steps):
        for step in steps:
            getattr(self, step["kind"])(step)

    def inside(self, body, args):
        """What a closure gives."""
        outer, self.closed = self.closed, True
        for local, value in zip(body["params"], args):
            self.set(local, value, "a closure")
        self.run(body["steps"])
        self.closed = outer
        return [self.values[local] for local in body["outs"]]

    def apply(self, name, attrs, operands, named, step):
        if name not in OPS:
            raise Unsupported(name)
        attrs = {key: self.attribute(value) for key, value in attrs.items()}
        types = [self.program["types"][local] for local in step["results"]]
        shapes = [self.shape(local) for local in step["results"]]
        call = Call(name, attrs, shapes, [ty["dtype"] for ty in types], self, named)
        try:
            values = OPS[name](call, *operands)
        except (NotImplementedError, RuntimeError, ValueError, IndexError) as why:
            text = str(why).splitlines()[0]
            raise Unsupported(f"{name}: {text}") from why
        self.results(step, values, name)

    def call(self, step):
        operands, named = [], {}
        like = next((o["local"] for o in step["operands"] if "local" in o), None)
        for operand in step["operands"]:
            if "number" in operand:
                value = operand["number"]
                # A literal is an f32, or an integer beside integers.
                whole = self.values[like].dtype != torch.float64
                operands.append(torch.tensor(int(value)) if whole else torch.tensor(value).float().double())
            elif "name" in operand:
                named[operand["name"]] = self.values[operand["local"]]
            else:
                operands.append(self.values[operand["local"]])
        self.apply(step["op"], step["attrs"], operands, named, step)

    def layer(self, step):
        field = self.program["fields"][step["field"]]
        if field.get("layer") is None:
            raise Unsupported(field["declared"])
        prefix = f"f{step['field']}"
        own = [x for name, x in self.params.items() if name == prefix or name.startswith(prefix + ".")]
        attrs, name = dict(field["layer"]["attrs"]), field["layer"]["op"]
        operands, named = [self.values[local] for local in step["operands"]], {}
        if name in ("rnn", "lstm", "gru") and operands[-1].dtype != torch.float64:
            named["lengths"] = operands.pop()
        if name == "batch_norm" and self.trains:
            attrs["training"] = True
            call = Call(name, attrs, [], [], self, {})
            return self.results(step, OPS[name](call, *operands, *own)[0], name)
        return self.apply(name, attrs, operands + own, named, step)

    def branch(self, step):
        case = step["cases"][0 if bool(self.values[step["condition"]] > 0) else 1]
        self.results(step, self.inside(case, []), "if")

    def scan(self, step):
        rows = self.values[step["over"]].unbind(step["axis"])
        state, stacked = self.values[step["from"]], [None] * len(rows)
        for n in reversed(range(len(rows))) if step["reverse"] else range(len(rows)):
            state, *rest = self.inside(step["body"], [state, rows[n]])
            stacked[n] = rest[0] if rest else None
        stack = [] if step["form"] == "fold" else [torch.stack(stacked, step["axis"])]
        # Which of both comes first is told by their types where there are two.
        results = {"scan": stack, "fold": [state], "scan_with_state": stack + [state]}[step["form"]]
        self.results(step, results, step["form"])

    def map(self, step):
        rows = zip(*(self.values[local].unbind(0) for local in step["over"]))
        parts = zip(*[self.inside(step["body"], row) for row in rows])
        self.results(step, [torch.stack(part) for part in parts], "map")

    def repeat(self, step):
        block = self.program["fields"][step["field"]]
        stacks = [x for name, x in self.params.items() if name.startswith(f"f{step['field']}.")]
        x = self.values[step["over"]]
        for n in range(block["count"]):
            (x,) = self.inside(block["body"], [x, stacks[0][n]])
        self.results(step, x, "for")

    def derive(self, step):
        how = step["how"]
        # A node of its own for each argument, so that the derivative is by it alone.
        args = [self.values[local] for local in step["of"]]
        vector = args.pop() if how in ("hvp", "jvp", "vjp") else None
        args = [x * 1 if x.requires_grad else x.detach().clone().requires_grad_(True) for x in args]
        (y,) = self.inside(step["body"], args)

        def by(value, wanted, weight=None):
            if not value.requires_grad:
                return [torch.zeros_like(x) for x in wanted]
            options = {"create_graph": True, "allow_unused": True, "materialize_grads": True}
            return list(torch.autograd.grad(value, wanted, weight, **options))

        try:
            if how in ("grad", "value_and_grad"):
                results = [y] * (how == "value_and_grad") + by(y, args)
            elif how == "hvp":
                slope = sum((g * v).sum() for g, v in zip(by(y, args), [vector]))
                results = by(slope, args)
            elif how == "vjp":
                results = [y, *by(y, args, vector)]
            else:
                dummy = torch.zeros_like(y, requires_grad=True)
                slope = by(y, args, dummy)[0]
                results = [y, *by(slope, [dummy], vector)]
        except (NotImplementedError, RuntimeError) as why:
            raise Unsupported(f"{how}: {str(why).splitlines()[0]}") from why
        self.results(step, results, how)

    def outputs(self):
        """Everything that the call gives, by name."""
        self.run(self.program["steps"])
        if not self.trains:
            return {f"result v{v}": self.values[v] for v in self.program["results"]}
        terms = [(self.values[r].double() * self.values[w]).sum() for r, w in self.program["weighed"]]
        loss, made = sum(terms), {}
        if loss.requires_grad:
            leaves = list(self.params.values())
            try:
                found = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
            except (NotImplementedError, RuntimeError) as why:
                raise Unsupported(f"the gradient: {str(why).splitlines()[0]}") from why
            made = {f"gradient of {name}": g for name, g in zip(self.params, found)}
        return {"loss": loss, **made}


class Verdict:
    """The counts of a program, judged within the bounds of `src/judge.rs`, which its file holds."""

    def __init__(self, bounds, looser):
        self.bounds, self.looser = bounds, looser
        self.judged, self.skipped, self.undefined = 0, 0, 0
        self.wrong, self.oracle = [], []

    def compare(self, what, given, value):
        value = value.detach()
        if list(value.shape) != given["shape"]:
            self.wrong.append(f"{what}: {list(value.shape)} instead of {given['shape']}")
            return
        numbers = value.double().flatten().tolist()
        largest = max((abs(x) for x in numbers if math.isfinite(x)), default=0.0)
        rows = list(zip(numbers, given["found"], given["exact"], given["low"], given["high"]))
        wrong, far = [], []
        for at, row in enumerate(rows):
            fine = self.element(*row, largest, given["dtype"])
            if fine is None:
                self.skipped += 1
                continue
            self.judged += 1
            if not fine:
                wrong.append(at)
            if not self.exact(row[0], row[2], row[4] - row[3], largest):
                far.append(at)
        for list_, all_, name in ((self.wrong, wrong, "found"), (self.oracle, far, "exact")):
            if all_:
                at = all_[0]
                text = f"{given[name][at]} instead of {numbers[at]}, largest {largest:.3g}, span of {rows[at][3:]}"
                list_.append(f"{what} {given['shape']}: {len(all_)} of {len(rows)} wrong: element {at} is {text}")

    def skip(self, given):
        self.undefined += len(given["found"])

    def element(self, x, found, exact, low, high, largest, dtype):
        """Whether a number is right; None where the oracles disagree and the number is none of them."""
        loose = self.looser >= self.bounds["loose"]
        if x == found or math.isnan(x) and math.isnan(found):
            return True
        if dtype != "f32":
            return None if low != high or loose else False
        if not all(map(math.isfinite, (x, low, high))):
            # WGSL lets a compiler assume that there is neither NaN nor infinity.
            if self.looser > 1:
                return None
            # What is beyond f32, or NaN under some roundings only.
            agree = math.isfinite(low) == math.isfinite(high) == math.isfinite(exact)
            return (False if abs(x) < 3.4e38 else x * found > 0 and math.isinf(found)) if agree else None
        if abs(x) > 3.4e38:
            return math.isinf(found)
        spans, relative, of_largest = (self.bounds[name] for name in ("spans", "relative", "of_largest"))
        bound = (spans * (high - low) + relative * abs(x) + of_largest * largest + 1e-37) * self.looser
        if abs(found - x) <= bound + (high - low):
            return True
        choice = high - low > 1e-2 * (largest + 1e-30) or loose and bound > 1e-2 * largest
        return None if choice else False

    def exact(self, x, exact, span, largest):
        if x == exact or math.isnan(x) and math.isnan(exact):
            return True
        if not (math.isfinite(x) and math.isfinite(exact)):
            return not math.isfinite(span)
        return abs(x - exact) <= EXACT * (abs(x) + largest) + 2 * span


def judge(path, counts):
    """Compares one program and prints a line where something is to be said."""
    file = json.loads(path.read_text())
    program = file["program"]
    verdict = Verdict(file["bounds"], file["looser"])
    unsupported, first = set(), None
    for number, call in enumerate(file["calls"]):
        what = f"{'loss' if call['trains'] else 'value'}, B = {call['dims']['B']}"
        try:
            made = Machine(program, call).outputs()
        except Unsupported as why:
            unsupported.add(str(why))
            continue
        except Exception as why:
            first = first or f"{what}: {type(why).__name__}: {str(why).splitlines()[0]} {traceback.extract_tb(why.__traceback__)[-1]}"
            continue
        # What is no number has no derivative either.
        undefined = call["trains"] and not bool(made["loss"].isfinite())
        for given in call["tensors"]:
            if undefined and given["name"] != "loss":
                verdict.skip(given)
            elif given["name"] in made:
                verdict.compare(f"{what}: {given['name']}", given, made[given["name"]])
            elif any(given["exact"]):
                verdict.wrong.append(f"{what}: {given['name']} is not zero")
    seed = program["seed"]
    if first is not None:
        kind, text = "FAILED", first
    elif verdict.wrong:
        kind, text = "WRONG", f"in {len(verdict.wrong)} tensors: " + "\n    ".join(verdict.wrong[:3])
    elif unsupported and verdict.judged == 0:
        kind, text = "unsupported", "; ".join(sorted(unsupported))
    elif verdict.judged < 9 * verdict.skipped:
        kind, text = "chaotic", f"{verdict.skipped} of {verdict.judged + verdict.skipped}"
    else:
        kind, text = "compared", "without " + "; ".join(sorted(unsupported)) if unsupported else ""
        counts["compared in part"] += bool(unsupported)
    counts[kind] += 1
    counts["numbers"] += verdict.judged
    counts["derivatives of what is not finite"] += verdict.undefined
    if kind != "compared" or text:
        print(f"program {seed} {kind} {text}", flush=True)
    if verdict.oracle:
        counts["beyond the bound of the oracle"] += 1
        print(f"program {seed}: the oracle differs: " + "\n    ".join(verdict.oracle[:2]), flush=True)


def main():
    counts = collections.Counter()
    given = [pathlib.Path(name) for name in sys.argv[1:]]
    for path in [f for p in given for f in ([p] if p.is_file() else sorted(p.glob("*.json")))]:
        judge(path, counts)
    print(dict(counts))
    sys.exit(1 if counts["WRONG"] or counts["FAILED"] else 0)


if __name__ == "__main__":
    main()
