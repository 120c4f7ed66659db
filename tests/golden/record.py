#!/usr/bin/env python3
"""Records what PyTorch makes of a training that golden_inputs wrote down, on a CPU: in fp32, under bf16 autocast, or under
fp16 autocast with torch's GradScaler. By step: loss, gradient norm, loss scale, whether it was skipped, and the greatest
magnitude of the scaled gradients; at the end the buffers (running statistics).

    build/release/tests/bin/golden_inputs gpt /tmp/golden-gpt
    python3 tests/golden/record.py /tmp/golden-gpt fp16 > tests/golden/gpt_fp16.json

MODE is fp32, bf16, fp16, or for the cnn fp16_fp32sums, which is fp16 with Conv2dFp32Sums of models.py in place of F.conv2d.

Needs what requirements.txt pins, in an environment of its own; the tests need only the recordings. The models (models.py) are
written from the formulas; optimizers, scaler and clipping are torch's own.
"""
import json
import math
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from models import MODELS

folder = Path(sys.argv[1])
mode, _, sums = sys.argv[2].partition("_")
kind = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}[mode]
torch.set_num_threads(2)
s = json.loads((folder / "settings.json").read_text())
s["fp32_sums"] = sums == "fp32sums"
p = {name: x.requires_grad_() for name, x in load_file(folder / "weights.safetensors").items()}
buffers = load_file(folder / "buffers.safetensors")
batches = load_file(folder / "batches.safetensors")


def learning_rate(applied):
    lr, warmup, last = s["learning_rate"], s["warmup"], s["final_fraction"]
    if applied < warmup:
        return lr * (applied + 1) / warmup
    done = min((applied - warmup) / (s["steps"] - warmup), 1.0)
    share = 0.5 * (1.0 + math.cos(math.pi * done)) if s["cosine"] else 1.0 - done
    return lr * (last + (1.0 - last) * share)


if s["adamw"]:
    optimizer = torch.optim.AdamW(p.values(), betas=(s["beta1"], s["beta2"]), eps=s["epsilon"], weight_decay=s["weight_decay"])
else:
    optimizer = torch.optim.SGD(p.values(), lr=0.0, momentum=s["momentum"], nesterov=s["nesterov"], weight_decay=s["weight_decay"])
scaler = torch.amp.GradScaler("cpu", enabled=mode == "fp16", init_scale=s["scaler"]["init"], growth_factor=s["scaler"]["growth"],
                              backoff_factor=s["scaler"]["backoff"], growth_interval=s["scaler"]["interval"])
record = {"loss": [], "gradient_norm": [], "scale": [], "skipped": [], "greatest_scaled_gradient": []}
applied = 0
for step in range(s["steps"]):
    x = batches[f"features.{step}"] if f"features.{step}" in batches else batches[f"tokens.{step}"].long()
    targets = batches[f"targets.{step}"].long()
    with torch.autocast("cpu", dtype=kind or torch.bfloat16, enabled=kind is not None):
        logits = MODELS[s["model"]](p, buffers, s, x)
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
    optimizer.zero_grad()
    scale = scaler.get_scale()
    scaler.scale(loss).backward()
    greatest = max(x.grad.abs().max().item() for x in p.values())
    finite = all(torch.isfinite(x.grad).all().item() for x in p.values())
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(p.values(), s["clip"]).item()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(applied)
    scaler.step(optimizer)
    scaler.update()
    applied += 1 if finite else 0
    for name, value in zip(record, (loss.item(), norm if finite else None, scale, not finite, greatest if math.isfinite(greatest) else None)):
        record[name].append(value)
if buffers:
    record["buffers"] = {name: x.tolist() for name, x in sorted(buffers.items())}
json.dump({"made_by": f"tests/golden/record.py with torch {torch.__version__} on a CPU, {sys.argv[2]}", "settings": s, **record},
          sys.stdout, indent=1)
print()
