//! The maximum of your own function. Expect: `best` in 1.9..2.0, `distance` in 0..0.1 after 40 evaluations.

use tractable::optimize::Optimizer;

/// An experiment: expensive, without derivatives; its maximum is 2 at (0.3, -0.5).
fn experiment(x: &[f64]) -> f64 {
    2.0 - (x[0] - 0.3).powi(2) - 2.0 * (x[1] + 0.5).powi(2)
}

fn main() -> tractable::Result<()> {
    let mut search = Optimizer::maximize([(-1.0, 1.0), (-1.0, 1.0)])?.seed(0);
    for _ in 0..40 {
        let x = search.ask()?;
        let y = experiment(&x); // NaN would mean that it failed
        search.tell(&x, y)?;
    }
    let best = search.best().expect("something was told");
    println!("best: {:.4}", best.y.unwrap_or(f64::NAN));
    println!("distance: {:.4}", (best.x[0] - 0.3).hypot(best.x[1] + 0.5));
    let found = search.optimum()?;
    for (i, (mean, std)) in found.x.mean().iter().zip(found.x.std()).enumerate() {
        println!("x{}: {mean:.3} +- {std:.3}", i + 1);
    }
    Ok(())
}
