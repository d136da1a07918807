//! The question: the prior of every input, and the wanted outputs; read from flags or cells.

use crate::report::{Exit, Outcome};
use crate::run::class_names;
use std::borrow::Cow;
use tractable::data::{Preparation, Scaler, nearest};
use tractable::{
    Ensemble, Gaussian, Matrix, Posterior, Wanted,
    network::{Observation, Output},
    rng,
};

/// A number with a standard deviation; 0: known, or wanted, exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Belief {
    pub(super) mean: f64,
    pub(super) std: f64,
}

/// What is wanted.
pub(super) enum Wish {
    /// One entry per output; none for free outputs.
    Values(Vec<Option<Belief>>),
    Class(usize),
    Extremum {
        output: usize,
        highest: bool,
    },
}

/// The model, the names of its inputs and outputs, and the distribution of its training data.
pub(super) struct Asked<'m> {
    pub(super) model: &'m Ensemble,
    pub(super) inputs: &'m [String],
    pub(super) preparation: Cow<'m, Preparation>,
    pub(super) targets: Vec<String>,
    /// Empty where the output is numbers.
    pub(super) classes: Vec<String>,
    training: Option<&'m Scaler>,
    pub(super) known_weights: bool,
}

pub(super) struct Question {
    /// One per input.
    pub(super) prior: Vec<Belief>,
    pub(super) wish: Wish,
}

impl Question {
    pub(super) fn unknown(&self) -> Vec<usize> {
        (0..self.prior.len()).filter(|&i| self.prior[i].std > 0.0).collect()
    }

    /// A whole row: some inputs are varied, the others as they are known.
    pub(super) fn place(&self, varied: &[usize], values: &[f64]) -> Vec<f64> {
        let mut row: Vec<f64> = self.prior.iter().map(|b| b.mean).collect();
        varied.iter().zip(values).for_each(|(&i, &x)| row[i] = x);
        row
    }

    /// `ln` of the prior's density of some inputs, up to a constant.
    pub(super) fn ln_prior(&self, varied: &[usize], values: &[f64]) -> f64 {
        let one = |(&i, x): (&usize, &f64)| ((x - self.prior[i].mean) / self.prior[i].std).powi(2);
        -0.5 * varied.iter().zip(values).map(one).sum::<f64>()
    }
}

/// What goes wrong with a name or a number.
type Read<T> = Result<T, String>;

impl<'m> Asked<'m> {
    pub(super) fn new(model: &'m Ensemble, known_weights: bool) -> Self {
        let targets = match model.output_names() {
            // A network of images has classes without a column.
            [] => vec!["class".into()],
            names => names.to_vec(),
        };
        let training = model.first().input_scaler();
        Asked {
            model,
            inputs: model.input_names(),
            preparation: model.preparation().expect("a trained model has names"),
            targets,
            classes: class_names(model),
            training,
            known_weights,
        }
    }

    /// From the flags `--given` and `--want`. Says which inputs were not given.
    pub(super) fn question(
        &self,
        given: Option<&str>,
        want: Option<&str>,
    ) -> Outcome<(Question, Vec<usize>)> {
        let at = |flag: &'static str| move |why: String| Exit::Error(format!("{flag}: {why}"));
        let mut prior = vec![None; self.inputs.len()];
        let entries = given.map_or(Ok(Vec::new()), assignments).map_err(at("--given"))?;
        for (name, value) in &entries {
            for (i, belief) in self.said(name, value).map_err(at("--given"))? {
                if prior[i].replace(belief).is_some() {
                    return Err(at("--given")(format!("`{name}` is given twice")));
                }
            }
        }
        let Some(want) = want else {
            return Err(Exit::Error(
                "specify the wanted output: --want 'OUTPUT=VALUE±STD', or a CSV file of questions".into(),
            ));
        };
        let wish = assignments(want).and_then(|entries| self.wish(&entries)).map_err(at("--want"))?;
        let missing: Vec<usize> = (0..prior.len()).filter(|&i| prior[i].is_none()).collect();
        let question = self.ask(prior, wish).map_err(at("--given"))?;
        Ok((question, missing))
    }

