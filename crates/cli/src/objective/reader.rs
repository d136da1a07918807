//! Reads an expression into the steps of its evaluation.
//!
//! Our own code rather than a crate, because it must say where a mistake is, accept `3x`, and parse any
//! text without recursion, so that no nesting overflows the stack. `^` binds tighter than a sign before it
//! (`-x^2` is `-(x^2)`) and to the right; a product without `*` binds like one with it (`1/2x` is `(1/2)*x`).

use super::expression::{Expression, Operation, ParseError};

/// A function by its name: of one number, or of any number of them.
#[derive(Clone, Copy)]
enum Function {
    One(fn(f64) -> f64),
    Many(fn(f64, f64) -> f64),
}

const FUNCTIONS: &[(&str, Function)] = &[
    ("sin", Function::One(f64::sin)),
    ("cos", Function::One(f64::cos)),
    ("tan", Function::One(f64::tan)),
    ("asin", Function::One(f64::asin)),
    ("acos", Function::One(f64::acos)),
    ("atan", Function::One(f64::atan)),
    ("sinh", Function::One(f64::sinh)),
    ("cosh", Function::One(f64::cosh)),
    ("tanh", Function::One(f64::tanh)),
    ("exp", Function::One(f64::exp)),
    ("ln", Function::One(f64::ln)),
    ("log2", Function::One(f64::log2)),
    ("log10", Function::One(f64::log10)),
    ("sqrt", Function::One(f64::sqrt)),
    ("abs", Function::One(f64::abs)),
    // Not `f64::min`, which forgets a NaN.
    ("min", Function::Many(|a, b| if a < b || a.is_nan() { a } else { b })),
    ("max", Function::Many(|a, b| if a > b || a.is_nan() { a } else { b })),
];

/// What waits for its right side.
#[derive(Clone, Copy)]
enum Waiting {
    Operator(Operation),
    Parenthesis { at: usize },
    Call { at: usize, function: Function, arguments: usize },
}

impl Waiting {
    /// How tightly it binds, and whether to the right. Parentheses hold everything back.
    fn binding(self) -> (u8, bool) {
        match self {
            Waiting::Operator(Operation::Power) => (4, true),
            Waiting::Operator(Operation::Negate) => (3, true),
            Waiting::Operator(Operation::Multiply | Operation::Divide) => (2, false),
            Waiting::Operator(_) => (1, false),
            Waiting::Parenthesis { .. } | Waiting::Call { .. } => (0, false),
        }
    }
}

/// The names that stand for numbers.
pub(super) struct Vocabulary {
    pub(super) knows: fn(&str) -> bool,
    /// For whoever wrote another.
    pub(super) names: &'static str,
}

/// Of a function over a space: `x`, `y`, `z`, or `x` with a number from 1 on.
pub(super) const SPACE: Vocabulary = Vocabulary {
    knows: |name| matches!(name, "x" | "y" | "z") || name.strip_prefix('x').is_some_and(is_number),
    names: "x, y, z or x1, x2, ...",
};

/// Digits that count from 1 on.
pub(super) fn is_number(digits: &str) -> bool {
    !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()) && digits.parse::<usize>().is_ok()
}

/// Dijkstra's shunting yard: values go straight to the steps, operators wait until a weaker one comes.
pub(super) struct Reader<'a> {
    text: &'a str,
    vocabulary: &'a Vocabulary,
    letters: Vec<char>,
    at: usize,
    waiting: Vec<Waiting>,
    steps: Vec<Operation>,
    variables: Vec<(String, usize)>,
}

