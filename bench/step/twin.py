"""The same training in PyTorch, as a careful user would write it.

Reads the weights and tokens that our side wrote and prints one line of JSON. For one batch of equal lengths: the loss of
the first step, milliseconds a step, peak memory; with --capture the same of the captured step, under `captured`. For real
batches, on the CPU only: tokens a second, peak memory, and the validation loss after all of them.
Usage: twin.py DUMP.safetensors [--steps N] [--threads N] [--device cuda] [--precision fp32|tf32|bf16] [--capture]
"""
import argparse
import gc
import json
import resource
import statistics
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from transformer import build_transformer, is_transformer

WARM_UP = 2  # on the CPU
CUDA_WARM_UP = 5
CUDA_STRETCHES = 3
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
        if memory.dtype == torch.float16:
            # Asked for bfloat16, autocast runs cuDNN's LSTM in float16. Cast here, its states are not cast at each step.
            memory = memory.bfloat16()
        batch = source.size(0)
        # [layers, 2, batch, encoder] → for each layer [batch, decoder]
        joined = [part.view(self.layers, 2, batch, -1).transpose(1, 2).reshape(self.layers, batch, -1) for part in finals]
        return memory, list(zip(*joined))

    def forward(self, source, target, lengths=None):
        memory, states = self.encode(source, lengths)
        beyond = None if lengths is None else torch.arange(source.size(1)) >= lengths[:, None]
        keys = self.key(memory)  # [batch, source, attention]
        x = self.target_embedding(target).to(memory.dtype)
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


def build(weights, layers, device):
    """A translator with our weights: names differ a little, and the second bias of a gate is frozen at zero."""
    vocabularies = [weights[f"{side}_embedding"].shape[0] for side in ("source", "target")]
    embedding, encoder = weights["source_embedding"].shape[1], weights["encoder.weight_hh_l0"].shape[1]
    with device:
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


def layers_of(tensors):
    """How many layers the decoder has, and the encoder too."""
    return sum(name.startswith("decoder.") and name.endswith("weight_ih") for name in tensors)


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def prepare(tensors, device, precision, rate, capturable=False):
    """A translator, those of its parameters that are trained, and Adam."""
    model = build_transformer(tensors, device) if is_transformer(tensors) else build(tensors, layers_of(tensors), device)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if precision == "bf16" and not is_transformer(tensors):
        # Autocast keeps the cast of a trained weight until the step ends; a frozen one it would cast at each use.
        for cell in model.decoder:
            cell.bias_hh.data = cell.bias_hh.data.bfloat16()
    return model, trained, torch.optim.Adam(trained, lr=rate, fused=True, capturable=capturable)


def one_batch(tensors, device, precision, steps, captured=False):
    """The same batch of equal lengths again and again. The loss stays on the device, so that nothing waits inside a step."""
    model, trained, adam = prepare(tensors, device, precision, 1e-3, capturable=captured)
    source, target = tensors["source"].to(device), tensors["target"].to(device)

    def step():
        adam.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            logits = model(source, target[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        adam.step()
        return loss.detach()

    first_loss = step().item()
    if device.type == "cpu":
        ms = milliseconds(step, WARM_UP - 1, steps, 1, lambda: None)
        return {"first_loss": first_loss, "ms": ms, "peak_mb": peak_megabytes()}
    step = capture(step) if captured else step
    ms = milliseconds(step, CUDA_WARM_UP - 1, CUDA_STRETCHES, steps, torch.cuda.synchronize)
    return {"first_loss": first_loss, "ms": ms, "peak_mb": torch.cuda.max_memory_allocated() / 2**20,
            "reserved_mb": torch.cuda.max_memory_reserved() / 2**20}


def capture(step):
    """The whole step as one CUDA graph. Some steps run before, on a stream of their own, so that what is made once is there."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def milliseconds(step, warm_up, stretches, length, synchronize):
    """Milliseconds a step: the median of several stretches, each of so many steps between two waits for the device."""
    for _ in range(warm_up):
        step()
    times = []
    for _ in range(stretches):
        synchronize()
        start = time.perf_counter()
        for _ in range(length):
            step()
        synchronize()
        times.append((time.perf_counter() - start) * 1e3 / length)
    return statistics.median(times)


def real_batches(tensors):
    """Each batch once, padded; then the loss of the validation set."""
    rate, clip, smoothing = tensors["settings"].tolist()
    model, trained, adam = prepare(tensors, torch.device("cpu"), "fp32", rate)

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


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dump")
    parser.add_argument("--steps", type=int, default=10, help="on the CPU timed one by one, on a GPU as one stretch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", type=torch.device, default=torch.device("cpu"))
    parser.add_argument("--precision", choices=["fp32", "tf32", "bf16"], default="fp32")
    parser.add_argument("--capture", action="store_true", help="measure the step as a CUDA graph too")
    arguments = parser.parse_args()
    if arguments.device.type != "cuda" and (arguments.capture or arguments.precision != "fp32"):
        parser.error("without --device cuda there is neither --capture nor a --precision but fp32")
    return arguments


def main():
    arguments = read_arguments()
    torch.set_num_threads(arguments.threads)
    if arguments.device.type == "cuda":
        torch.cuda.set_device(arguments.device.index or 0)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = arguments.precision != "fp32"

    tensors = load_file(arguments.dump)
    if "settings" in tensors:
        figures = real_batches(tensors)
    else:
        how = (tensors, arguments.device, arguments.precision, arguments.steps)
        figures = one_batch(*how)
        if arguments.capture:
            gc.collect()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            figures["captured"] = one_batch(*how, captured=True)
    print(json.dumps(figures | {"version": "PyTorch " + torch.__version__}))


if __name__ == "__main__":
    main()