    /// What is said of an input, or of a column of the table, which may be several inputs; none where it is missing.
    pub(super) fn said(&self, name: &str, value: &str) -> Read<Vec<(usize, Belief)>> {
        let column = self.preparation.column(name).filter(|_| !self.preparation.is_number(name));
        let as_input = self.inputs.iter().position(|n| n == name).map(|i| (i, belief(value)));
        match (as_input, column) {
            (Some((i, Ok(belief))), _) => Ok(vec![(i, belief)]),
            (Some((_, Err(why))), None) => Err(format!("`{name}`: {why}")),
            (_, Some((inputs, _))) => {
                let values = self.preparation.inputs_of(name, value).map_err(|e| e.to_string())?;
                let known = |mean: f64| Belief { mean, std: 0.0 };
                Ok(values.map_or(Vec::new(), |v| inputs.zip(v.into_iter().map(known)).collect()))
            }
            (None, None) => {
                let columns = self.preparation.columns().filter(|c| !self.inputs.iter().any(|n| n == c));
                let names: Vec<String> =
                    self.inputs.iter().cloned().chain(columns.map(String::from)).collect();
                Err(find("input", &names, name).expect_err("it is none of them"))
            }
        }
    }

    /// Inputs that are not given are distributed as in the training data.
    pub(super) fn ask(&self, said: Vec<Option<Belief>>, wish: Wish) -> Read<Question> {
        let as_trained = |i: usize| match self.training {
            Some(s) => Ok(Belief { mean: s.mean()[i], std: s.std()[i] }),
            None => Err(format!(
                "`{}` is missing, and the model file does not record its training distribution",
                self.inputs[i]
            )),
        };
        let prior: Vec<Belief> = said
            .into_iter()
            .enumerate()
            .map(|(i, b)| b.map_or_else(|| as_trained(i), Ok))
            .collect::<Read<_>>()?;
        if prior.iter().all(|b| b.std == 0.0) {
            return Err("all inputs are known exactly, so there is nothing to find; give one of them a spread, as in \
                        `x=0.5±0.1`, or leave it out"
                .into());
        }
        Ok(Question { prior, wish })
    }

    /// What is wanted of which output.
    pub(super) fn wish(&self, entries: &[(String, String)]) -> Read<Wish> {
        for (i, (name, _)) in entries.iter().enumerate() {
            if entries[..i].iter().any(|(other, _)| other == name) {
                return Err(format!("`{name}` is given twice"));
            }
        }
        if self.is_classes() {
            return self.class(entries);
        }
        let mut values = vec![None; self.targets.len()];
        for (name, value) in entries {
            let output = find("output", &self.targets, name)?;
            if value == "max" || value == "min" {
                if entries.len() > 1 {
                    return Err(format!("`{name}={value}`: ask for a maximum or minimum alone"));
                }
                let models = self.model.models();
                if models > 1 {
                    return Err(format!(
                        "`{name}={value}`: needs one network, and the model has {models}; train with --single"
                    ));
                }
                return Ok(Wish::Extremum { output, highest: value == "max" });
            }
            values[output] = Some(belief(value).map_err(|why| format!("`{name}`: {why}"))?);
        }
        Ok(Wish::Values(values))
    }

