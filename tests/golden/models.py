"""The models of the recordings, written from their formulas with torch's own operators. p: parameters by name; b: buffers by
name, moved in place by the forward pass; s: the settings that golden_inputs wrote."""
import math

import torch
import torch.nn.functional as F


def linear(p, name, x):
    return F.linear(x, p[name + ".weight"], p.get(name + ".bias"))


def layer_norm(p, name, x):
    return F.layer_norm(x, x.shape[-1:], p[name + ".weight"], p[name + ".bias"], 1e-5)


def rms_norm(p, name, x):
    return F.rms_norm(x, x.shape[-1:], p[name + ".weight"], 1e-5)


def split(x, heads):
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def join(x):
    return x.transpose(1, 2).flatten(2)


def gpt(p, b, s, tokens):
    x = F.embedding(tokens, p["wte.weight"]) + p["wpe.weight"]
    for i in range(s["layers"]):
        n = f"block{i}"
        qkv = linear(p, n + ".attn.qkv", layer_norm(p, n + ".ln1", x))
        q, k, v = (split(y, s["heads"]) for y in qkv.split(x.shape[-1], dim=-1))
        x = x + linear(p, n + ".attn.proj", join(F.scaled_dot_product_attention(q, k, v, is_causal=True)))
        x = x + linear(p, n + ".mlp.down", F.gelu(linear(p, n + ".mlp.up", layer_norm(p, n + ".ln2", x))))
    return linear(p, "lm_head", layer_norm(p, "ln_f", x))


def rotary(x):
    """Pairs (i, i + D / 2) of each head turn by position * 10000^(-2 i / D); in fp32, rounded to x's format at the end."""
    time, half = x.shape[-2], x.shape[-1] // 2
    ratio = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(time, dtype=torch.float64)[:, None] * ratio
    cos, sin = angle.cos().float(), angle.sin().float()
    first, second = x.float().split(half, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).to(x.dtype)


def llama(p, b, s, tokens):
    x = F.embedding(tokens, p["embed.weight"])
    for i in range(s["layers"]):
        attn, mlp = f"block{i}.attn", f"block{i}.mlp"
        a = rms_norm(p, f"block{i}.norm1", x)
        q = rotary(split(linear(p, attn + ".q_proj", a), s["heads"]))
        k = rotary(split(linear(p, attn + ".k_proj", a), s["kv_heads"]))
        v = split(linear(p, attn + ".v_proj", a), s["kv_heads"])
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + linear(p, attn + ".o_proj", join(y))
        m = rms_norm(p, f"block{i}.norm2", x)
        x = x + linear(p, mlp + ".down_proj", F.silu(linear(p, mlp + ".gate_proj", m)) * linear(p, mlp + ".up_proj", m))
    return linear(p, "lm_head", rms_norm(p, "norm", x))


def mlp(p, b, s, tokens):
    x = F.embedding(tokens, p["embedding.weight"]).flatten(1)
    for i in range(s["layers"]):
        x = F.gelu(linear(p, f"layer{i}", x))
    return linear(p, "head", x)


def encoder(p, b, s, tokens):
    seen = tokens != s["pad"]
    x = F.embedding(tokens, p["wte.weight"]) + p["wpe.weight"]
    for i in range(s["layers"]):
        n = f"block{i}"
        a = layer_norm(p, n + ".ln1", x)
        q, k, v = (split(linear(p, f"{n}.attn.{part}_proj", a), s["heads"]) for part in "qkv")
        if s["composed"]:
            scores = (q @ k.transpose(-1, -2)) * (1.0 / math.sqrt(q.shape[-1]))
            y = scores.masked_fill(~seen[:, None, None, :], -math.inf).softmax(-1) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None, None, :])
        x = x + linear(p, n + ".attn.proj", join(y))
        x = x + linear(p, n + ".mlp.down", F.gelu(linear(p, n + ".mlp.up", layer_norm(p, n + ".ln2", x))))
    x = layer_norm(p, "ln_f", x) * seen[:, :, None]
    return linear(p, "head", x.sum(1) / seen.sum(1, keepdim=True))


class Conv2dFp32Sums(torch.autograd.Function):
    """A convolution of 16-bit operands, and its gradients, summed in fp32 and rounded once: what oneDNN does in bf16, and with
    fp16 instructions. Without those, torch's own fp16 gradients are sums in fp16: over samples, and over overlapping windows."""

    @staticmethod
    def forward(ctx, x, weight, stride, padding):
        ctx.save_for_backward(x, weight)
        ctx.window = stride, padding
        with torch.autocast("cpu", enabled=False):
            return F.conv2d(x.float(), weight.float(), None, stride, padding).to(x.dtype)

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        dx = torch.nn.grad.conv2d_input(x.shape, weight.float(), dy.float(), *ctx.window)
        dweight = torch.nn.grad.conv2d_weight(x.float(), weight.shape, dy.float(), *ctx.window)
        return dx.to(x.dtype), dweight.to(x.dtype), None, None


def cnn(p, b, s, x):
    def convolve(name, x, stride=1):
        weight = p[name + ".conv.weight"]
        padding = weight.shape[-1] // 2
        if s["fp32_sums"]:
            x = Conv2dFp32Sums.apply(x.half(), weight.half(), stride, padding)
        else:
            x = F.conv2d(x, weight, None, stride, padding)
        n = name + ".bn"
        return F.batch_norm(x, b[n + ".running_mean"], b[n + ".running_var"], p[n + ".weight"], p[n + ".bias"], True, 0.1, 1e-5)

    x = F.relu(convolve("stem", x))
    for i in range(s["blocks"]):
        n, stride = f"block{i}", 1 if i == 0 else 2
        y = convolve(n + ".2", F.relu(convolve(n + ".1", x, stride)))
        x = F.relu(y + (convolve(n + ".shortcut", x, stride) if n + ".shortcut.conv.weight" in p else x))
    return linear(p, "head", F.avg_pool2d(x, x.shape[-2:]).flatten(1))


MODELS = {"gpt": gpt, "llama": llama, "mlp": mlp, "encoder": encoder, "encoder_composed": encoder, "cnn": cnn}
