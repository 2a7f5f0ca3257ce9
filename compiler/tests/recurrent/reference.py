"""Writes reference.txt: what PyTorch's recurrent layers compute, and their gradients.

Parameters, arguments and the weights of the loss are numbers of one formula, so that only results are stored.
Run: python reference.py > reference.txt (PyTorch 2.15).
"""
import torch


def numbers(count, phase):
    k = torch.arange(count, dtype=torch.float64)
    return torch.sin(0.7 * k + phase) * 0.5


def show(name, tensor):
    values = " ".join(f"{x:.9e}" for x in tensor.detach().flatten().tolist())
    print(f"{name} {'x'.join(map(str, tensor.shape))} {values}")


def case(name, layer, steps, start, lengths=None):
    layer = layer.double()
    for at, (_, parameter) in enumerate(layer.named_parameters()):
        parameter.data = numbers(parameter.numel(), at).reshape(parameter.shape)
    x = numbers(2 * steps * 3, 0.3).reshape(2, steps, 3)
    states = []
    if start:
        count = layer.num_layers * (2 if layer.bidirectional else 1)
        states = [numbers(count * 2 * 4, 0.1 + k).reshape(count, 2, 4) for k in range(2 if name.startswith("lstm") else 1)]
    given = (tuple(states) if len(states) == 2 else states[0],) if states else ()
    if lengths is None:
        y, last = layer(x, *given)
    else:
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        y, last = layer(packed, *given)
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=steps)
    last = last if isinstance(last, tuple) else (last,)
    print(f"case {name} {steps}")
    show("y", y)
    for state in last:
        show("state", state)
    loss = sum((result * numbers(result.numel(), 0.9).reshape(result.shape)).sum() for result in (y, *last))
    loss.backward()
    for parameter_name, parameter in layer.named_parameters():
        show(parameter_name, parameter.grad)


case("rnn", torch.nn.RNN(3, 4, batch_first=True), 5, False)
case("rnn_two", torch.nn.RNN(3, 4, num_layers=2, bidirectional=True, batch_first=True), 5, True)
case("lstm", torch.nn.LSTM(3, 4, batch_first=True), 1, True)
case("lstm_two", torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True), 5, False)
case("gru", torch.nn.GRU(3, 4, bias=False, batch_first=True), 5, True)
case("gru_two", torch.nn.GRU(3, 4, num_layers=2, bidirectional=True, batch_first=True), 5, False)
case("rnn_lengths", torch.nn.RNN(3, 4, batch_first=True), 5, True, [2, 5])
case("lstm_lengths", torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True), 5, True, [3, 1])
case("gru_lengths", torch.nn.GRU(3, 4, num_layers=2, bidirectional=True, batch_first=True), 5, False, [4, 5])
