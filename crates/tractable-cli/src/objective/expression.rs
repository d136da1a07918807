//! Expressions as `x^3 - 3x`: read into a list of steps, evaluated on a stack.
//!
//! Own code rather than a crate because of what it must do: say where a mistake is, take `3x`, and read any
//! text without recursion, so that no nesting overflows the stack. `^` binds tighter than a sign before it
//! (`-x^2` is `-(x^2)`) and to the right; a product without `*` binds like one with it (`1/2x` is `(1/2)*x`).

use std::fmt;

/// Longer texts are refused: nobody wrote them by hand.
const MAX_LENGTH: usize = 10_000;

/// What is wrong with an expression, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParseError {
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
enum Step {
    Number(f64),
    Variable(usize),
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Apply(fn(f64) -> f64),
    /// The least or the largest of the last so many.
    Choose(fn(f64, f64) -> f64, usize),
}

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
    Operator(Step),
    Parenthesis { at: usize },
    Call { at: usize, function: Function, arguments: usize },
}

impl Waiting {
    /// How tightly it binds, and whether to the right. Parentheses hold everything back.
    fn binding(self) -> (u8, bool) {
        match self {
            Waiting::Operator(Step::Power) => (4, true),
            Waiting::Operator(Step::Negate) => (3, true),
            Waiting::Operator(Step::Multiply | Step::Divide) => (2, false),
            Waiting::Operator(_) => (1, false),
            Waiting::Parenthesis { .. } | Waiting::Call { .. } => (0, false),
        }
    }
}

/// An expression ready to be evaluated. Its variables are numbered in the order of their first use.
#[derive(Debug, Clone)]
pub(super) struct Expression {
    steps: Vec<Step>,
    /// The most numbers that an evaluation holds at once.
    depth: usize,
    /// Names, and the character of their first use.
    pub(super) variables: Vec<(String, usize)>,
}

impl Expression {
    pub(super) fn parse(text: &str) -> Result<Self, ParseError> {
        let length = text.chars().count();
        if length > MAX_LENGTH {
            let what =
                format!("an expression may have {MAX_LENGTH} characters and this has {length}: the limit is");
            return Err(ParseError { what, at: MAX_LENGTH, text: text.into() });
        }
        Reader::new(text).read()
    }

