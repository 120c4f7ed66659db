#!/usr/bin/env python3
"""The bench's step beside PyTorch (and llm.c) on the same machine in one run, by hand.

    build/release/bin/ulpscope has to exist; needs torch in an environment of its own:
    /opt/torchvenv/bin/python tests/bench/beside.py build/release/bin/ulpscope [--modes fp32,bf16,fp16] [--rounds 5] [--threads 2]
                              [--preload libjemalloc.so.2] [--llmc DIR]

A round takes each side once, in turn: a few steps to warm up, then ten timed ones, their median. One line for each mode: the
median of the rounds' ratios, and the least and the greatest. PyTorch gets its own best: oneDNN and MKL as built in,
scaled_dot_product_attention, fused AdamW, foreach clipping, and the allocator given with --preload. --llmc: a folder with
llm.c's train_gpt2.c; compiled with -Ofast -march=native -fopenmp and given the same shape (fp32 only; its lm_head is tied to
the embedding, so it has 0.1 M parameters less, and it neither clips nor reads other batches).
"""
import argparse
import os
import random
import re
import shutil
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

LAYERS, WIDTH, HEADS, CONTEXT, VOCABULARY, BATCH = 6, 384, 6, 256, 256, 8
WARM_UP, TIMED = 3, 10

EXPERIMENT = f"""
[model]
kind = "gpt"
context = {CONTEXT}
width = {WIDTH}
layers = {LAYERS}
heads = {HEADS}
[data]
path = ["{{text}}"]
held_out = 0.1
[train]
steps = {WARM_UP}
batch = {BATCH}
clip = 1.0
evaluation_batches = 1
[run]
modes = ["{{mode}}"]
timing_steps = {TIMED}
threads = {{threads}}
"""


def ulpscope_step(program, mode, threads, folder):
    """Seconds of a step: the median of its timing phase, without the warm-up."""
    text = Path(__file__).resolve().parents[2] / "LICENSE"
    experiment, run = folder / "step.toml", folder / "step.ulp"
    experiment.write_text(EXPERIMENT.format(text=text, mode=mode, threads=threads))
    for old in folder.glob("step.ulp*"):
        old.unlink()
    subprocess.run([program, "run", str(experiment), "-o", str(run)], check=True, capture_output=True)
    with sqlite3.connect(run) as file:
        times = [s for (s,) in file.execute("SELECT wall_seconds FROM timing_sample WHERE NOT warm_up")]
    return statistics.median(times)


TORCH = '''
import sys, time, torch, resource
import torch.nn.functional as F
mode, threads, L, C, H, T, V, B, warm, timed = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
torch.manual_seed(0)
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = torch.nn.LayerNorm(C), torch.nn.LayerNorm(C)
        self.qkv, self.proj = torch.nn.Linear(C, 3 * C), torch.nn.Linear(C, C)
        self.up, self.down = torch.nn.Linear(C, 4 * C), torch.nn.Linear(4 * C, C)
    def forward(self, x):
        q, k, v = (y.view(B, T, H, -1).transpose(1, 2) for y in self.qkv(self.ln1(x)).split(C, dim=-1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(B, T, C))
        return x + self.down(F.gelu(self.up(self.ln2(x))))
class GPT(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = torch.nn.Embedding(V, C), torch.nn.Parameter(torch.randn(T, C) * 0.02)
        self.blocks, self.ln_f = torch.nn.Sequential(*[Block() for _ in range(L)]), torch.nn.LayerNorm(C)
        self.head = torch.nn.Linear(C, V, bias=False)
    def forward(self, tokens, targets):
        x = self.ln_f(self.blocks(self.wte(tokens) + self.wpe))
        return F.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
scaler = torch.amp.GradScaler("cpu", enabled=mode == "fp16", init_scale=1024.0)
kind = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(mode)
times = []
for i in range(warm + timed):
    tokens = torch.randint(V, (B, T + 1))
    begin = time.perf_counter()
    with torch.autocast("cpu", dtype=kind or torch.bfloat16, enabled=kind is not None):
        loss = model(tokens[:, :-1], tokens[:, 1:])
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    times.append(time.perf_counter() - begin)
times = sorted(times[warm:])
print(times[len(times) // 2], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
'''


