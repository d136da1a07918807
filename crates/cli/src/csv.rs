//! CSV as the program writes it: to stdout or to a file that is whole or not there, and cells in quotes where they need them.

use crate::escape::Shown;
use crate::files::NewFile;
use crate::interrupt::Draft;
use crate::out::{Target, pointed_to};
use crate::report::{Exit, Outcome, file_error};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::Path;

/// What failures of the output become.
pub(crate) type Fail<'a> = &'a dyn Fn(io::Error) -> Exit;

/// Lets `write` write to the file `out`, or to stdout; `input` is what it reads and must not be the same file.
pub(crate) fn write_to(
    out: Option<Target<'_>>,
    input: &Path,
    write: impl FnOnce(&mut dyn Write, Fail<'_>) -> Outcome,
) -> Outcome {
    let Some(target) = out else {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        // A program gets the names as they are.
        match io::stdout().is_terminal() {
            true => write(&mut Shown(&mut out), &Exit::from)?,
            false => write(&mut out, &Exit::from)?,
        }
        return Ok(out.flush()?);
    };
    let path = target.path;
    if let (Ok(from), Ok(to)) = (fs::canonicalize(input), fs::canonicalize(path))
        && from == to
    {
        return Err(Exit::Error(format!("-o {}: that is the input", path.display())));
    }
    let fail = file_error(path, "write it");
    if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        // A pipe or a device is written into, not replaced.
        let fail = |e: io::Error| match e.kind() {
            ErrorKind::BrokenPipe => Exit::PipeClosed,
            _ => fail(e),
        };
        let file = File::options().write(true).open(path).map_err(file_error(path, "open it"))?;
        let mut out = BufWriter::with_capacity(1 << 16, file);
        write(&mut out, &fail)?;
        return out.flush().map_err(fail);
    }
    if path.file_name().is_none() {
        return Err(Exit::Error(format!("{}: not a file name", path.display())));
    }
    // Under another name until it is whole.
    let file = pointed_to(path).and_then(|path| NewFile::beside(&path));
    let file = file.map_err(file_error(path, "create a file there"))?;
    let _draft = Draft::new(file.temporary());
    let mut out = BufWriter::with_capacity(1 << 16, file);
    write(&mut out, &fail)?;
    let file = out.into_inner().map_err(|e| fail(e.into_error()))?;
    target.check()?;
    file.keep().map_err(&fail)
}

/// A row of numbers: the shortest digits that read back as the same.
pub(crate) fn numbers(text: &mut String, cells: impl IntoIterator<Item = f64>) {
    for (i, v) in cells.into_iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        write!(text, "{comma}{v:?}").expect("a string takes everything");
    }
    text.push('\n');
}

/// A number as a reader wants it: six significant digits, and more where a hundredth of this standard deviation needs them.
pub(crate) fn rounded(v: f64, std: f64) -> f64 {
    let place = |v: f64| v.abs().log10().floor();
    let wanted = if std > 0.0 { place(v) - place(std) + 3.0 } else { 0.0 };
    if v == 0.0 || !v.is_finite() {
        return v;
    }
    let digits = wanted.clamp(6.0, 17.0) as usize;
    format!("{v:.*e}", digits - 1).parse().unwrap_or(v)
}

/// A row of texts.
pub(crate) fn texts(text: &mut String, cells: &[String]) {
    *text += &cells.iter().map(|c| quoted(c)).collect::<Vec<_>>().join(",");
    text.push('\n');
}

/// A cell of text, in quotes where CSV needs them.
pub(crate) fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) || cell != cell.trim() {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn six_digits_or_as_many_as_count() {
        assert_eq!(rounded(31.123456789, 0.5), 31.1235);
        assert_eq!(rounded(-1.23456789e-7, 1e-8), -1.23457e-7);
        // Seconds since 1970, known to half a minute.
        assert_eq!(rounded(1_734_567_890.123, 30.0), 1_734_567_890.1);
        assert_eq!(rounded(1_734_567_890.123, 0.0), 1.73457e9);
        assert_eq!(rounded(2.0 / 3.0, 1e-300), 2.0 / 3.0);
        assert_eq!((rounded(0.0, 1.0), rounded(f64::INFINITY, 1.0)), (0.0, f64::INFINITY));
    }
}
