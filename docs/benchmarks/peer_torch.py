"""One update by PyTorch on the CPU: forward, mean squared error, backward, a step of Adam (fused). Prints JSON lines."""

import json
import sys

import torch
from peer_networks import INPUTS, WORK, measure, widths
from torch import nn


def build(name):
    if wide := widths(name):
        layers = []
        for i, (n, m) in enumerate(zip(wide, wide[1:])):
            layers += [nn.Linear(n, m)] + ([nn.ReLU()] if i < len(wide) - 2 else [])
        return nn.Sequential(*layers), (wide[0],), wide[-1]
    pool = lambda padding: nn.Sequential(nn.ZeroPad2d((0, padding, 0, padding)), nn.AvgPool2d(3, 2))
    if name == "MNIST":
        layers = [nn.Conv2d(1, 32, 4, padding=1), nn.ReLU(), pool(0), nn.Conv2d(32, 64, 5), nn.ReLU(), pool(0)]
        hidden = 150
    else:
        layers, hidden = [], 64
        for n, m in [(3, 32), (32, 32), (32, 64)]:
            layers += [nn.Conv2d(n, m, 5, padding=2), nn.ReLU(), pool(1)]
    layers += [nn.Flatten(), nn.LazyLinear(hidden), nn.ReLU(), nn.Linear(hidden, 11)]
    return nn.Sequential(*layers), INPUTS[name], 11


for name, batch, threads in WORK:
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    net, shape, outputs = build(name)
    x, y = torch.rand(batch, *shape) * 2 - 1, torch.rand(batch, outputs)
    net(x)
    adam = torch.optim.Adam(net.parameters(), lr=1e-4, fused=True)

    def update():
        adam.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        adam.step()

    us = measure(update, float(sys.argv[1]))
    print(json.dumps({"network": name, "batch": batch, "threads": threads, "median_us": us}), flush=True)
