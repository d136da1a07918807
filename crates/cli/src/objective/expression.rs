//! An expression as `x^3 - 3x`: a list of steps, evaluated on a stack. `reader.rs` makes it from text.

use super::reader::{Reader, Vocabulary};
use std::fmt;

/// Longer texts are refused.
const MAX_LENGTH: usize = 10_000;

/// What is wrong with an expression, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong and what to do.
    pub(crate) what: String,
    /// The character it is at, from 0; the length of the text for its end.
    pub(crate) at: usize,
    /// The expression as it was given.
    pub(crate) text: String,
}

/// Three lines: what and where in words, the expression, a caret under the place. The first says all there is
/// to say where only one line can be shown.
impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Long ones are shown around the place. Control characters would move the caret.
        const BEFORE: usize = 50;
        let from = self.at.saturating_sub(BEFORE);
        let shown = self.text.chars().skip(from).take(BEFORE + 30);
        let shown: String = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
        let cut = if from > 0 { "..." } else { "" };
        let indent = " ".repeat(cut.len() + self.at - from);
        write!(f, "{} at character {} of the expression\n  {cut}{shown}\n  {indent}^", self.what, self.at + 1)
    }
}

/// One step of an evaluation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Operation {
    Number(f64),
    Variable(usize),
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Apply(fn(f64) -> f64),
    /// The minimum or maximum of the last values.
    Choose(fn(f64, f64) -> f64, usize),
}

/// An expression ready to be evaluated. Its variables are numbered in the order of their first use.
#[derive(Debug, Clone)]
pub(super) struct Expression {
    pub(super) steps: Vec<Operation>,
    /// The most numbers that an evaluation holds at once.
    pub(super) depth: usize,
    /// Names, and the character of their first use.
    pub(super) variables: Vec<(String, usize)>,
}

impl Expression {
    pub(super) fn parse(text: &str, vocabulary: &Vocabulary) -> Result<Self, ParseError> {
        let length = text.chars().count();
        if length > MAX_LENGTH {
            let what = format!("the expression has {length} characters; the limit is {MAX_LENGTH}, reached");
            return Err(ParseError { what, at: MAX_LENGTH, text: text.into() });
        }
        Reader::new(text, vocabulary).read()
    }

    /// The value at variables in their order here.
    pub(super) fn value(&self, variables: &[f64]) -> f64 {
        let mut stack: Vec<f64> = Vec::with_capacity(self.depth);
        for step in &self.steps {
            let value = match *step {
                Operation::Number(v) => v,
                Operation::Variable(i) => variables[i],
                Operation::Negate => -pop(&mut stack),
                Operation::Apply(function) => function(pop(&mut stack)),
                Operation::Choose(choose, count) => {
                    let rest = stack.len() - count;
                    let chosen = stack[rest..].iter().copied().reduce(choose);
                    stack.truncate(rest);
                    chosen.expect("calls have arguments")
                }
                Operation::Add
                | Operation::Subtract
                | Operation::Multiply
                | Operation::Divide
                | Operation::Power => {
                    let right = pop(&mut stack);
                    let left = pop(&mut stack);
                    match step {
                        Operation::Add => left + right,
                        Operation::Subtract => left - right,
                        Operation::Multiply => left * right,
                        Operation::Divide => left / right,
                        _ => left.powf(right),
                    }
                }
            };
            stack.push(value);
        }
        pop(&mut stack)
    }
}

fn pop(stack: &mut Vec<f64>) -> f64 {
    stack.pop().expect("the reader leaves a value for every step")
}

#[cfg(test)]
mod tests {
    use super::super::reader::SPACE;
    use super::*;
    use std::f64::consts::{E, PI};

    fn at(text: &str, x: f64) -> f64 {
        let read = Expression::parse(text, &SPACE).unwrap_or_else(|e| panic!("{e}"));
        assert!(read.variables.len() <= 1);
        read.value(&[x])
    }