    /// The one class that is wanted.
    fn class(&self, entries: &[(String, String)]) -> Read<Wish> {
        let mut labels = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            // It may be asked for without the name of its column.
            if name != "class" {
                find("output", &self.targets, name)?;
            }
            labels.push(find("class", &self.classes, value)?);
        }
        match labels[..] {
            [label] => Ok(Wish::Class(label)),
            _ => Err(format!("{} classes are wanted; ask for one", labels.len())),
        }
    }

    /// The smallest variance of every wish: a value that is wanted exactly is met to a thousandth of the output's range over the
    /// prior, as in the library. Empty for classes and extrema.
    pub(super) fn least_noise(&self, question: &Question) -> tractable::Result<Vec<f64>> {
        let Wish::Values(values) = &question.wish else { return Ok(Vec::new()) };
        let (unknown, mut random) = (question.unknown(), rng::stream(0, "least noise", 0));
        let mut draw =
            |i: usize| question.prior[i].mean + question.prior[i].std * rng::standard_normal(&mut random);
        let places: Vec<f64> = (0..DRAWN)
            .flat_map(|_| {
                let drawn: Vec<f64> = unknown.iter().map(|&i| draw(i)).collect();
                question.place(&unknown, &drawn)
            })
            .collect();
        let said = self.say(&Matrix::new(places, question.prior.len())?)?;
        let least = |o: usize| {
            let of = |i: usize| said.row(i)[o];
            let mean = (0..DRAWN).map(of).sum::<f64>() / DRAWN as f64;
            EXACTLY * EXACTLY * (0..DRAWN).map(|i| (of(i) - mean).powi(2)).sum::<f64>() / DRAWN as f64
        };
        Ok((0..values.len()).map(least).collect())
    }

    /// The posterior of the inputs.
    pub(super) fn answer(&self, question: &Question) -> tractable::Result<Posterior> {
        let mean = question.prior.iter().map(|b| b.mean).collect();
        let var = question.prior.iter().map(|b| b.std * b.std).collect();
        let prior = Gaussian::new(mean, var, self.inputs.len())?;
        let ask = |wanted: Wanted<'_>| {
            let wanted = if self.known_weights { wanted.known_weights() } else { wanted };
            self.model.condition(&prior, wanted)
        };
        match &question.wish {
            Wish::Class(label) => ask(Wanted::from(&[*label])),
            Wish::Extremum { output, highest } => {
                let wanted = if *highest { Wanted::maximum() } else { Wanted::minimum() };
                ask(wanted.output(*output).into())
            }
            Wish::Values(values) => {
                let y: Vec<f64> = values.iter().map(|v| v.map_or(0.0, |b| b.mean)).collect();
                let y = Matrix::new(y, values.len())?;
                let seen: Vec<bool> = values.iter().map(Option::is_some).collect();
                let vars: Vec<f64> = values.iter().flatten().map(|b| b.std * b.std).collect();
                if vars.iter().all(|v| *v == vars[0]) {
                    return ask(Wanted::from(&y).only(&seen).noise_var(vars[0]));
                }
                let var: Vec<f64> =
                    values.iter().map(|v| v.map_or(1.0, |b| (b.std * b.std).max(EXACT))).collect();
                ask(Wanted::from(Observation::from(&y).noise_var(&var)).only(&seen))
            }
        }
    }

    /// Predictions at points, one row per point: mean and model variance of every output, or the
    /// probability of every class.
    pub(super) fn say(&self, places: &Matrix) -> tractable::Result<Matrix> {
        if self.is_classes() {
            return self.model.predict_classes(places);
        }
        let out = self.model.predict(places)?;
        let n = out.width();
        let row = |i: usize| out.mean()[i * n..][..n].iter().chain(&out.var()[i * n..][..n]).copied();
        Matrix::new((0..places.rows()).flat_map(row).collect(), 2 * n)
    }

    pub(super) fn is_classes(&self) -> bool {
        matches!(self.model.output(), Output::Classes { .. })
    }
}

impl Wish {
    /// Distance of a row of [`Asked::say`] from the wanted output, in standard deviations of both together; for the worst
    /// output. Classes: more than 1 if another is likelier.
    pub(super) fn off(&self, said: &[f64]) -> Option<f64> {
        match self {
            Wish::Extremum { .. } => None,
            Wish::Class(label) => Some(said.iter().copied().fold(0.0, f64::max) / said[*label]),
            Wish::Values(values) => {
                let one = |(o, b): (usize, &Option<Belief>)| {
                    let b = (*b)?;
                    let off = (b.mean - said[o]).abs();
                    // What is wanted exactly is found to three digits or so.
                    let met = off <= DIGITS * b.mean.abs().max(said[o].abs());
                    Some(if met { 0.0 } else { off / b.std.hypot(said[values.len() + o].sqrt()) })
                };
                Some(values.iter().enumerate().filter_map(one).fold(0.0, f64::max))
            }
        }
    }

    /// Whether this distance is too large.
    pub(super) fn missed(&self, off: f64) -> bool {
        off > if matches!(self, Wish::Class(_)) { 1.0 } else { FAR }
    }

    /// `ln p(wish | place)` up to a constant, by a row of [`Asked::say`], as the model weighs places, with at least this noise
    /// in every output. A maximum is not weighed.
    pub(super) fn ln_likelihood(&self, said: &[f64], least: &[f64], known_weights: bool) -> Option<f64> {
        match self {
            Wish::Extremum { .. } => None,
            Wish::Class(label) => Some(said[*label].ln()),
            Wish::Values(values) => {
                let entry = |(o, b): (usize, &Option<Belief>)| {
                    let b = (*b)?;
                    let own = if known_weights { 0.0 } else { said[values.len() + o] };
                    let (var, off) = (own + (b.std * b.std).max(least[o]), b.mean - said[o]);
                    // The output is the same everywhere, and known.
                    if var == 0.0 {
                        return Some(if off == 0.0 { 0.0 } else { f64::NEG_INFINITY });
                    }
                    Some(-0.5 * (off * off / var + var.ln()))
                };
                Some(values.iter().enumerate().filter_map(entry).sum())
            }
        }
    }
}

/// A wanted output is out of reach if the prediction differs by more standard deviations than this.
const FAR: f64 = 3.0;

