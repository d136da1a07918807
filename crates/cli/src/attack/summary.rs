//! The record of an attack, and the summary of many.

use super::Method;
use crate::report::{short, table};
use serde::Serialize;
use tractable::attack::Attacked;

/// One attack as files and summaries keep it.
#[derive(Debug, Clone, Serialize)]
pub struct Record {
    pub image: usize,
    pub label: usize,
    pub target: Option<usize>,
    pub success: bool,
    pub class_before: usize,
    pub class_after: usize,
    pub l_inf: f64,
    pub l2: f64,
    pub iterations: usize,
    /// Probability of the target, or of all classes but the label, before and after.
    pub wanted_before: f64,
    pub wanted_after: f64,
}

impl Record {
    pub(super) fn new(a: &Attacked, image: usize) -> Self {
        let wanted = |p: &[f64]| a.target.map_or(1.0 - p[a.label], |t| p[t]);
        Record {
            image,
            label: a.label,
            target: a.target,
            success: a.success,
            class_before: a.class_before(),
            class_after: a.class_after(),
            l_inf: a.l_inf,
            l2: a.l2,
            iterations: a.iterations,
            wanted_before: wanted(&a.before),
            wanted_after: wanted(&a.after),
        }
    }
}

/// Mean and median of a number over attacks.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct MeanMedian {
    pub mean: f64,
    pub median: f64,
}

fn mean_median(values: impl Iterator<Item = f64>) -> Option<MeanMedian> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let median = (values.get(n / 2)? + values[(n - 1) / 2]) / 2.0;
    Some(MeanMedian { mean: values.iter().sum::<f64>() / n as f64, median })
}

/// What came of many attacks. Distances and iterations are those of the attacks that succeeded.
///
/// Line `attack` of `attack`.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// `infer`, `pgd` or `fgsm`.
    pub method: Method,
    /// As given.
    pub budget: Option<String>,
    /// How many.
    pub attacks: usize,
    /// Error rate on the unchanged images.
    pub error_before: f64,
    /// Share classified as the target or, without one, not as the label; includes images that were already misclassified.
    pub success: f64,
    /// Share not classified as the label, whatever the target.
    pub changed: f64,
    /// Mean and median over successful attacks.
    pub l_inf: Option<MeanMedian>,
    /// Mean and median over successful attacks.
    pub l2: Option<MeanMedian>,
    /// Mean and median over successful attacks.
    pub iterations: Option<MeanMedian>,
    /// Milliseconds per attack.
    pub ms_an_attack: f64,
    /// In total.
    pub seconds: f64,
}

impl Summary {
    pub(crate) fn of(method: Method, budget: Option<String>, records: &[Record], seconds: f64) -> Self {
        let share = |f: &dyn Fn(&Record) -> bool| {
            records.iter().filter(|r| f(r)).count() as f64 / records.len().max(1) as f64
        };
        let won = |f: fn(&Record) -> f64| mean_median(records.iter().filter(|r| r.success).map(f));
        Summary {
            method,
            budget,
            attacks: records.len(),
            error_before: share(&|r| r.class_before != r.label),
            success: share(&|r| r.success),
            changed: share(&|r| r.class_after != r.label),
            l_inf: won(|r| r.l_inf),
            l2: won(|r| r.l2),
            iterations: won(|r| r.iterations as f64),
            ms_an_attack: seconds * 1e3 / records.len().max(1) as f64,
            seconds,
        }
    }

    pub(crate) const HEAD: [&'static str; 11] = [
        "",
        "attacks",
        "wrong before",
        "success",
        "any change",
        "L-inf",
        "median",
        "L2",
        "median",
        "iterations",
        "ms",
    ];

    pub(crate) fn cells(&self) -> Vec<String> {
        let pair =
            |s: Option<MeanMedian>| s.map_or(["-".into(), "-".into()], |s| [short(s.mean), short(s.median)]);
        let name = match &self.budget {
            Some(budget) => format!("{}, {budget}", self.method.name()),
            None => self.method.name().into(),
        };
        let mut cells = vec![
            name,
            self.attacks.to_string(),
            percent(self.error_before),
            percent(self.success),
            percent(self.changed),
        ];
        cells.extend(pair(self.l_inf));
        cells.extend(pair(self.l2));
        cells.push(self.iterations.map_or("-".into(), |s| format!("{:.1}", s.mean)));
        cells.push(format!("{:.2}", self.ms_an_attack));
        cells
    }

    pub(crate) fn text(&self) -> String {
        table(&[Self::HEAD.map(String::from).to_vec(), self.cells()], &[0])
    }
}

pub fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}
