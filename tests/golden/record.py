#!/usr/bin/env python3
"""Records what PyTorch makes of a training that golden_inputs wrote down, on a CPU: in fp32, under bf16 autocast, or under
fp16 autocast with torch's GradScaler. By step: loss, gradient norm, loss scale, whether it was skipped, and the greatest
magnitude of the scaled gradients.

    build/release/tests/bin/golden_inputs gpt /tmp/golden-gpt
    python3 tests/golden/record.py /tmp/golden-gpt fp16 > tests/golden/gpt_fp16.json

Needs torch 2.15 and numpy in an environment of its own; the tests need only the recordings. Everything here is written from
the formulas, with torch's own operators, optimizers, scaler and clipping.
"""
import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

folder = Path(sys.argv[1])
mode = sys.argv[2]
kind = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}[mode]
s = json.loads((folder / "settings.json").read_text())


def read(name, shape):
    return torch.from_numpy(np.fromfile(folder / f"{name}.f32", dtype=np.float32).reshape(shape).copy())


p = {x["name"]: read(x["name"], x["shape"]).requires_grad_() for x in s["parameters"]}


def gpt(tokens):
    b, t = tokens.shape
    x = F.embedding(tokens, p["wte.weight"]) + p["wpe.weight"]
    c = x.shape[-1]

    def norm(name, x):
        return F.layer_norm(x, (c,), p[name + ".weight"], p[name + ".bias"], 1e-5)

    def linear(name, x):
        return F.linear(x, p[name + ".weight"], p.get(name + ".bias"))

    for i in range(s["layers"]):
        n = f"block{i}"
        qkv = linear(n + ".attn.qkv", norm(n + ".ln1", x))
        q, k, v = (y.view(b, t, s["heads"], -1).transpose(1, 2) for y in qkv.split(c, dim=-1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + linear(n + ".attn.proj", a.transpose(1, 2).reshape(b, t, c))
        x = x + linear(n + ".mlp.down", F.gelu(linear(n + ".mlp.up", norm(n + ".ln2", x))))
    return linear("lm_head", norm("ln_f", x))


def mlp(tokens):
    x = F.embedding(tokens, p["embedding.weight"]).flatten(1)
    for i in range(s["layers"]):
        x = F.gelu(F.linear(x, p[f"layer{i}.weight"], p[f"layer{i}.bias"]))
    return F.linear(x, p["head.weight"], p["head.bias"])


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
    optimizer = torch.optim.SGD(p.values(), lr=0.0, momentum=s["momentum"], weight_decay=s["weight_decay"])
model = {"gpt": gpt, "mlp": mlp}[s["model"]]
scaler = torch.amp.GradScaler("cpu", enabled=mode == "fp16", init_scale=s["scaler"]["init"], growth_factor=s["scaler"]["growth"],
                              backoff_factor=s["scaler"]["backoff"], growth_interval=s["scaler"]["interval"])
record = {"loss": [], "gradient_norm": [], "scale": [], "skipped": [], "greatest_scaled_gradient": []}
applied = 0
for step in range(s["steps"]):
    tokens, targets = (read(f"{x['name']}.{step}", x["shape"]).long() for x in s["inputs"])
    with torch.autocast("cpu", dtype=kind or torch.bfloat16, enabled=kind is not None):
        logits = model(tokens)
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
json.dump({"made_by": f"tests/golden/record.py with torch {torch.__version__} on a CPU, {mode}", "settings": s, **record},
          sys.stdout, indent=1)
print()