    /// The value at variables in their order here.
    pub(super) fn value(&self, variables: &[f64]) -> f64 {
        let mut stack: Vec<f64> = Vec::with_capacity(self.depth);
        for step in &self.steps {
            let value = match *step {
                Step::Number(v) => v,
                Step::Variable(i) => variables[i],
                Step::Negate => -pop(&mut stack),
                Step::Apply(function) => function(pop(&mut stack)),
                Step::Choose(choose, count) => {
                    let rest = stack.len() - count;
                    let chosen = stack[rest..].iter().copied().reduce(choose);
                    stack.truncate(rest);
                    chosen.expect("calls have arguments")
                }
                Step::Add | Step::Subtract | Step::Multiply | Step::Divide | Step::Power => {
                    let right = pop(&mut stack);
                    let left = pop(&mut stack);
                    match step {
                        Step::Add => left + right,
                        Step::Subtract => left - right,
                        Step::Multiply => left * right,
                        Step::Divide => left / right,
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

/// Dijkstra's shunting yard: values go straight to the steps, operators wait until a weaker one comes.
struct Reader<'a> {
    text: &'a str,
    letters: Vec<char>,
    at: usize,
    waiting: Vec<Waiting>,
    steps: Vec<Step>,
    variables: Vec<(String, usize)>,
}

type Read<T = ()> = Result<T, ParseError>;

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        let letters = text.chars().collect();
        Reader { text, letters, at: 0, waiting: Vec::new(), steps: Vec::new(), variables: Vec::new() }
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

    fn read(mut self) -> Read<Expression> {
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
                    return self.error(at, "this parenthesis is never closed: it opens");
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
                self.steps.push(Step::Number(number));
                return Ok(true);
            }
            'π' => {
                self.at += 1;
                self.steps.push(Step::Number(std::f64::consts::PI));
                return Ok(true);
            }
            c if c.is_ascii_alphabetic() => return self.name(),
            '(' => self.waiting.push(Waiting::Parenthesis { at }),
            '-' | '−' => self.waiting.push(Waiting::Operator(Step::Negate)),
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
            '+' => Step::Add,
            '-' | '−' => Step::Subtract,
            '*' | '·' | '×' => Step::Multiply,
            '/' => Step::Divide,
            '^' => Step::Power,
            ')' | ',' => return self.close(c),
            // `3x` and `(x+1)(x-1)`: nothing is read, a product waits.
            '(' | 'π' => return Ok(self.push_operator(Step::Multiply)),
            c if c.is_ascii_alphabetic() => return Ok(self.push_operator(Step::Multiply)),
            c if c.is_ascii_digit() || c == '.' => {
                return self.error(at, "an operator such as `*` is missing before the number");
            }
            c => return self.error(at, unknown(c)),
        };
        self.at += 1;
        if c == '*' && self.letters.get(self.at) == Some(&'*') {
            self.at += 1;
            return Ok(self.push_operator(Step::Power));
        }
        Ok(self.push_operator(operator))
    }

    fn push_operator(&mut self, step: Step) -> bool {
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
                    return self.error(at, "a comma may only be between the arguments of a function, not");
                }
                (Waiting::Call { function: Function::One(f), .. }, ')') => {
                    self.steps.push(Step::Apply(f));
                    return Ok(true);
                }
                (Waiting::Call { function: Function::One(_), .. }, _) => {
                    return self.error(at, "this function takes one argument; a second begins");
                }
                (Waiting::Call { function: Function::Many(f), arguments, .. }, ')') => {
                    if arguments < 2 {
                        return self.error(at, "this function takes two arguments or more; it ends");
                    }
                    self.steps.push(Step::Choose(f, arguments));
                    return Ok(true);
                }
                (Waiting::Call { at, function, arguments }, _) => {
                    self.waiting.push(Waiting::Call { at, function, arguments: arguments + 1 });
                    return Ok(false);
                }
            }
        }
        match c {
            ')' => self.error(at, "nothing is open that could be closed"),
            _ => self.error(at, "a comma may only be between the arguments of a function, not"),
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
            Ok(_) => self.error(start, format!("`{text}` is too large for a number; it stands")),
            Err(_) => self.error(start, format!("`{text}` is no number; it stands")),
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
            "pi" => Step::Number(std::f64::consts::PI),
            "e" => Step::Number(std::f64::consts::E),
            "log" => {
                return self.error(start, "`log` is `ln` to some and `log10` to others: write one of them");
            }
            _ if is_variable(&name) => {
                let known = self.variables.iter().position(|(v, _)| *v == name);
                Step::Variable(known.unwrap_or_else(|| {
                    self.variables.push((name, start));
                    self.variables.len() - 1
                }))
            }
            _ => {
                let names: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
                let what = format!(
                    "`{name}` is not known; variables are x, y, z or x1, x2, ..., constants pi and e, functions {}; \
                     it stands",
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
                Step::Number(_) | Step::Variable(_) => held + 1,
                Step::Negate | Step::Apply(_) => held,
                Step::Choose(_, count) => held + 1 - count,
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

/// `x`, `y`, `z`, or `x` with a number from 1 on.
fn is_variable(name: &str) -> bool {
    let numbered = |digits: &str| !digits.starts_with('0') && digits.parse::<usize>().is_ok();
    matches!(name, "x" | "y" | "z") || name.strip_prefix('x').is_some_and(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{E, PI};

    fn at(text: &str, x: f64) -> f64 {
        let read = Expression::parse(text).unwrap_or_else(|e| panic!("{e}"));
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
            ("x+1)", 3, "nothing is open"),
            ("()", 1, "missing before `)`"),
            ("x 2", 2, "an operator such as `*`"),
            ("2 3", 2, "an operator such as `*`"),
            ("1.2.3", 0, "`1.2.3` is no number"),
            ("1e999", 0, "too large"),
            ("sin x", 0, "in parentheses: sin(x)"),
            ("foo(x)", 0, "`foo` is not known"),
            ("x + log(x)", 4, "`ln` to some"),
            ("x0", 0, "`x0` is not known"),
            ("sin(x, 1)", 5, "takes one argument"),
            ("max(x)", 5, "two arguments or more"),
            ("max(x,)", 6, "missing before `)`"),
            ("(x, 1)", 2, "a comma may only"),
            ("x, 1", 1, "a comma may only"),
            ("x $ 1", 2, "`$` has no meaning"),
            ("x + ü", 4, "`ü` has no meaning"),
        ] {
            let e = Expression::parse(text).expect_err(text);
            assert!(e.at == position && e.what.contains(what), "{text}: {e:?}");
        }
    }

    #[test]
    fn the_caret_is_under_the_place() {
        let said = Expression::parse("x^3 - 3*)").unwrap_err().to_string();
        assert_eq!(
            said,
            "a value is missing before `)` at character 9 of the expression\n  x^3 - 3*)\n          ^"
        );
        // Characters, not bytes; far along, only the surroundings.
        let long = "π+".repeat(100) + "§";
        let said = Expression::parse(&long).unwrap_err().to_string();
        let lines: Vec<Vec<char>> = said.lines().map(|l| l.chars().collect()).collect();
        let caret = lines[2].iter().position(|c| *c == '^').unwrap();
        assert_eq!((lines.len(), lines[1][caret]), (3, '§'));
        assert!(lines[1].len() < 90 && said.contains("at character 201"));
        assert_eq!(Expression::parse("x\n)").unwrap_err().to_string().lines().count(), 3);
    }

    #[test]
    fn no_depth_of_nesting_overflows() {
        let deep = |n: usize| "(".repeat(n) + "x" + &")".repeat(n);
        assert_eq!(at(&deep(4000), 3.0), 3.0);
        let e = Expression::parse(&deep(100_000)).unwrap_err();
        assert!(e.to_string().contains("may have 10000 characters and this has 200001"), "{e}");
        // The limit is for people; the reader itself needs none.
        for open in ["(", "-", "sin(", "x^", "2^(", "max(1,", "x("] {
            let n = 100_000;
            let text = open.repeat(n) + "x" + &")".repeat(if open.contains('(') { n } else { 0 });
            let read = Reader::new(&text).read().unwrap_or_else(|e| panic!("{open}: {e}"));
            assert!(!read.value(&[0.5]).is_nan(), "{open}");
        }
        assert!(Reader::new(&"(".repeat(1_000_000)).read().is_err());
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
            if let Ok(expression) = Expression::parse(&text) {
                expression.value(&vec![0.3; expression.variables.len()]);
                read += 1;
            }
        }
        assert!(read > 1000, "{read}");
    }
}