type Read<T = ()> = Result<T, ParseError>;

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, vocabulary: &'a Vocabulary) -> Self {
        let letters = text.chars().collect();
        let (waiting, steps, variables) = (Vec::new(), Vec::new(), Vec::new());
        Reader { text, vocabulary, letters, at: 0, waiting, steps, variables }
    }

    fn error<T>(&self, at: usize, what: impl Into<String>) -> Read<T> {
        Err(ParseError { what: what.into(), at, text: self.text.into() })
    }

    fn next(&mut self) -> Option<char> {
        while self.letters.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        self.letters.get(self.at).copied()
    }

    pub(super) fn read(mut self) -> Read<Expression> {
        // Whether a value is complete, so that an operator must follow, or has to come first.
        let mut complete = false;
        while let Some(c) = self.next() {
            complete = if complete { self.after_value(c)? } else { self.value(c)? };
        }
        if !complete {
            return self.error(
                self.letters.len(),
                match self.steps.is_empty() && self.waiting.is_empty() {
                    true => "there is no expression",
                    false => "a value is missing",
                },
            );
        }
        while let Some(top) = self.waiting.pop() {
            match top {
                Waiting::Operator(step) => self.steps.push(step),
                Waiting::Parenthesis { at } | Waiting::Call { at, .. } => {
                    return self.error(at, "this parenthesis is never closed; it opens");
                }
            }
        }
        let depth = self.depth();
        Ok(Expression { steps: self.steps, depth, variables: self.variables })
    }

    /// Where a value must begin. Returns whether it is complete.
    fn value(&mut self, c: char) -> Read<bool> {
        let at = self.at;
        match c {
            '0'..='9' | '.' => {
                let number = self.number()?;
                self.steps.push(Operation::Number(number));
                return Ok(true);
            }
            'π' => {
                self.at += 1;
                self.steps.push(Operation::Number(std::f64::consts::PI));
                return Ok(true);
            }
            c if c.is_ascii_alphabetic() => return self.name(),
            '(' => self.waiting.push(Waiting::Parenthesis { at }),
            '-' | '−' => self.waiting.push(Waiting::Operator(Operation::Negate)),
            '+' => {}
            ')' => return self.error(at, "a value is missing before `)`"),
            ',' => return self.error(at, "a value is missing before `,`"),
            '*' | '/' | '^' => return self.error(at, format!("a value is missing before `{c}`")),
            c => return self.error(at, unknown(c)),
        }
        self.at += 1;
        Ok(false)
    }

    /// Where an operator must come. Returns whether the value is still complete.
    fn after_value(&mut self, c: char) -> Read<bool> {
        let at = self.at;
        let operator = match c {
            '+' => Operation::Add,
            '-' | '−' => Operation::Subtract,
            '*' | '·' | '×' => Operation::Multiply,
            '/' => Operation::Divide,
            '^' => Operation::Power,
            ')' | ',' => return self.close(c),
            // `3x` and `(x+1)(x-1)`: nothing is read, a product waits.
            '(' | 'π' => return Ok(self.push_operator(Operation::Multiply)),
            c if c.is_ascii_alphabetic() => return Ok(self.push_operator(Operation::Multiply)),
            c if c.is_ascii_digit() || c == '.' => {
                return self.error(at, "an operator such as `*` is missing before the number");
            }
            c => return self.error(at, unknown(c)),
        };
        self.at += 1;
        if c == '*' && self.letters.get(self.at) == Some(&'*') {
            self.at += 1;
            return Ok(self.push_operator(Operation::Power));
        }
        Ok(self.push_operator(operator))
    }

    fn push_operator(&mut self, step: Operation) -> bool {
        let (binding, to_the_right) = Waiting::Operator(step).binding();
        while let Some(Waiting::Operator(top)) = self.waiting.last().copied() {
            let held = Waiting::Operator(top).binding().0;
            if held < binding || held == binding && to_the_right {
                break;
            }
            self.steps.push(top);
            self.waiting.pop();
        }
        self.waiting.push(Waiting::Operator(step));
        false
    }

    /// A `)` or `,` after a value: everything back to the open parenthesis is done.
    fn close(&mut self, c: char) -> Read<bool> {
        let at = self.at;
        self.at += 1;
        while let Some(top) = self.waiting.pop() {
            match (top, c) {
                (Waiting::Operator(step), _) => self.steps.push(step),
                (Waiting::Parenthesis { .. }, ')') => return Ok(true),
                (Waiting::Parenthesis { .. }, _) => {
                    return self.error(at, "a comma is only allowed between arguments of a function, not");
                }
                (Waiting::Call { function: Function::One(f), .. }, ')') => {
                    self.steps.push(Operation::Apply(f));
                    return Ok(true);
                }
                (Waiting::Call { function: Function::One(_), .. }, _) => {
                    return self.error(at, "this function takes one argument; a second one starts");
                }
                (Waiting::Call { function: Function::Many(f), arguments, .. }, ')') => {
                    if arguments < 2 {
                        return self.error(at, "this function takes two arguments or more; it ends");
                    }
                    self.steps.push(Operation::Choose(f, arguments));
                    return Ok(true);
                }
                (Waiting::Call { at, function, arguments }, _) => {
                    self.waiting.push(Waiting::Call { at, function, arguments: arguments + 1 });
                    return Ok(false);
                }
            }
        }
        match c {
            ')' => self.error(at, "there is no open parenthesis to close"),
            _ => self.error(at, "a comma is only allowed between arguments of a function, not"),
        }
    }

    fn number(&mut self) -> Read<f64> {
        let start = self.at;
        let digit = |reader: &Self, ahead: usize| {
            reader.letters.get(reader.at + ahead).is_some_and(char::is_ascii_digit)
        };
        while digit(self, 0) || self.letters.get(self.at) == Some(&'.') {
            self.at += 1;
        }
        // In `2e-3` and `2e3` an exponent; in `2e` and `2e*x` Euler's number.
        if matches!(self.letters.get(self.at), Some('e' | 'E')) {
            let signed = matches!(self.letters.get(self.at + 1), Some('+' | '-'));
            if digit(self, 1 + usize::from(signed)) {
                self.at += 2 + usize::from(signed);
                while digit(self, 0) {
                    self.at += 1;
                }
            }
        }
        let text: String = self.letters[start..self.at].iter().collect();
        match text.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(v),
            Ok(_) => self.error(start, format!("`{text}` is too large for a number,")),
            Err(_) => self.error(start, format!("`{text}` is not a number,")),
        }
    }

    /// A function with its parenthesis, a constant, or a variable.
    fn name(&mut self) -> Read<bool> {
        let start = self.at;
        while self.letters.get(self.at).is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_') {
            self.at += 1;
        }
        let name: String = self.letters[start..self.at].iter().collect();
        if let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) {
            if self.next() != Some('(') {
                return self
                    .error(start, format!("the argument of `{name}` must be in parentheses: {name}(x),"));
            }
            self.waiting.push(Waiting::Call { at: self.at, function: *function, arguments: 1 });
            self.at += 1;
            return Ok(false);
        }
        let step = match name.as_str() {
            "pi" => Operation::Number(std::f64::consts::PI),
            "e" => Operation::Number(std::f64::consts::E),
            "log" => {
                return self.error(start, "`log` is ambiguous: write `ln` or `log10`,");
            }
            _ if (self.vocabulary.knows)(&name) => {
                let known = self.variables.iter().position(|(v, _)| *v == name);
                Operation::Variable(known.unwrap_or_else(|| {
                    self.variables.push((name, start));
                    self.variables.len() - 1
                }))
            }
            _ => {
                let names: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
                let what = format!(
                    "`{name}` is not known; variables are {}, constants pi and e, functions {};",
                    self.vocabulary.names,
                    names.join(" ")
                );
                return self.error(start, what);
            }
        };
        self.steps.push(step);
        Ok(true)
    }

    fn depth(&self) -> usize {
        let (mut held, mut most) = (0usize, 0);
        for step in &self.steps {
            held = match step {
                Operation::Number(_) | Operation::Variable(_) => held + 1,
                Operation::Negate | Operation::Apply(_) => held,
                Operation::Choose(_, count) => held + 1 - count,
                _ => held - 1,
            };
            most = most.max(held);
        }
        most
    }
}

fn unknown(c: char) -> String {
    format!("`{}` has no meaning", c.escape_debug())
}
