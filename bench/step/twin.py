"""The same training step in PyTorch, as a careful user would write it.

Reads the weights and tokens that our side wrote, checks nothing, prints one line of JSON: the loss of the first step,
milliseconds a step and peak memory. Usage: twin.py DUMP.safetensors [--steps N] [--threads N]
"""
import argparse
import json
import resource
import statistics
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

WARM_UP = 2


class Translator(nn.Module):
    """Bidirectional LSTM encoder, LSTM decoder with additive attention whose context enters the next step."""

    def __init__(self, vocabulary, embedding, encoder, layers):
        super().__init__()
        self.layers, decoder = layers, 2 * encoder
        self.source_embedding = nn.Embedding(vocabulary, embedding)
        self.target_embedding = nn.Embedding(vocabulary, embedding)
        self.encoder = nn.LSTM(embedding, encoder, layers, bidirectional=True, batch_first=True)
        inputs = [embedding + decoder] + [decoder] * (layers - 1)
        self.decoder = nn.ModuleList([nn.LSTMCell(size, decoder) for size in inputs])
        self.key = nn.Linear(decoder, embedding, bias=False)
        self.query = nn.Linear(decoder, embedding, bias=False)
        self.vector = nn.Linear(embedding, 1, bias=False)
        self.mix = nn.Linear(2 * decoder, decoder)
        self.out = nn.Linear(decoder, vocabulary)

    def encode(self, source):
        memory, finals = self.encoder(self.source_embedding(source))  # [batch, source, decoder]
        batch = source.size(0)
        # [layers, 2, batch, encoder] → for each layer [batch, decoder]
        joined = [part.view(self.layers, 2, batch, -1).transpose(1, 2).reshape(self.layers, batch, -1) for part in finals]
        return memory, list(zip(*joined))

    def forward(self, source, target):
        memory, states = self.encode(source)
        keys = self.key(memory)  # [batch, source, attention]
        x = self.target_embedding(target)
        context, outputs = memory.new_zeros(source.size(0), memory.size(2)), []
        for step in range(target.size(1)):
            hidden, after = torch.cat([x[:, step], context], -1), []
            for cell, state in zip(self.decoder, states):
                after.append(cell(hidden, state))
                hidden = after[-1][0]
            states = after
            energies = self.vector(torch.tanh(self.query(hidden)[:, None] + keys)).squeeze(-1)
            context = torch.bmm(energies.softmax(-1)[:, None], memory)[:, 0]
            outputs.append(torch.cat([hidden, context], -1))
        return self.out(torch.tanh(self.mix(torch.stack(outputs, 1))))


def build(weights, vocabulary, embedding, encoder, layers):
    """A translator with our weights: names differ a little, and the second bias of a gate is frozen at zero."""
    model = Translator(vocabulary, embedding, encoder, layers)
    names = {"attention.key": "key.weight", "attention.query": "query.weight", "attention.vector": "vector.weight",
             "source_embedding": "source_embedding.weight", "target_embedding": "target_embedding.weight"}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "bias_hh" in name:
                parameter.zero_().requires_grad_(False)
            else:
                ours = next((key for key, value in names.items() if value == name), name)
                parameter.copy_(weights[ours].reshape(parameter.shape))
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dump")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    weights = load_file(arguments.dump)
    source, target = weights["source"], weights["target"]
    vocabulary, embedding = weights["source_embedding"].shape
    layers = sum(name.startswith("decoder.") and name.endswith("weight_ih") for name in weights)
    encoder = weights["encoder.weight_hh_l0"].shape[1]
    model = build(weights, vocabulary, embedding, encoder, layers)
    del weights
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    adam = torch.optim.Adam(trained, lr=1e-3, fused=True)

    def step():
        adam.zero_grad(set_to_none=True)
        logits = model(source, target[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        adam.step()
        return loss.item()

    first_loss = step()
    for _ in range(WARM_UP - 1):
        step()
    times = []
    for _ in range(arguments.steps):
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1e3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"first_loss": first_loss, "ms": statistics.median(times), "peak_mb": peak,
                      "version": "PyTorch " + torch.__version__}))


main()
