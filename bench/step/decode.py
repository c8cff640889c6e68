"""The same decoding in PyTorch, as a careful user would write it.

Reads the weights, the sources and the settings of the search that our side wrote and prints one line of JSON: seconds to
decode all batches, peak memory, and the best output of each source. With a beam of 1 the search is greedy.
Usage: decode.py DUMP.safetensors [--repeats N] [--threads N]
"""
import argparse
import json
import statistics
import time
from typing import NamedTuple

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

from transformer import build_transformer, greedy_transformer, is_transformer
from twin import PAD, build, layers_of, peak_megabytes


class Search(NamedTuple):
    """The search's settings, in the order in which our side writes them. An end of -1 never comes."""

    beam: int
    length_penalty: float
    max_length: int
    max_length_ratio: float
    start: int
    end: int

    def limits(self, lengths):
        return (self.max_length + (self.max_length_ratio * lengths).long()).clamp(min=1)


class Decoder:
    """A translator's decoder, for inference alone. Rows come in groups of equal size that read the same source."""

    def __init__(self, model):
        self.model = model
        # Measured: for one row, one product of each layer's joined weights is fastest; for many, oneDNN's LSTM.
        self.joined = [(torch.cat([cell.weight_ih, cell.weight_hh], 1), cell.bias_ih) for cell in model.decoder]
        cells = model.decoder
        self.lstm = nn.LSTM(cells[0].input_size, cells[0].hidden_size, len(cells))
        for layer, cell in enumerate(cells):
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                getattr(self.lstm, f"{name}_l{layer}").copy_(getattr(cell, name))

    def start(self, source):
        """Keys and memory of the sources, who is padding, and the first states, each [layers, sources, hidden]."""
        lengths = (source != PAD).sum(1)
        memory, states = self.model.encode(source, None if bool((lengths == source.size(1)).all()) else lengths)
        beyond = torch.arange(source.size(1)) >= lengths[:, None]
        hidden, cell = (torch.stack(part) for part in zip(*states))
        return self.model.key(memory), memory, beyond, hidden, cell

    def cells(self, x, hidden, cell):
        if x.size(0) > 1:
            _, states = self.lstm(x[None], (hidden, cell))
            return states
        after = []
        for layer, (weight, bias) in enumerate(self.joined):
            i, f, g, o = F.linear(torch.cat([x, hidden[layer]], -1), weight, bias).chunk(4, 1)
            c = torch.sigmoid(f) * cell[layer] + torch.sigmoid(i) * torch.tanh(g)
            x = torch.sigmoid(o) * torch.tanh(c)
            after.append((x, c))
        return tuple(torch.stack(part) for part in zip(*after))

    def step(self, tokens, context, hidden, cell, keys, memory, beyond):
        """One step of all rows: logits, context and states."""
        model = self.model
        hidden, cell = self.cells(torch.cat([model.target_embedding(tokens), context], -1), hidden, cell)
        top, sources = hidden[-1], memory.size(0)
        query = model.query(top).view(sources, -1, 1, keys.size(2))  # [sources, group, 1, attention]
        energies = model.vector(torch.tanh(query + keys[:, None])).squeeze(-1)  # [sources, group, source]
        energies = energies.masked_fill(beyond[:, None], -torch.inf)
        context = torch.bmm(energies.softmax(-1), memory).view(len(tokens), -1)  # [rows, decoder]
        logits = model.out(torch.tanh(model.mix(torch.cat([top, context], -1))))
        return logits, context, hidden, cell


def greedy(decoder, source, search):
    """The likeliest token, step by step; sources that have ended leave the batch."""
    keys, memory, beyond, hidden, cell = decoder.start(source)
    limits = search.limits((source != PAD).sum(1))
    outputs, live = [[] for _ in source], torch.arange(len(source))
    tokens, context = source.new_full((len(source),), search.start), memory.new_zeros(len(source), memory.size(2))
    for length in range(1, int(limits.max()) + 1):
        logits, context, hidden, cell = decoder.step(tokens, context, hidden, cell, keys, memory, beyond)
        tokens = logits.argmax(-1)
        for row, token in zip(live.tolist(), tokens.tolist()):
            if token != search.end:
                outputs[row].append(token)
        done = (tokens == search.end) | (limits[live] <= length)
        if done.all():
            break
        if done.any():
            kept = (~done).nonzero()[:, 0]
            live, tokens, context, keys, memory, beyond = (part[kept] for part in (live, tokens, context, keys, memory, beyond))
            hidden, cell = hidden[:, kept], cell[:, kept]
    return outputs


