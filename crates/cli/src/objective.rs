//! Functions typed by the user: the objective of `optimize` (or a named one with known optima), and the reward of a
//! task.

mod bounds;
mod expression;
mod moment;
mod named;
mod reader;

pub use bounds::parse_bounds;
pub(crate) use bounds::spread_bounds;
pub use expression::ParseError;
pub(crate) use moment::Formula;
pub use named::{Direction, Known, TestFunction, test_function};

use expression::Expression;
use reader::SPACE;

/// A function of one number or several.
#[derive(Debug, Clone)]
pub struct Objective {
    function: Function,
    dimension: usize,
}

#[derive(Debug, Clone)]
enum Function {
    /// `order[i]` is the dimension of the expression's variable `i`.
    Typed {
        expression: Expression,
        order: Vec<usize>,
    },
    Named(&'static TestFunction),
}

impl Objective {
    /// Reads an expression of `x`, of `x, y` or `x, y, z`, or of `x1, x2, ...` without gaps. It has one
    /// dimension for each of them.
    ///
    /// # Errors
    /// What is wrong and at which character; the message shows it with a caret.
    pub(crate) fn parse(text: &str) -> Result<Self, ParseError> {
        let expression = Expression::parse(text, &SPACE)?;
        let order = dimensions_of(&expression.variables).map_err(|(at, what)| ParseError {
            what,
            at,
            text: text.into(),
        })?;
        Ok(Objective { dimension: order.len(), function: Function::Typed { expression, order } })
    }

    /// A function with a name.
    pub fn named(function: &'static TestFunction) -> Self {
        Objective { dimension: function.bounds.len(), function: Function::Named(function) }
    }

    /// A function with a name if there is one of it, an expression otherwise.
    pub fn from_text(text: &str) -> Result<Self, ParseError> {
        test_function(text).map_or_else(|| Self::parse(text), |named| Ok(Self::named(named)))
    }

    /// The function with a name that this is.
    pub fn test_function(&self) -> Option<&'static TestFunction> {
        match self.function {
            Function::Named(named) => Some(named),
            Function::Typed { .. } => None,
        }
    }

    /// The bounds to search in, a pair for every dimension: those given, or those of a function with a name.
    /// One pair holds for all dimensions of a function with a name; an expression has as many pairs as
    /// variables.
    ///
    /// # Errors
    /// If their number does not fit, or there are none.
    pub fn bounds(&self, given: Option<&[(f64, f64)]>) -> Result<Vec<(f64, f64)>, String> {
        match (&self.function, given) {
            (Function::Named(named), None) => Ok(named.bounds.into()),
            (Function::Named(_), Some(given)) => spread_bounds(given, self.dimension),
            (Function::Typed { .. }, Some(given)) if given.len() == self.dimension => Ok(given.into()),
            (Function::Typed { .. }, Some(given)) => Err(format!(
                "the expression has {} but there are {}: give one pair per variable, such as {}",
                counted(self.dimension, "variable"),
                counted(given.len(), "pair") + " of bounds",
                vec!["-2:2"; self.dimension].join(",")
            )),
            (Function::Typed { .. }, None) => Err(format!(
                "an expression needs bounds, such as --bounds {}",
                vec!["-2:2"; self.dimension].join(",")
            )),
        }
    }

