//! Learning curves of a run on images, as a table and as a picture.

use super::folder::{Past, RunFolder};
use crate::plot::{Color, Figure, Panel};
use crate::report::Outcome;

/// Writes them from the lines of `metrics.jsonl`.
pub(super) fn write(folder: &RunFolder, epochs: usize) -> Outcome {
    let past = folder.past(epochs)?;
    let mut text = String::from("epoch,noise_std,test_error,test_nll,images_per_second\n");
    for past in &past {
        let numbers = [Some(past.noise_std), past.test_error, past.test_nll, past.images_per_second];
        let cells = numbers.map(|v| v.map_or(String::new(), |v| v.to_string()));
        text += &format!("{},{}\n", past.epoch, cells.join(","));
    }
    folder.write("curves.csv", &text)?;
    let over_epochs = |title: &str, unit: &str, value: &dyn Fn(&Past) -> Option<f64>| {
        let (x, y): (Vec<f64>, Vec<f64>) =
            past.iter().filter_map(|p| value(p).map(|v| (p.epoch as f64, v))).unzip();
        Panel::new(title, "epoch", unit).line("", Color::Blue, &x, &y).points("", Color::Blue, &x, &y)
    };
    Figure::new("Learning curves on the test images")
        .columns(2)
        .panel(over_epochs("Error", "error, %", &|p| p.test_error.map(|e| 100.0 * e)))
        .panel(over_epochs("Negative log-likelihood", "nats an image", &|p| p.test_nll))
        .save(&folder.file("curves"))
}
