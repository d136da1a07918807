//! Transposes the means of a map's weights for the backward pass: from lines of 32 outputs per input to lines of
//! 32 inputs per output.

use super::tile::{LINE, PANEL};

/// Writes a line of 32 inputs for each of `outputs` outputs; inputs from `len` on become zero.
///
/// `from` starts with the first of these inputs in the first panel, `panel` is the distance from one panel to the next.
pub(super) fn turn(
    arch: pulp::Arch,
    from: &[f32],
    panel: usize,
    len: usize,
    outputs: usize,
    lines: &mut [f32],
) {
    assert!((1..=PANEL).contains(&len) && outputs > 0 && lines.len() >= outputs * PANEL);
    let last = outputs - 1;
    assert!(from.len() > last / PANEL * panel + last % PANEL + (len - 1) * LINE);
    #[cfg(target_arch = "x86_64")]
    if let pulp::Arch::V4(_) = arch {
        for o in (0..outputs).step_by(16) {
            let n = 16.min(outputs - o);
            let block = from.as_ptr().wrapping_add(o / PANEL * panel + o % PANEL);
            for i in (0..PANEL).step_by(16) {
                // SAFETY: AVX-512 is there; `len` inputs lie in the panel, LINE apart; `n` lines to write.
                unsafe {
                    let rows = len.saturating_sub(i).min(16);
                    let to = &mut lines[o * PANEL + i..];
                    turn_16(block.wrapping_add(i * LINE), rows, to.as_mut_ptr(), n);
                }
            }
        }
        return;
    }
    let _ = arch;
    for (o, line) in lines.chunks_exact_mut(PANEL).take(outputs).enumerate() {
        let column = &from[o / PANEL * panel + o % PANEL..];
        for (i, to) in line.iter_mut().enumerate() {
            *to = if i < len { column[i * LINE] } else { 0.0 };
        }
    }
}

/// Turns a block of `rows` <= 16 lines of 16 numbers, LINE apart, into `n` <= 16 lines of 16, PANEL apart.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn turn_16(from: *const f32, rows: usize, to: *mut f32, n: usize) {
    use std::arch::x86_64::*;
    // SAFETY: the caller's promise on `from` and `to`.
    unsafe {
        let mut a = [_mm512_setzero_ps(); 16];
        for (i, a) in a.iter_mut().enumerate() {
            if i < rows {
                *a = _mm512_loadu_ps(from.add(i * LINE));
            }
        }
        // Pairs, then fours within 128 bits, then the 128-bit parts themselves.
        let mut b = [_mm512_setzero_ps(); 16];
        for i in 0..8 {
            b[2 * i] = _mm512_unpacklo_ps(a[2 * i], a[2 * i + 1]);
            b[2 * i + 1] = _mm512_unpackhi_ps(a[2 * i], a[2 * i + 1]);
        }
        let as_pd = |v| _mm512_castps_pd(v);
        for i in 0..4 {
            for j in 0..2 {
                let (x, y) = (as_pd(b[4 * i + j]), as_pd(b[4 * i + 2 + j]));
                a[4 * i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(x, y));
                a[4 * i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
            }
        }
        // a[4 i + k] now holds, in its part p, column 4 p + k of rows 4 i to 4 i + 3.
        for k in 0..4 {
            let even = _mm512_shuffle_f32x4::<0x88>(a[k], a[4 + k]); // parts 0, 2 of rows 0-3, then of 4-7
            let odd = _mm512_shuffle_f32x4::<0xdd>(a[k], a[4 + k]); // parts 1, 3
            let even_high = _mm512_shuffle_f32x4::<0x88>(a[8 + k], a[12 + k]);
            let odd_high = _mm512_shuffle_f32x4::<0xdd>(a[8 + k], a[12 + k]);
            b[k] = _mm512_shuffle_f32x4::<0x88>(even, even_high);
            b[8 + k] = _mm512_shuffle_f32x4::<0xdd>(even, even_high);
            b[4 + k] = _mm512_shuffle_f32x4::<0x88>(odd, odd_high);
            b[12 + k] = _mm512_shuffle_f32x4::<0xdd>(odd, odd_high);
        }
        for (o, &line) in b.iter().take(n).enumerate() {
            _mm512_storeu_ps(to.add(o * PANEL), line);
        }
    }
}