/// A prediction that differs by this share is the wish.
const DIGITS: f64 = 2e-3;

/// A wish is met exactly to this share of the output's range over the prior, and points to measure it.
const EXACTLY: f64 = 1e-3;
const DRAWN: usize = 64;

/// The largest number of an input or a wish: its square must not overflow.
const LARGEST: f64 = 1e150;

/// Variance of a wish that is to be met exactly, beside others that are not.
const EXACT: f64 = 1e-60;

/// `NAME=VALUE,...`; double quotes may contain commas and equals signs.
fn assignments(text: &str) -> Read<Vec<(String, String)>> {
    if text.trim().is_empty() {
        return Err("it is empty; write COLUMN=VALUE±STD, separated by commas".into());
    }
    let (mut entries, mut parts, mut quoted) = (Vec::new(), vec![String::new()], false);
    for c in text.chars().chain([',']) {
        match c {
            '"' => quoted = !quoted,
            '=' if !quoted && parts.len() == 1 => parts.push(String::new()),
            ',' if !quoted => {
                let entry: Vec<String> = parts.iter().map(|p| p.trim().to_string()).collect();
                match &entry[..] {
                    [name, value] if !name.is_empty() && !value.is_empty() => {
                        entries.push((name.clone(), value.clone()));
                    }
                    _ => {
                        let entry = entry.join("=");
                        return Err(format!("`{entry}` is not COLUMN=VALUE or COLUMN=VALUE±STD"));
                    }
                }
                parts = vec![String::new()];
            }
            c => parts.last_mut().expect("there is one").push(c),
        }
    }
    if quoted {
        return Err("a double quote is never closed".into());
    }
    Ok(entries)
}

/// `VALUE`, `VALUE±STD`, `VALUE+-STD` or `VALUE+/-STD`.
fn belief(text: &str) -> Read<Belief> {
    let mark = ["±", "+/-", "+-"].into_iter().find_map(|mark| text.split_once(mark));
    match mark {
        None => Ok(Belief { mean: number(text)?, std: 0.0 }),
        Some((mean, spread)) => Ok(Belief { mean: number(mean)?, std: std(spread)? }),
    }
}

pub(super) fn number(text: &str) -> Read<f64> {
    match text.trim().parse::<f64>() {
        Ok(v) if v.abs() <= LARGEST => Ok(v),
        Ok(v) if v.is_finite() => Err(format!("{v:e} is out of range; at most {LARGEST:e} can be used")),
        Ok(_) => Err(format!("\"{}\" is not a finite number", text.trim())),
        Err(_) => Err(format!("\"{}\" is not a number", text.trim())),
    }
}

/// A standard deviation.
pub(super) fn std(text: &str) -> Read<f64> {
    match number(text)? {
        v if v < 0.0 => Err(format!("a standard deviation of {v} is below 0")),
        v => Ok(v),
    }
}

/// The place of a name, or what there is.
fn find(what: &str, names: &[String], name: &str) -> Read<usize> {
    const SHOWN: usize = 20;
    if let Some(at) = names.iter().position(|n| n == name) {
        return Ok(at);
    }
    let hint = nearest(name, names.iter().map(String::as_str));
    let hint = hint.map_or(String::new(), |n| format!("; did you mean `{n}`?"));
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    let known = names.iter().take(SHOWN).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    Err(format!("there is no {what} `{name}`{hint}; there is {known}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_spread_in_three_spellings() {
        let both = Belief { mean: -1.0, std: 0.05 };
        for text in ["-1±0.05", "-1 ± 0.05", "-1+-0.05", "-1+/-5e-2", "-1 +- 0.05"] {
            assert_eq!(belief(text), Ok(both), "{text}");
        }
        assert_eq!(belief("2e-3"), Ok(Belief { mean: 2e-3, std: 0.0 }));
        for text in ["", "x", "1±", "±1", "1±x", "nan", "1±inf", "1±-1", "1±1±1", "1,5"] {
            assert!(belief(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_may_be_quoted() {
        let read = |text: &str| assignments(text).unwrap();
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(read("a=1, b = 2±3"), [pair("a", "1"), pair("b", "2±3")]);
        assert_eq!(read("\"a, b\"=1,kind=\"top, high\""), [pair("a, b", "1"), pair("kind", "top, high")]);
        assert_eq!(read("a=b=c"), [pair("a", "b=c")]);
        for text in ["", " ", ",", "a", "a=", "=1", "a=1,", "a=1,,b=2", "\"a=1"] {
            assert!(assignments(text).is_err(), "{text}");
        }
    }
}
