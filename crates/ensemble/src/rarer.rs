//! The rarer of two classes: how well probabilities tell it apart, and from which one on a row is taken for it.
//!
//! A class that few rows have is seldom the most probable one, even where the probabilities are right. The threshold is the one with the
//! best F1 on left-out rows; probabilities and the most probable class stay what they are.

use super::Ensemble;
use tractable_core::error::Result;
use tractable_core::metrics::{Detected, auroc, average_precision};

/// Scores of the rarer of two classes.
///
/// ```
/// use tractable::ensemble::Rarer;
/// let p = [0.9, 0.1, 0.95, 0.05, 0.8, 0.2, 0.6, 0.4]; // of "no" and of "yes"
/// let yes = Rarer::of(&p, &[0, 0, 1, 1], &["no".into(), "yes".into()], None)?.unwrap();
/// assert_eq!((&yes.class[..], yes.auc, yes.average_precision), ("yes", 1.0, 1.0));
/// assert!(yes.found.threshold > 0.1 && yes.found.f1 == 1.0); // though "no" is always more probable
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Rarer {
    /// Name of the class.
    pub class: String,
    /// Rows that have it.
    pub rows: usize,
    /// Area under the ROC curve: .5 is chance, 1 is perfect.
    pub auc: f64,
    /// Average precision: the share of its rows is chance, 1 is perfect.
    pub average_precision: f64,
    /// The `threshold`, and what it finds.
    #[cfg_attr(feature = "files", serde(flatten))]
    pub found: Detected,
}

impl Rarer {
    /// Of probabilities, `[rows, 2]`, of the right classes and of the classes' names: with a class and its threshold, or with the class that
    /// fewer rows have and the threshold with the best F1. `None` when there are not two classes, or one of them has no rows.
    pub fn of(
        p: &[f64],
        labels: &[usize],
        names: &[String],
        known: Option<(usize, f64)>,
    ) -> Result<Option<Self>> {
        let second = labels.iter().filter(|label| **label == 1).count();
        if names.len() != 2 || second == 0 || second == labels.len() {
            return Ok(None);
        }
        // Of equals the second: it is the one that "yes" and "1" are.
        let class = known.map_or(usize::from(2 * second <= labels.len()), |(class, _)| class);
        let of = |own: bool| -> Vec<f64> {
            let rows = p.chunks_exact(2).zip(labels).filter(|(_, label)| (**label == class) == own);
            rows.map(|(p, _)| p[class]).collect()
        };
        let (others, own) = (of(false), of(true));
        let found = match known {
            Some((_, threshold)) => Detected::at(threshold, &others, &own)?,
            None => Detected::best(&others, &own)?,
        };
        Ok(Some(Rarer {
            class: names[class].clone(),
            rows: own.len(),
            auc: auroc(&others, &own)?,
            average_precision: average_precision(&others, &own)?,
            found,
        }))
    }
}

impl Ensemble {
    /// The rarer of two classes, and the probability from which on a row is taken for it: the one with the best F1 on left-out rows.
    /// `None` unless there are two classes.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// let x: Vec<f64> = (0..40).map(f64::from).collect();
    /// let labels = (0..40).map(|i| usize::from(i > 33)).collect();
    /// let data = Dataset::with_labels(Matrix::column(x)?, labels, vec!["low".into(), "high".into()])?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// # /*
    /// let model = Ensemble::fit(&data)?;
    /// # */
    /// let (class, threshold) = model.threshold().unwrap();
    /// let p = model.predict_classes(&Matrix::column(vec![39.0])?)?;
    /// assert!(class == 1 && p.row(0)[class] >= threshold);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn threshold(&self) -> Option<(usize, f64)> {
        let rarer = self.scores().first()?.rarer.as_ref()?;
        let class = self.class_names().iter().position(|name| *name == rarer.class)?;
        Some((class, rarer.found.threshold))
    }
}