    #[test]
    fn values_are_those_of_the_rules() {
        let x = 1.7f64;
        for (text, value) in [
            ("x^3-3*x", x.powf(3.0) - 3.0 * x),
            ("x^3-3x", x.powf(3.0) - 3.0 * x),
            ("x**2", x.powf(2.0)),
            ("-x^2", -x.powf(2.0)),
            ("2^-x", 2f64.powf(-x)),
            ("2^3^2", 512.0),
            ("2^-2^2", 2f64.powf(-4.0)),
            ("1-2-3", -4.0),
            ("12/2/3", 2.0),
            ("1/2x", 0.5 * x),
            ("2x^2", 2.0 * x.powf(2.0)),
            ("-2-+-3", 1.0),
            ("--x", x),
            ("2*-x", 2.0 * -x),
            ("(x+1)(x-1)", (x + 1.0) * (x - 1.0)),
            ("x(x+1)", x * (x + 1.0)),
            ("3 sin(x) cos(x)", 3.0 * x.sin() * x.cos()),
            ("2pi", 2.0 * PI),
            ("2π x", 2.0 * PI * x),
            ("2e", 2.0 * E),
            ("2e-3", 0.002),
            ("2e3x", 2000.0 * x),
            ("2e-x", 2.0 * E - x),
            (".5 + 1.", 1.5),
            ("exp(ln(x))", x.ln().exp()),
            ("sqrt(abs(-x))", x.sqrt()),
            ("tanh(x)+atan(x)", x.tanh() + x.atan()),
            ("log10(100) + log2(8)", 5.0),
            ("min(3, x, 2) + max(1, -x)", x + 1.0),
            ("max(min(x, 1), 0)", 1.0),
            ("\tx\n+ 1 ", x + 1.0),
        ] {
            assert_eq!(at(text, x), value, "{text}");
        }
        assert!(at("min(x, 1)", f64::NAN).is_nan() && at("max(1, x)", f64::NAN).is_nan());
        assert!(at("sqrt(x)", -1.0).is_nan());
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        for (text, position, what) in [
            ("", 0, "there is no expression"),
            ("   ", 3, "there is no expression"),
            ("x^3-3*", 6, "a value is missing"),
            ("x + * 2", 4, "a value is missing before `*`"),
            ("(x+1", 0, "never closed"),
            ("sin(x", 3, "never closed"),
            ("x+1)", 3, "no open parenthesis"),
            ("()", 1, "missing before `)`"),
            ("x 2", 2, "an operator such as `*`"),
            ("2 3", 2, "an operator such as `*`"),
            ("1.2.3", 0, "`1.2.3` is not a number"),
            ("1e999", 0, "too large"),
            ("sin x", 0, "in parentheses: sin(x)"),
            ("foo(x)", 0, "`foo` is not known"),
            ("x + log(x)", 4, "`log` is ambiguous"),
            ("x0", 0, "`x0` is not known"),
            ("sin(x, 1)", 5, "takes one argument"),
            ("max(x)", 5, "two arguments or more"),
            ("max(x,)", 6, "missing before `)`"),
            ("(x, 1)", 2, "a comma is only"),
            ("x, 1", 1, "a comma is only"),
            ("x $ 1", 2, "`$` has no meaning"),
            ("x + ü", 4, "`ü` has no meaning"),
        ] {
            let e = Expression::parse(text, &SPACE).expect_err(text);
            assert!(e.at == position && e.what.contains(what), "{text}: {e:?}");
        }
    }

    #[test]
    fn the_caret_is_under_the_place() {
        let said = Expression::parse("x^3 - 3*)", &SPACE).unwrap_err().to_string();
        assert_eq!(
            said,
            "a value is missing before `)` at character 9 of the expression\n  x^3 - 3*)\n          ^"
        );
        // Characters, not bytes; far along, only the surroundings.
        let long = "π+".repeat(100) + "§";
        let said = Expression::parse(&long, &SPACE).unwrap_err().to_string();
        let lines: Vec<Vec<char>> = said.lines().map(|l| l.chars().collect()).collect();
        let caret = lines[2].iter().position(|c| *c == '^').unwrap();
        assert_eq!((lines.len(), lines[1][caret]), (3, '§'));
        assert!(lines[1].len() < 90 && said.contains("at character 201"));
        assert_eq!(Expression::parse("x\n)", &SPACE).unwrap_err().to_string().lines().count(), 3);
    }

    #[test]
    fn no_depth_of_nesting_overflows() {
        let deep = |n: usize| "(".repeat(n) + "x" + &")".repeat(n);
        assert_eq!(at(&deep(4000), 3.0), 3.0);
        let e = Expression::parse(&deep(100_000), &SPACE).unwrap_err();
        assert!(e.to_string().contains("has 200001 characters; the limit is 10000"), "{e}");
        // The limit is for people; the reader itself needs none.
        for open in ["(", "-", "sin(", "x^", "2^(", "max(1,", "x("] {
            let n = 100_000;
            let text = open.repeat(n) + "x" + &")".repeat(if open.contains('(') { n } else { 0 });
            let read = Reader::new(&text, &SPACE).read().unwrap_or_else(|e| panic!("{open}: {e}"));
            assert!(!read.value(&[0.5]).is_nan(), "{open}");
        }
        assert!(Reader::new(&"(".repeat(1_000_000), &SPACE).read().is_err());
    }

    /// Every text of a few symbols is read or refused, and what is read has a value.
    #[test]
    fn no_text_panics() {
        let symbols = ["x", "2", ".", "e", "+", "-", "^", "(", ")", ",", "sin(", "max(", " ", "é"];
        let mut read = 0;
        for n in 0..symbols.len().pow(5) {
            let mut text = String::new();
            let mut rest = n;
            for _ in 0..5 {
                text += symbols[rest % symbols.len()];
                rest /= symbols.len();
            }
            if let Ok(expression) = Expression::parse(&text, &SPACE) {
                expression.value(&vec![0.3; expression.variables.len()]);
                read += 1;
            }
        }
        assert!(read > 1000, "{read}");
    }
}
