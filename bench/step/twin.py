"""The same training in PyTorch, as a careful user would write it.

Reads the weights and tokens that our side wrote and prints one line of JSON. For one batch of equal lengths: the loss of
the first step, milliseconds a step, peak memory. For real batches: tokens a second, peak memory, and the validation loss
after all of them. Usage: twin.py DUMP.safetensors [--steps N] [--threads N]
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
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

WARM_UP = 2
PAD = 0


class Translator(nn.Module):
    """Bidirectional LSTM encoder, LSTM decoder with additive attention whose context enters the next step."""

    def __init__(self, vocabularies, embedding, attention, encoder, layers):
        super().__init__()
        self.layers, decoder = layers, 2 * encoder
        self.source_embedding = nn.Embedding(vocabularies[0], embedding)
        self.target_embedding = nn.Embedding(vocabularies[1], embedding)
        self.encoder = nn.LSTM(embedding, encoder, layers, bidirectional=True, batch_first=True)
        inputs = [embedding + decoder] + [decoder] * (layers - 1)
        self.decoder = nn.ModuleList([nn.LSTMCell(size, decoder) for size in inputs])
        self.key = nn.Linear(decoder, attention, bias=False)
        self.query = nn.Linear(decoder, attention, bias=False)
        self.vector = nn.Linear(attention, 1, bias=False)
        self.mix = nn.Linear(2 * decoder, decoder)
        self.out = nn.Linear(decoder, vocabularies[1])

    def encode(self, source, lengths):
        """Without lengths all sources are equally long, and nothing has to be packed."""
        embedded = self.source_embedding(source)
        if lengths is None:
            memory, finals = self.encoder(embedded)  # [batch, source, decoder]
        else:
            packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
            memory, finals = self.encoder(packed)
            memory, _ = pad_packed_sequence(memory, batch_first=True)
        batch = source.size(0)
        # [layers, 2, batch, encoder] → for each layer [batch, decoder]
        joined = [part.view(self.layers, 2, batch, -1).transpose(1, 2).reshape(self.layers, batch, -1) for part in finals]
        return memory, list(zip(*joined))

    def forward(self, source, target, lengths=None):
        memory, states = self.encode(source, lengths)
        beyond = None if lengths is None else torch.arange(source.size(1)) >= lengths[:, None]
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
            if beyond is not None:
                energies = energies.masked_fill(beyond, -torch.inf)
            context = torch.bmm(energies.softmax(-1)[:, None], memory)[:, 0]
            outputs.append(torch.cat([hidden, context], -1))
        return self.out(torch.tanh(self.mix(torch.stack(outputs, 1))))


def build(weights, layers):
    """A translator with our weights: names differ a little, and the second bias of a gate is frozen at zero."""
    vocabularies = [weights[f"{side}_embedding"].shape[0] for side in ("source", "target")]
    embedding, encoder = weights["source_embedding"].shape[1], weights["encoder.weight_hh_l0"].shape[1]
    model = Translator(vocabularies, embedding, weights["attention.key"].shape[0], encoder, layers)
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


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def one_batch(model, trained, adam, tensors, steps):
    """The same batch of equal lengths again and again."""
    source, target = tensors["source"], tensors["target"]

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
    for _ in range(steps):
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1e3)
    return {"first_loss": first_loss, "ms": statistics.median(times), "peak_mb": peak_megabytes()}


def real_batches(model, trained, adam, tensors):
    """Each batch once, padded; then the loss of the validation set."""
    _, clip, smoothing = tensors["settings"].tolist()

    def batches(of):
        count = sum(name.startswith(f"{of}/") for name in tensors) // 2
        return [(tensors[f"{of}/{i}/source"], tensors[f"{of}/{i}/target"]) for i in range(count)]

    def loss_of(source, target, **how):
        logits = model(source, target[:, :-1], (source != PAD).sum(1))
        return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD, **how)

    for i, (source, target) in enumerate(batches("train")):
        if i == WARM_UP:
            tokens, start = 0, time.perf_counter()
        adam.zero_grad(set_to_none=True)
        loss_of(source, target, label_smoothing=smoothing).backward()
        nn.utils.clip_grad_norm_(trained, clip)
        adam.step()
        if i >= WARM_UP:
            tokens += int((source != PAD).sum() + (target[:, 1:] != PAD).sum())
    seconds, peak = time.perf_counter() - start, peak_megabytes()
    with torch.no_grad():
        sums = [(float(loss_of(source, target, reduction="sum")), int((target[:, 1:] != PAD).sum()))
                for source, target in batches("valid")]
    valid_loss = sum(loss for loss, _ in sums) / sum(count for _, count in sums)
    return {"tokens_per_second": tokens / seconds, "peak_mb": peak, "valid_loss": valid_loss}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dump")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    tensors = load_file(arguments.dump)
    layers = sum(name.startswith("decoder.") and name.endswith("weight_ih") for name in tensors)
    model = build(tensors, layers)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    rate = tensors["settings"][0].item() if "settings" in tensors else 1e-3
    adam = torch.optim.Adam(trained, lr=rate, fused=True)
    if "settings" in tensors:
        figures = real_batches(model, trained, adam, tensors)
    else:
        figures = one_batch(model, trained, adam, tensors, arguments.steps)
    print(json.dumps(figures | {"version": "PyTorch " + torch.__version__}))


main()
