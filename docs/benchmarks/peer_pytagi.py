"""One update by pytagi (cuTAGI) on the CPU: forward, update of the output, backward, step. Prints JSON lines."""

import json
import sys

import numpy as np
from peer_networks import INPUTS, WORK, measure, widths
from pytagi.nn import AvgPool2d, Conv2d, Linear, OutputUpdater, ReLU, Sequential


def build(name):
    if wide := widths(name):
        layers = []
        for i, (n, m) in enumerate(zip(wide, wide[1:])):
            layers += [Linear(n, m)] + ([ReLU()] if i < len(wide) - 2 else [])
        return Sequential(*layers), wide[0], wide[-1]
    if name == "MNIST":
        net = Sequential(
            Conv2d(1, 32, 4, padding=1, in_width=28, in_height=28), ReLU(), AvgPool2d(3, 2),
            Conv2d(32, 64, 5), ReLU(), AvgPool2d(3, 2),
            Linear(64 * 4 * 4, 150), ReLU(), Linear(150, 11),
        )
    else:
        net = Sequential(
            Conv2d(3, 32, 5, padding=2, in_width=32, in_height=32), ReLU(), AvgPool2d(3, 2, 1, 2),
            Conv2d(32, 32, 5, padding=2), ReLU(), AvgPool2d(3, 2, 1, 2),
            Conv2d(32, 64, 5, padding=2), ReLU(), AvgPool2d(3, 2, 1, 2),
            Linear(64 * 4 * 4, 64), ReLU(), Linear(64, 11),
        )
    return net, int(np.prod(INPUTS[name])), 11


for name, batch, threads in WORK:
    net, inputs, outputs = build(name)
    net.set_threads(threads)
    updater = OutputUpdater(net.device)
    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, batch * inputs).astype(np.float32)
    y = random.uniform(0, 1, batch * outputs).astype(np.float32)
    var = np.full_like(y, 0.01)

    def update():
        net(x)
        updater.update(output_states=net.output_z_buffer, mu_obs=y, var_obs=var, delta_states=net.input_delta_z_buffer)
        net.backward()
        net.step()

    us = measure(update, float(sys.argv[1]))
    print(json.dumps({"network": name, "batch": batch, "threads": threads, "median_us": us}), flush=True)
