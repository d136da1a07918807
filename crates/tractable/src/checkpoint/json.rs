//! What a JSON text takes once it is read, counted before anything is: a short text can stand for much memory.

use std::io::{self, BufRead};

/// A number, three times its size: while a list grows, the old one and one twice as long are there.
const NUMBER: u64 = 3 * 8;
/// A text in a list: its place there, three times, and its letters.
const TEXT: u64 = 3 * 24 + 24;
/// A list: its place in a list, three times, and room for its first four numbers.
const LIST: u64 = 3 * 24 + 4 * 8;
/// An object of a list: its place there, three times.
const OBJECT: u64 = 3 * 48;

/// The most bytes that the lists of a JSON text can take once they are read.
pub(crate) fn cost(mut text: impl BufRead) -> io::Result<u64> {
    let (mut cost, mut last) = (0, 0);
    loop {
        let part = text.fill_buf()?;
        if part.is_empty() {
            return Ok(cost);
        }
        for &byte in part {
            cost += match byte {
                b',' if last == b'"' => TEXT,
                b',' => NUMBER,
                b'[' => LIST,
                b'{' => OBJECT,
                _ => 0,
            };
            if !byte.is_ascii_whitespace() {
                last = byte;
            }
        }
        let read = part.len();
        text.consume(read);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists_objects_texts_and_numbers() {
        let cost = |text: &str| super::cost(text.as_bytes()).unwrap();
        assert_eq!(cost(r#"true"#), 0);
        assert_eq!(cost(r#"[1, 2 ,3]"#), 104 + 2 * 24);
        assert_eq!(cost(r#"["a", "b" , "c"]"#), 104 + 2 * 96);
        assert_eq!(cost(r#"[{"a": 1}, {"a": 1}]"#), 104 + 24 + 2 * 144);
        assert_eq!(cost("[\"a\"\n,1]"), 104 + 96);
        // A buffer's end between a text and its comma is no end.
        let parts = std::io::BufReader::with_capacity(1, &b"[\"a\" ,1]"[..]);
        assert_eq!(super::cost(parts).unwrap(), 104 + 96);
    }
}
