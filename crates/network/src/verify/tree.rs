//! Golden files of the class tree: encodings, probabilities, targets.

use super::Worst;
use super::json::Golden;
use crate::output::Tree;
use tractable_core::error::Result;

pub(super) fn check(golden: &Golden, worst: &mut Worst) -> Result<()> {
    for (classes, encoding) in golden.get("encodings")?.entries()? {
        let tree = Tree::new(classes.parse().map_err(|_| encoding.error("is not a number of classes"))?)?;
        let paths = (0..tree.classes()).flat_map(|c| tree.path(c));
        let (nodes, turns): (Vec<_>, Vec<_>) = paths.map(|(node, turn)| (node as f64, turn)).unzip();
        worst.check(&encoding, "obs", &turns)?;
        worst.check(&encoding, "idx", &nodes)?;
        worst.check(&encoding, "n_outputs", &[tree.nodes() as f64])?;
        worst.check(&encoding, "n_levels", &[tree.levels() as f64])?;
    }
    let (ma, sa) = (golden.get("ma")?, golden.get("Sa")?);
    let probabilities = golden.get("probabilities")?;
    let tree = Tree::new(probabilities.dims().last().copied().unwrap_or(0))?;
    compare_probabilities(tree, &ma.numbers()?, &sa.numbers()?, &probabilities, worst)?;
    let labels = golden.get("labels")?.labels()?;
    if let Some(label) = labels.iter().find(|&&l| l >= tree.classes()) {
        return Err(golden.error(format!("label {label} of {} classes", tree.classes())));
    }
    if ma.numbers()?.len() % tree.nodes() != 0 || ma.numbers()?.len() != sa.numbers()?.len() {
        return Err(golden.error(format!("ma and Sa are not rows of {} nodes", tree.nodes())));
    }
    let (mut y, mut seen) =
        (vec![0.0; labels.len() * tree.nodes()], vec![false; labels.len() * tree.nodes()]);
    for (row, &label) in labels.iter().enumerate() {
        let at = row * tree.nodes()..(row + 1) * tree.nodes();
        tree.observe(label, &mut y[at.clone()], &mut seen[at]);
    }
    let mask: Vec<f64> = seen.iter().map(|&s| f64::from(u8::from(s))).collect();
    worst.check(golden, "targets", &y)?;
    worst.check(golden, "mask", &mask)
}

/// Golden probabilities are products along the paths, not normalised; ours are, so both are compared: the
/// products, and the normalised ones against the golden ones divided by their sum.
pub(super) fn compare_probabilities(
    tree: Tree,
    mean: &[f64],
    var: &[f64],
    golden: &Golden,
    worst: &mut Worst,
) -> Result<()> {
    let n = tree.nodes();
    let rows = || mean.chunks_exact(n).zip(var.chunks_exact(n));
    let products: Vec<f64> =
        rows().flat_map(|(m, v)| (0..tree.classes()).map(move |c| tree.ln_path(c, m, v).exp())).collect();
    let normalised: Vec<f64> = rows().flat_map(|(m, v)| tree.probabilities(m, v)).collect();
    let reference = golden.numbers()?;
    worst.compare(golden.at(), &products, &reference);
    let expected: Vec<f64> = reference
        .chunks_exact(tree.classes())
        .flat_map(|row| row.iter().map(move |p| p / row.iter().sum::<f64>()))
        .collect();
    worst.compare(format!("{} normalised", golden.at()), &normalised, &expected);
    Ok(())
}
