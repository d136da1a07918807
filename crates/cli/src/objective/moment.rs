//! A formula for one step of a task: its reward, or whether it ends there.

use super::expression::{Expression, ParseError};
use super::reader::{Vocabulary, is_number};
use tractable::rl::env::mujoco::Moment;

const STEP: Vocabulary = Vocabulary {
    knows: |name| {
        name == "dt" || name.split_at_checked(1).is_some_and(|(n, i)| "qvpa".contains(n) && is_number(i))
    },
    names: "q1, q2, ... (coordinates after the step), v1, ... (velocities), p1, ... (coordinates before it), \
            a1, ... (the action) and dt (seconds)",
};

/// An expression of a step.
#[derive(Debug, Clone)]
pub(crate) struct Formula {
    expression: Expression,
    places: Vec<Place>,
}

/// Where a variable is found.
#[derive(Debug, Clone, Copy)]
enum Place {
    Before(usize),
    After(usize),
    Action(usize),
    Seconds,
}

impl Formula {
    /// Reads a formula for a model with these numbers of coordinates, velocities and controls.
    ///
    /// # Errors
    /// What is wrong and at which character.
    pub(crate) fn parse(
        text: &str,
        positions: usize,
        velocities: usize,
        controls: usize,
    ) -> Result<Self, ParseError> {
        let expression = Expression::parse(text, &STEP)?;
        let mut places = Vec::new();
        for (name, at) in &expression.variables {
            let number = name[1..].parse::<usize>().map_or(0, |n| n - 1);
            let (most, place) = match name.as_bytes()[0] {
                b'q' => (positions, Place::After(number)),
                b'v' => (velocities, Place::After(positions + number)),
                b'p' => (positions, Place::Before(number)),
                b'a' => (controls, Place::Action(number)),
                _ => (usize::MAX, Place::Seconds),
            };
            if number >= most {
                let what = format!("the model has only {most} of these: `{name}` is");
                return Err(ParseError { what, at: *at, text: text.into() });
            }
            places.push(place);
        }
        Ok(Formula { expression, places })
    }

    pub(crate) fn value(&self, moment: &Moment<'_>) -> f64 {
        let found = self.places.iter().map(|place| match *place {
            Place::Before(i) => moment.before[i],
            Place::After(i) => moment.after[i],
            Place::Action(i) => moment.action[i],
            Place::Seconds => moment.seconds,
        });
        self.expression.value(&found.collect::<Vec<f64>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_in_the_step() {
        let (before, action, after) = ([1.0, 2.0, 30.0, 40.0], [0.5], [1.5, 2.5, 50.0, 60.0]);
        let moment = Moment { before: &before, action: &action, after: &after, seconds: 0.25 };
        let value = |text: &str| Formula::parse(text, 2, 2, 1).unwrap().value(&moment);
        assert_eq!(value("(q1 - p1)/dt - 0.1*a1^2"), 2.0 - 0.025);
        assert_eq!(value("v2 + q2 + v1 + p2"), 60.0 + 2.5 + 50.0 + 2.0);
        assert_eq!(value("1"), 1.0);
    }

    #[test]
    fn what_the_model_does_not_have_is_shown() {
        for (text, at, what) in [
            ("q1 + q3", 5, "only 2 of these"),
            ("a2", 0, "only 1 of these"),
            ("v0", 0, "`v0` is not known"),
            ("x", 0, "variables are q1, q2"),
            ("q1 +", 4, "a value is missing"),
        ] {
            let e = Formula::parse(text, 2, 2, 1).expect_err(text);
            assert!(e.at == at && e.what.contains(what), "{text}: {e:?}");
        }
    }
}
