//! How a network takes the columns of a table.

use super::Network;
use std::borrow::Cow;
use tractable_data::Preparation;

impl Network {
    /// How the columns of a table become this network's inputs: as they did when it was fitted. A network that was not
    /// fitted to a file takes columns of numbers with the names of its inputs; `None` where these have no names.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("t.csv");
    /// # std::fs::write(&path, "a,kind,y\n1,low,3\n2,high,4\n3,low,5\n")?;
    /// use tractable::{Activation, Fit, Network, data};
    /// let mut net = Network::mlp([2, 8, 1], Activation::Relu).build()?;
    /// net.fit(&data::csv(&path)?.target("y")?.standardize(), &Fit::new().epochs(1))?;
    /// let (mean, var) = net.preparation().unwrap().encode(&["2.5", "?"])?;
    /// assert!(mean[0] == 2.5 && var[1] > 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn preparation(&self) -> Option<Cow<'_, Preparation>> {
        if let Some(own) = &self.spec.preparation {
            return Some(Cow::Borrowed(&**own));
        }
        let names = self.input_names();
        if names.is_empty() {
            return None;
        }
        let scaler = self.input_scaler();
        let mean = scaler.map_or(vec![0.0; names.len()], |s| s.mean().to_vec());
        let std = scaler.map_or(vec![1.0; names.len()], |s| s.std().to_vec());
        Some(Cow::Owned(Preparation::of_numbers(names, mean, std)))
    }

    /// Drops the preparation: of several networks of a model, one keeps it.
    #[doc(hidden)]
    pub fn forget_preparation(&mut self) {
        self.spec.preparation = None;
    }
}
