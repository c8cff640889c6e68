"""W4's Transformer in PyTorch, as a careful user would write it: one product for queries, keys and values, and PyTorch's own fused
attention. Weights have couplet's names."""
import math

import torch
import torch.nn.functional as F
from torch import nn

HEADS = 4


def sinusoidal(length, width):
    place, pair = torch.arange(length)[:, None], torch.arange(0, width, 2)
    angles = place / 10_000 ** (pair / width)
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.in_proj = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)

    def split(self, x):
        """[batch, time, width] → [batch, heads, time, depth]"""
        return x.unflatten(2, (HEADS, -1)).transpose(1, 2)

    def forward(self, x, causal):
        q, k, v = (self.split(part) for part in self.in_proj(x).chunk(3, 2))
        return self.out_proj(F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(2))

    def step(self, x, cache, at):
        """One step; keys and values go to their place in a cache that is as long as the output can be."""
        q, k, v = (self.split(part) for part in self.in_proj(x).chunk(3, 2))
        cache[0][:, :, at : at + 1], cache[1][:, :, at : at + 1] = k, v
        seen = F.scaled_dot_product_attention(q, cache[0][:, :, : at + 1], cache[1][:, :, : at + 1])
        return self.out_proj(seen.transpose(1, 2).flatten(2))


class SourceAttention(Attention):
    def __init__(self, width):
        nn.Module.__init__(self)
        self.q_proj = nn.Linear(width, width)
        self.kv_proj = nn.Linear(width, 2 * width)
        self.out_proj = nn.Linear(width, width)

    def memory(self, states):
        return [self.split(part) for part in self.kv_proj(states).chunk(2, 2)]

    def forward(self, x, memory):
        seen = F.scaled_dot_product_attention(self.split(self.q_proj(x)), *memory)
        return self.out_proj(seen.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """Norms stand before sublayers."""

    def __init__(self, width, hidden, writes):
        super().__init__()
        self.self_attn = Attention(width)
        self.multihead_attn = SourceAttention(width) if writes else None
        self.linear1, self.linear2 = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.norm3 = nn.LayerNorm(width) if writes else None

    def rest(self, x, memory):
        """All that comes behind the attention of a sequence to itself."""
        if memory is None:
            return x + self.linear2(F.relu(self.linear1(self.norm2(x))))
        x = x + self.multihead_attn(self.norm2(x), memory)
        return x + self.linear2(F.relu(self.linear1(self.norm3(x))))

    def forward(self, x, memory=None):
        return self.rest(x + self.self_attn(self.norm1(x), memory is not None), memory)

    def step(self, x, memory, cache, at):
        return self.rest(x + self.self_attn.step(self.norm1(x), cache, at), memory)


class Side(nn.Module):
    def __init__(self, vocabulary, width, hidden, layers, writes):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList([Layer(width, hidden, writes) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, vocabulary) if writes else None
        self.register_buffer("places", sinusoidal(64, width), persistent=False)

    def embed(self, tokens, first=0):
        x = self.embedding(tokens)
        return x * math.sqrt(x.size(2)) + self.places[first : first + tokens.size(1)]


class Transformer(nn.Module):
    def __init__(self, vocabularies, width, hidden, layers):
        super().__init__()
        self.encoder = Side(vocabularies[0], width, hidden, layers, writes=False)
        self.decoder = Side(vocabularies[1], width, hidden, layers, writes=True)

    def memories(self, source):
        """Keys and values of the source for each layer of the decoder."""
        x = self.encoder.embed(source)
        for layer in self.encoder.layers:
            x = layer(x)
        states = self.encoder.norm(x)
        return [layer.multihead_attn.memory(states) for layer in self.decoder.layers]

    def forward(self, source, target):
        memories, x = self.memories(source), self.decoder.embed(target)
        for layer, memory in zip(self.decoder.layers, memories):
            x = layer(x, memory)
        return self.decoder.output(self.decoder.norm(x))


def is_transformer(weights):
    return "encoder.layers.0.norm1.weight" in weights


def build_transformer(weights, device):
    """A Transformer with our weights."""
    vocabularies = [weights[f"{side}.embedding.weight"].shape[0] for side in ("encoder", "decoder")]
    hidden, width = weights["encoder.layers.0.linear1.weight"].shape
    layers = sum(name.startswith("encoder.") and name.endswith("linear1.weight") for name in weights)
    with device:
        model = Transformer(vocabularies, width, hidden, layers)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name.replace("in_proj.", "in_proj_")].reshape(parameter.shape))
    return model


def greedy_transformer(model, source, search):
    """The likeliest token, step by step, as often as the search allows; the sources of this workload have no end."""
    batch, length = len(source), int(search.limits(torch.tensor(source.size(1))))
    memories, decoder = model.memories(source), model.decoder
    depth = decoder.norm.weight.numel() // HEADS
    caches = [[torch.empty(batch, HEADS, length, depth) for _ in range(2)] for _ in decoder.layers]
    tokens, outputs = source.new_full((batch, 1), search.start), []
    for at in range(length):
        x = decoder.embed(tokens, at)
        for layer, memory, cache in zip(decoder.layers, memories, caches):
            x = layer.step(x, memory, cache, at)
        tokens = decoder.output(decoder.norm(x)).argmax(2)
        outputs.append(tokens)
    return torch.cat(outputs, 1).tolist()