def beam_search(decoder, source, search):
    """All beams at once. A source is done when it has as many finished outputs as the beam is wide, none of its hypotheses scores better
    than the best of them, and the one that a greedy search would follow cannot; or at its limit. It then leaves the batch."""
    keys, memory, beyond, hidden, cell = decoder.start(source)
    beam, limits = search.beam, search.limits((source != PAD).sum(1))
    finished, live = [[] for _ in source], torch.arange(len(source))
    width = 1  # hypotheses of a source: at first there is only the empty one
    scores, tokens = memory.new_zeros(len(source), 1), source.new_full((len(source),), search.start)
    context, written = memory.new_zeros(len(source), memory.size(2)), source.new_zeros(len(source), 1, 0)
    ranks = torch.arange(2 * beam)
    greedy = source.new_zeros(len(source))  # which hypothesis a greedy search would follow; -1 if the beam has lost it
    for length in range(1, int(limits.max()) + 1):
        logits, context, hidden, cell = decoder.step(tokens, context, hidden, cell, keys, memory, beyond)
        # The best of each row first: sorting out those of a source is little work then.
        best, ids = logits.topk(2 * beam)  # [rows, 2·beam]
        totals = scores.view(-1, 1) + best - logits.logsumexp(1, keepdim=True)
        totals, places = totals.view(len(live), -1).topk(2 * beam)  # [sources, 2·beam]
        ids, parents = ids.view(len(live), -1).gather(1, places), places // (2 * beam)

        ended = ids == search.end
        outputs = lambda which: written[which[:, 0], parents[which[:, 0], which[:, 1]]].tolist()
        in_time = (ended & (ranks < beam)).nonzero()
        for (row, rank), output in zip(in_time.tolist(), outputs(in_time)):
            finished[live[row]].append((float(totals[row, rank]) / length**search.length_penalty, output))
        going_on = (ranks + 2 * beam * ended).topk(beam, largest=False).indices  # in order of their rank
        of_greedy = parents == greedy[:, None]
        chosen = (going_on == of_greedy.byte().argmax(1, keepdim=True)) & of_greedy.any(1, keepdim=True)
        greedy = torch.where(chosen.any(1), chosen.byte().argmax(1), -1)
        scores, tokens, parents = (part.gather(1, going_on) for part in (totals, ids, parents))
        before = written.gather(1, parents[:, :, None].expand(-1, -1, written.size(2)))
        written = torch.cat([before, tokens[:, :, None]], 2)

        at_limit = limits[live] <= length
        for row in at_limit.nonzero()[:, 0].tolist():
            worth = (scores[row] / length**search.length_penalty).tolist()
            finished[live[row]].extend(zip(worth, written[row].tolist()))
        hopes = scores.gather(1, greedy.clamp(min=0)[:, None])[:, 0] / limits[live] ** search.length_penalty
        hopes = hopes.masked_fill(greedy < 0, -torch.inf)
        rivals = torch.maximum(scores.max(1).values / length**search.length_penalty, hopes).tolist()
        enough = [len(finished[i]) >= beam and max(finished[i])[0] >= rival for i, rival in zip(live.tolist(), rivals)]
        done = at_limit | torch.tensor(enough)
        if done.all():
            break
        rows = torch.arange(len(live))[:, None] * width + parents  # [sources, beam]
        if done.any():
            kept = (~done).nonzero()[:, 0]
            live, rows, scores, tokens, written, greedy, keys, memory, beyond = (
                part[kept] for part in (live, rows, scores, tokens, written, greedy, keys, memory, beyond))
        rows, tokens, width = rows.flatten(), tokens.flatten(), beam
        context, hidden, cell = context[rows], hidden[:, rows], cell[:, rows]
    return [max(outputs)[1] for outputs in finished]


@torch.inference_mode()
def run(tensors, repeats):
    beam, length_penalty, max_length, max_length_ratio, start, end = tensors["search"].tolist()
    search = Search(int(beam), length_penalty, int(max_length), max_length_ratio, int(start), int(end))
    if is_transformer(tensors):
        decoder, decode = build_transformer(tensors, torch.device("cpu")), greedy_transformer
    else:
        decoder = Decoder(build(tensors, layers_of(tensors), torch.device("cpu")))
        decode = greedy if search.beam == 1 else beam_search
    batches = [tensors[f"{i}/source"] for i in range(sum(name.endswith("/source") for name in tensors))]
    decode(decoder, batches[0], search)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        outputs = [output for batch in batches for output in decode(decoder, batch, search)]
        times.append(time.perf_counter() - start)
    numbers = torch.cat([tensors[f"{i}/number"][:, 0] for i in range(len(batches))]).tolist()
    ordered = [output for _, output in sorted(zip(numbers, outputs))]
    return {"seconds": statistics.median(times), "peak_mb": peak_megabytes(), "outputs": ordered}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dump")
    parser.add_argument("--repeats", type=int, default=1, help="the median counts")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    figures = run(load_file(arguments.dump), arguments.repeats)
    print(json.dumps(figures | {"version": "PyTorch " + torch.__version__}))


if __name__ == "__main__":
    main()
