#!/usr/bin/env python3
"""Writes moments.txt: reference values for moments::*, from mpmath at 60 digits.

A line is `function inputs... = outputs...`; inputs are exact f64 (most are exact f32 too: the f32 instance is
tested on those), outputs have 20 digits.
    python3 moments_reference.py > moments.txt
"""
import random
import struct

import mpmath as mp

mp.mp.dps = 60
random.seed(20240607)


def f32(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def row(name, inputs, outputs):
    print(name, *(repr(float(x)) for x in inputs), "=", *(mp.nstr(mp.mpf(y), 20) for y in outputs))


def pdf(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def cdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def tails(t):
    with mp.workdps(200):
        t = mp.mpf(t)
        r = mp.sqrt(mp.pi / 2) * mp.erfc(t / mp.sqrt(2)) * mp.exp(t * t / 2)
        return r, 1 - t * r, (1 + t * t) * r - t


def mixture_relu(mu, var):
    """Textbook formulae, not those of the library: they cancel, so many more digits are kept."""
    with mp.workdps(700):
        mu, var = mp.mpf(mu), mp.mpf(var)
        s = mp.sqrt(var)
        p, c = pdf(mu / s), cdf(mu / s)
        mean = mu * c + s * p
        return mean, (mu * mu + var) * c + mu * s * p - mean**2, c


def linearised(mean, slope, var):
    return mean, slope**2 * var, slope


def tanh(x, var):
    x = mp.mpf(x)
    return linearised(mp.tanh(x), 1 / mp.cosh(x) ** 2, var)


def sigmoid(x, var):
    x = mp.mpf(x)
    return linearised(1 / (1 + mp.exp(-x)), 1 / (4 * mp.cosh(x / 2) ** 2), var)


def softplus(x, var):
    x = mp.mpf(x)
    return linearised(mp.log1p(mp.exp(x)), 1 / (1 + mp.exp(-x)), var)


def grid(low, high, n):
    """n values, evenly spread with a random last half of the digits, exact in f32."""
    return [f32(low + (high - low) * (i + random.random()) / n) for i in range(n)]


VARS = [1e-12, 1e-3, 0.7, 30.0, 1e6]

for x in [0.0, -10.0, -6.0, 10.0] + grid(-10, 10, 80) + [random.uniform(-37, 37) for _ in range(40)]:
    row("pdf", [x], [pdf(mp.mpf(x))])
    row("cdf", [x], [cdf(mp.mpf(x))])
for t in [0.0] + grid(0, 12, 80) + [f32(10.0**k) for k in range(1, 10)] + [random.uniform(0, 40) for _ in range(40)]:
    row("tails", [t], tails(t))
for x in [0.0, -0.5, 0.5] + grid(-86, 88, 80) + grid(-2, 2, 40) + [random.uniform(-700, 700) for _ in range(40)]:
    row("exp", [x], [mp.exp(mp.mpf(x))])
for x in [1e-30, -1e-30] + grid(-80, 80, 40) + grid(-2, 2, 80) + [random.uniform(-3, 3) for _ in range(40)]:
    row("exp_m1", [x], [mp.expm1(mp.mpf(x))])
for x in [0.0, 1e-30, 1.0] + grid(0, 1, 60) + [random.random() for _ in range(20)]:
    row("ln_1p", [x], [mp.log1p(mp.mpf(x))])

for var in VARS:
    s = var**0.5
    for a in [0.0, -6.0] + grid(-10, 10, 40):
        mu, v = f32(a * s), f32(var)
        row("mixture_relu", [mu, v], mixture_relu(mu, v))
    for _ in range(20):
        mu, v = random.uniform(-30, 10) * s, var * random.uniform(0.5, 2)
        row("mixture_relu", [mu, v], mixture_relu(mu, v))
for i, x in enumerate([0.0, 1e-20, -1e-20] + grid(-10, 10, 80) + [random.uniform(-30, 30) for _ in range(40)]):
    var = f32(VARS[i % 5])
    row("identity", [x, var], linearised(mp.mpf(x), mp.mpf(1), var))
    row("relu", [x, var], linearised(mp.mpf(max(x, 0)), mp.mpf(x > 0), var))
    row("leaky_relu", [x, var, f32(0.1)], linearised(mp.mpf(x) * (1 if x > 0 else f32(0.1)), mp.mpf(1 if x > 0 else f32(0.1)), var))
    row("tanh", [x, var], tanh(x, var))
    row("sigmoid", [x, var], sigmoid(x, var))
    row("softplus", [x, var], softplus(x, var))
