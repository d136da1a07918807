#!/usr/bin/env python3
"""Training steps of the networks of `tractable bench --device cuda` in PyTorch, as fast as possible: CUDA graphs, TF32, fused SGD, images on the
GPU as bytes. Prints one JSON line per network and batch size: images per second, best of repeated blocks."""

import json
import time

import torch
from torch import nn

torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
torch.backends.cudnn.benchmark = True


def mnist():
    pool = lambda: nn.AvgPool2d(3, 2)
    return nn.Sequential(nn.Conv2d(1, 32, 4, padding=1), nn.ReLU(), pool(), nn.Conv2d(32, 64, 5), nn.ReLU(), pool(),
                         nn.Flatten(), nn.Linear(64 * 4 * 4, 150), nn.ReLU(), nn.Linear(150, 11))


def cifar10():
    pool = lambda: nn.AvgPool2d(3, 2, padding=1)
    conv = lambda i, o: nn.Conv2d(i, o, 5, padding=2)
    return nn.Sequential(conv(3, 32), nn.ReLU(), pool(), conv(32, 32), nn.ReLU(), pool(), conv(32, 64), nn.ReLU(), pool(),
                         nn.Flatten(), nn.Linear(64 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, 11))


def dense(width):
    return nn.Sequential(nn.Flatten(), nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 11))


def measure(name, net, shape, batch, images=65536, seconds=2.0):
    net = net.cuda().to(memory_format=torch.channels_last)
    data = torch.randint(0, 256, (images, *shape), dtype=torch.uint8, device="cuda")
    labels = torch.arange(images, device="cuda") * 7 % 10
    rows = torch.zeros(batch, dtype=torch.long, device="cuda")
    sgd = torch.optim.SGD(net.parameters(), lr=1e-3, fused=True)
    loss_of = nn.CrossEntropyLoss()

    def step():
        x = (data[rows].float() / 255 - 0.5).to(memory_format=torch.channels_last)
        loss = loss_of(net(x), labels[rows])
        sgd.zero_grad(set_to_none=False)
        loss.backward()
        sgd.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    best, until = 0.0, time.time() + seconds
    while time.time() < until:
        order = torch.randperm(images, device="cuda")
        torch.cuda.synchronize()
        began = time.time()
        for i in range(0, images, batch):
            rows.copy_(order[i:i + batch])
            graph.replay()
        torch.cuda.synchronize()
        best = max(best, images / (time.time() - began))
    print(json.dumps({"network": name, "batch": batch, "images_per_second": round(best)}), flush=True)


for batch in (128, 1024):
    measure("MNIST", mnist(), (1, 28, 28), batch)
for batch in (128, 1024):
    measure("CIFAR-10", cifar10(), (3, 32, 32), batch)
for batch in (512, 4096):
    measure("784-128-128-11", dense(128), (1, 28, 28), batch)
measure("784-4096-4096-11", dense(4096), (1, 28, 28), 1024)