    /// The value at `x`, a number for every dimension. NaN or infinite where it has none.
    ///
    /// # Panics
    /// If `x` has not one number for every dimension.
    pub fn value(&self, x: &[f64]) -> f64 {
        assert_eq!(x.len(), self.dimension, "one number for every dimension");
        match &self.function {
            Function::Typed { expression, order } => {
                let variables: Vec<f64> = order.iter().map(|&dimension| x[dimension]).collect();
                expression.value(&variables)
            }
            Function::Named(named) => (named.function)(x),
        }
    }
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The dimension of every variable, or where a name does not go with the others, and why.
fn dimensions_of(variables: &[(String, usize)]) -> Result<Vec<usize>, (usize, String)> {
    let Some((first, _)) = variables.first() else {
        return Err((0, "there is no variable to search over, such as x,".into()));
    };
    let letter = |name: &str| ["x", "y", "z"].iter().position(|l| *l == name);
    let numbered = letter(first).is_none();
    let mut order = Vec::new();
    for (name, at) in variables {
        let number = name.strip_prefix('x').and_then(|digits| digits.parse::<usize>().ok());
        let dimension = if numbered { number.map(|n| n - 1) } else { letter(name) };
        let mixed = || (*at, format!("`{name}` cannot be mixed with `{first}`: use x, y, z or x1, x2, ...;"));
        order.push(dimension.ok_or_else(mixed)?);
    }
    // Each is there once, so none is missing if the largest is as their number says.
    let missing = (0..order.len()).find(|d| !order.contains(d));
    match (missing, variables.iter().zip(&order).max_by_key(|(_, d)| **d)) {
        (Some(d), Some(((last, at), _))) => {
            let name = if numbered { format!("x{}", d + 1) } else { ["x", "y", "z"][d].into() };
            Err((*at, format!("there is `{last}` but no `{name}`; `{last}` is")))
        }
        _ => Ok(order),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_dimensions_in_their_order() {
        let value = |text: &str, x: &[f64]| {
            let objective = Objective::parse(text).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(objective.dimension, x.len(), "{text}");
            objective.value(x)
        };
        assert_eq!(value("x^3-3x", &[2.0]), 2.0);
        assert_eq!(value("y - 2x", &[3.0, 5.0]), -1.0);
        assert_eq!(value("z/y/x", &[2.0, 3.0, 12.0]), 2.0);
        assert_eq!(value("x2 - x1 + 10x3", &[1.0, 2.0, 3.0]), 31.0);
        assert_eq!(value("x1", &[7.0]), 7.0);
        let many: Vec<String> = (1..=12).map(|i| format!("{i}*x{i}")).collect();
        assert_eq!(value(&many.join("+"), &[1.0; 12]), 78.0);
    }

    #[test]
    fn variables_that_do_not_go_together_are_shown() {
        for (text, at, what) in [
            ("1+2", 0, "no variable to search over"),
            ("x + x1", 4, "`x1` cannot be mixed with `x`"),
            ("x2 + x1*y", 8, "`y` cannot be mixed with `x2`"),
            ("y^2", 0, "there is `y` but no `x`"),
            ("x + z", 4, "there is `z` but no `y`"),
            ("x1 + x9", 5, "there is `x9` but no `x2`"),
        ] {
            let e = Objective::parse(text).expect_err(text);
            assert!(e.at == at && e.what.contains(what), "{text}: {e:?}");
        }
    }

    #[test]
    fn names_come_before_expressions() {
        let branin = Objective::from_text("branin").unwrap();
        assert_eq!((branin.dimension, branin.test_function().unwrap().name), (2, "branin"));
        assert!((branin.value(&[std::f64::consts::PI, 2.275]) - 0.397887).abs() < 1e-6);
        let typed = Objective::from_text("x^3-3x").unwrap();
        assert!(typed.test_function().is_none());
        let cubic = Objective::from_text("cubic").unwrap();
        for x in [-2.0, -1.0, -0.3, 0.7, 1.9] {
            assert!((typed.value(&[x]) - cubic.value(&[x])).abs() < 1e-14);
        }
    }

    #[test]
    fn bounds_fit_the_dimensions() {
        let (typed, named) = (Objective::parse("x+y").unwrap(), Objective::from_text("hartmann6").unwrap());
        let pair = [(-1.0, 1.0)];
        assert_eq!(named.bounds(None).unwrap(), [(0.0, 1.0); 6]);
        assert_eq!(named.bounds(Some(&pair)).unwrap(), [(-1.0, 1.0); 6]);
        assert!(named.bounds(Some(&[(0.0, 1.0); 2])).unwrap_err().contains("for 6 dimensions"));
        assert_eq!(typed.bounds(Some(&[(0.0, 1.0), (2.0, 3.0)])).unwrap()[1], (2.0, 3.0));
        assert_eq!(
            typed.bounds(Some(&pair)).unwrap_err(),
            "the expression has 2 variables but there are 1 pair of bounds: give one pair per variable, \
             such as -2:2,-2:2"
        );
        assert!(typed.bounds(None).unwrap_err().contains("--bounds -2:2,-2:2"));
    }
}