def torch_step(mode, threads, preload):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
    if preload:
        environment["LD_PRELOAD"] = preload
    words = [mode, threads, LAYERS, WIDTH, HEADS, CONTEXT, VOCABULARY, BATCH, WARM_UP, TIMED]
    out = subprocess.run([sys.executable, "-c", TORCH, *map(str, words)], check=True, capture_output=True, text=True, env=environment)
    seconds, mebibytes = out.stdout.split()
    return float(seconds), float(mebibytes)


def prepare_llmc(source, folder):
    """llm.c with the bench's shape: its loop edited to the batch and to a number of steps, weights drawn here."""
    code = (Path(source) / "train_gpt2.c").read_text()
    code = re.sub(r"int B = \d+;", f"int B = {BATCH};", code)
    code = re.sub(r"int T = \d+;", f"int T = {CONTEXT};", code)
    code = re.sub(r"step <= \d+", f"step <= {WARM_UP + TIMED}", code)
    code = code.replace("step % 10 == 0", "0").replace("step % 20 == 0", "0")   # neither validation nor sampling
    (folder / "train_gpt2.c").write_text(code)
    shutil.copytree(Path(source) / "llmc", folder / "llmc")
    subprocess.run(["cc", "-Ofast", "-march=native", "-fopenmp", "-DOMP", "-w", "train_gpt2.c", "-lm", "-o", "train_gpt2"], cwd=folder, check=True)
    parameters = VOCABULARY * WIDTH + CONTEXT * WIDTH + 2 * WIDTH + LAYERS * (12 * WIDTH * WIDTH + 13 * WIDTH)
    header = [20240326, 3, CONTEXT, VOCABULARY, LAYERS, HEADS, WIDTH, VOCABULARY] + [0] * 248
    random.seed(0)
    table = [random.gauss(0.0, 0.02) for _ in range(65536)]
    with open(folder / "gpt2_124M.bin", "wb") as file:
        file.write(struct.pack("256i", *header))
        for start in range(0, parameters, len(table)):
            n = min(len(table), parameters - start)
            file.write(struct.pack(f"{n}f", *table[:n]))
    for name in ["train", "val"]:
        data = folder / "dev/data/tinyshakespeare"
        data.mkdir(parents=True, exist_ok=True)
        tokens = [random.randrange(VOCABULARY) for _ in range(100_000)]
        with open(data / f"tiny_shakespeare_{name}.bin", "wb") as file:
            file.write(struct.pack("256i", 20240520, 1, len(tokens), *[0] * 253))
            file.write(struct.pack(f"{len(tokens)}H", *tokens))


def llmc_step(folder, threads):
    out = subprocess.run(["./train_gpt2"], cwd=folder, check=True, capture_output=True, text=True, env=dict(os.environ, OMP_NUM_THREADS=str(threads)))
    times = [float(x) for x in re.findall(r"took ([0-9.]+) ms", out.stdout)]
    return statistics.median(times[WARM_UP:]) / 1000


def line(name, theirs, ours, memory=""):
    ratios = [t / o for t, o in zip(theirs, ours)]
    print(f"{name:<22} {statistics.median(theirs) * 1e3:8.1f} ms / ulpscope {statistics.median(ours) * 1e3:8.1f} ms = "
          f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}){memory}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--modes", default="fp32,bf16,fp16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--preload", default="")
    parser.add_argument("--llmc", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.llmc:
            prepare_llmc(options.llmc, folder)
        for mode in options.modes.split(","):
            ours, theirs, llmc, memory = [], [], [], 0.0
            for _ in range(options.rounds):
                ours.append(ulpscope_step(options.program, mode, options.threads, folder))
                seconds, memory = torch_step(mode, options.threads, options.preload)
                theirs.append(seconds)
                if options.llmc and mode == "fp32":
                    llmc.append(llmc_step(folder, options.threads))
            line(f"{mode}: PyTorch", theirs, ours, f", PyTorch's process {memory:.0f} MiB")
            if llmc:
                line(f"{mode}: llm.c", llmc, ours)


if __name__ == "__main__":
    main()
