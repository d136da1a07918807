#!/usr/bin/env python3
"""Writes src/moments/tables.rs: the polynomial coefficients behind moments::normal and the f32 exp.

Needs mpmath. Chebyshev interpolation at 60 digits, converted to monomials; the
conversion is harmless because sum |c_k u^k| stays below 5 times the polynomial.
    python3 moments_tables.py > ../../../core/src/moments/tables.rs
"""
import struct

import mpmath as mp

mp.mp.dps = 60
K, C = mp.mpf("3.5"), mp.mpf("1.5")


def mills(t):
    return mp.erfc(t / mp.sqrt(2)) * mp.exp(t * t / 2) * mp.sqrt(mp.pi / 2)


def first(t):
    with mp.workdps(150):
        return 1 - t * mills(t)


def second(t):
    with mp.workdps(150):
        return (1 + t * t) * mills(t) - t


def chebyshev(f, n, lo, hi):
    """Monomial coefficients in x of the interpolant of f at n Chebyshev nodes of [lo, hi]."""
    mid, half = (hi + lo) / 2, (hi - lo) / 2
    nodes = [mp.cos(mp.pi * (j + mp.mpf(1) / 2) / n) for j in range(n)]
    values = [f(mid + half * x) for x in nodes]
    out, t0, t1 = [mp.mpf(0)] * n, [mp.mpf(1)], [-mid / half, 1 / half]
    for k in range(n):
        c = mp.fsum(v * mp.cos(mp.pi * k * (j + mp.mpf(1) / 2) / n) for j, v in enumerate(values)) * 2 / n
        for i, v in enumerate(t0):
            out[i] += (c / 2 if k == 0 else c) * v
        nxt = [mp.mpf(0)] * (len(t1) + 1)
        for i, v in enumerate(t1):
            nxt[i + 1] += 2 * v / half
            nxt[i] -= 2 * v * mid / half
        for i, v in enumerate(t0):
            nxt[i] -= v
        t0, t1 = t1, nxt
    return out


def tail(g, power, n):
    def f(u):
        t = K * (1 + u) / (1 - u)
        return (t + C) ** power * g(t)

    return chebyshev(f, n, mp.mpf(-1), mp.mpf(1))


def short(x):
    """Shortest decimal that rounds to the same f32."""
    x = struct.unpack("f", struct.pack("f", float(x)))[0]
    for digits in range(1, 12):
        s = f"{x:.{digits}g}"
        if struct.unpack("f", struct.pack("f", float(s)))[0] == x:
            return s
    raise ValueError(x)


def literal(s):
    return s if "." in s else s.replace("e", ".0e") if "e" in s else s + ".0"


def method(name, coefficients, show):
    pairs = zip(coefficients[::2], coefficients[1::2])
    rows = "".join(f"                {literal(show(a))}, {literal(show(b))};\n" for a, b in pairs)
    return (
        f"    #[inline(always)]\n    fn {name}(u: Self) -> Self {{\n        even_odd!(\n            u;\n            [\n"
        f"{rows}            ]\n        )\n    }}\n"
    )


r_max = mp.mpf("0.38")
expm1_q = chebyshev(lambda r: mp.nsum(lambda k: r**k / mp.factorial(k + 2), [0, 40]), 5, -r_max, r_max)


def atanh_rest(z):
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / s**3


log1p_q = chebyshev(atanh_rest, 5, mp.mpf(0), mp.mpf(1) / 9)

print(
    """//! Polynomial coefficients for [`super::normal`] and for the `f32` exponential and logarithm.
//!
//! Written by `tests/data/moments_tables.py`; do not edit by hand.

/// Horner's rule, unrolled where it is written: `horner!(x; [c0, c1, c2])` is `c0 + x (c1 + x c2)`.
macro_rules! horner {
    ($x:expr; [$c:expr $(,)?]) => { $c };
    ($x:expr; [$c:expr, $($rest:expr),+ $(,)?]) => { $c + $x * horner!($x; [$($rest),+]) };
}

/// The even and the odd powers by Horner's rule each, in pairs `c0, c1; c2, c3; ...`: half the latency.
macro_rules! even_odd {
    ($x:expr; [$($even:expr, $odd:expr;)+]) => {{
        let square = $x * $x;
        horner!(square; [$($even),+]) + $x * horner!(square; [$($odd),+])
    }};
}

/// Polynomials in `u = (t - 3.5)/(t + 3.5)` of the scaled tail functions of the normal distribution.
/// Being in a private module, it also seals [`super::Real`].
pub trait Tables: Sized {
    /// `(t + 1.5)^2 G1(t)`.
    fn first_polynomial(u: Self) -> Self;
    /// `(t + 1.5)^3 G2(t)`.
    fn second_polynomial(u: Self) -> Self;
}

/// `(exp(r) - 1 - r)/r^2` for `|r| <= 0.38`: ln(2)/2 and room for a correction.
#[inline(always)]
pub(super) fn exp_m1_rest(r: f32) -> f32 {
    horner!(
        r;
        ["""
)
print("".join(f"            {literal(short(c))},\n" for c in expm1_q), end="")
print(
    """        ]
    )
}

/// `(2 atanh(s) - 2 s)/s^3` as a function of `z = s^2`, `0 <= z <= 1/9`.
#[inline(always)]
pub(super) fn atanh_rest(z: f32) -> f32 {
    horner!(
        z;
        ["""
)
print("".join(f"            {literal(short(c))},\n" for c in log1p_q), end="")
print("        ]\n    )\n}\n")
for name, show, n1, n2 in (("f32", short, 12, 14), ("f64", lambda c: repr(float(c)), 30, 30)):
    print(f"impl Tables for {name} {{")
    print(method("first_polynomial", tail(first, 2, n1), show))
    print(method("second_polynomial", tail(second, 3, n2), show), end="")
    print("}\n" if name == "f32" else "}")
