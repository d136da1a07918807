//! Sums over batches on the fast device.

use super::Cpu;
use super::lines::Lines;
use super::norm::NormSums;
use crate::Summed;
use tractable_core::error::Result;
use tractable_core::workers::Numbers;

/// What batches say about the parameters of one layer.
pub struct Sums {
    /// Of a map: a line per input and one for the bias, panel after panel.
    pub(super) lines: Lines,
    pub(super) norm: NormSums,
}

impl Summed for Cpu {
    type Sums = Sums;

    fn clear(&self, sums: &mut Sums) {
        sums.lines.fill(0.0);
        sums.norm.clear();
    }

    fn sums_read(&self, sums: &Sums, many: &mut Numbers, few: &mut Vec<f64>) -> Result<()> {
        if let Numbers::Single(many) = many {
            many.extend_from_slice(&sums.lines);
        }
        sums.norm.read(few);
        Ok(())
    }

    fn sums_write(
        &self,
        sums: &mut Sums,
        many: &Numbers,
        at: usize,
        few: &mut dyn Iterator<Item = f64>,
    ) -> Result<usize> {
        let n = sums.lines.len();
        if let Numbers::Single(many) = many {
            sums.lines.copy_from_slice(&many[at..at + n]);
        }
        sums.norm.write(few);
        Ok(at + n)
    }
}
