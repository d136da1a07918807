//! Estimates the memory of a JSON text before parsing: a short text can need much memory.

use std::io::{self, BufRead};

/// A text in a list: its place there, three times (while a list grows, the old one and one twice as long are there), and
/// its letters.
const TEXT: u64 = 3 * 24 + 24;
/// A list: its place in a list, three times, and room for its first four elements.
const LIST: u64 = 3 * 24 + 4 * 8;
/// An object of a list: its place there, three times.
const OBJECT: u64 = 3 * 48;
/// Letters of a name or a number that nothing is remarked about; a longer one is copied, and into a message.
const LONG: u64 = 1 << 16;

/// The most bytes that the lists of a JSON text can take once they are read, where an element is kept in so many.
pub fn cost(mut text: impl BufRead, element: u64) -> io::Result<u64> {
    let (mut cost, mut last, mut run) = (0, 0, 0);
    loop {
        let part = text.fill_buf()?;
        if part.is_empty() {
            return Ok(cost);
        }
        for &byte in part {
            run += 1;
            cost += match byte {
                b',' if last == b'"' => TEXT,
                b',' => 3 * element,
                b'[' => LIST,
                b'{' => OBJECT,
                _ if run > LONG => 4,
                _ => 0,
            };
            if !byte.is_ascii_whitespace() {
                last = byte;
            }
            if matches!(byte, b',' | b'[' | b'{' | b' ' | b'\n') {
                run = 0;
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
        let cost = |text: &str| super::cost(text.as_bytes(), 8).unwrap();
        assert_eq!(cost(r#"true"#), 0);
        assert_eq!(cost(r#"[1, 2 ,3]"#), 104 + 2 * 24);
        assert_eq!(cost(r#"["a", "b" , "c"]"#), 104 + 2 * 96);
        assert_eq!(cost(r#"[{"a": 1}, {"a": 1}]"#), 104 + 24 + 2 * 144);
        assert_eq!(cost("[\"a\"\n,1]"), 104 + 96);
        assert_eq!(super::cost(&b"[1,2]"[..], 32).unwrap(), 104 + 3 * 32);
        assert_eq!(cost(&"a".repeat((1 << 16) + 10)), 40);
        // A buffer's end between a text and its comma is no end.
        let parts = std::io::BufReader::with_capacity(1, &b"[\"a\" ,1]"[..]);
        assert_eq!(super::cost(parts, 8).unwrap(), 104 + 96);
    }
}
