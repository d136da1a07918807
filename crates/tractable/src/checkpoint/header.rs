//! The header of a safetensors file: limits, and names that must not come twice. JSON lets the last of two entries
//! win, and so does the format's own reader; two readers may then see two models in one file.

use super::json;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::collections::HashSet;
use std::fmt;

/// The longest header.
pub(super) const MOST_BYTES: u64 = 16 << 20;
/// The most tensors, and entries of the metadata.
const MOST_NAMES: usize = 10_000;
/// The longest name of either, in bytes.
const LONGEST_NAME: usize = 256;

/// The most memory for a header and what is read out of it.
const MOST_MEMORY: u64 = 60 << 20;
/// Bytes of a value of any kind.
const ANY: u64 = 32;

/// What is wrong with a header, as far as the format's reader would not say it.
pub(crate) fn check(header: &[u8]) -> Result<(), String> {
    if header.len() as u64 > MOST_BYTES {
        return Err(format!("a header of {} bytes; at most {MOST_BYTES} are read", header.len()));
    }
    serde_json::from_slice::<Header>(header).map_err(|e| e.to_string())?;
    affordable(header)
}

/// Whether the lists of a JSON text may be read. They are kept as values of any kind for a while.
pub(super) fn affordable(text: &[u8]) -> Result<(), String> {
    let cost = json::cost(text, ANY).expect("it is in memory") + text.len() as u64;
    match cost > MOST_MEMORY {
        true => Err(format!("its lists would take {} MiB of memory", cost >> 20)),
        false => Ok(()),
    }
}

/// A map whose names are few, short and different; of `__metadata__`, the same holds inside.
struct Header;

/// The same, whatever its values.
struct Names;

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(Map { header: true }).map(|()| Header)
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(Map { header: false }).map(|()| Names)
    }
}

struct Map {
    header: bool,
}

impl<'de> Visitor<'de> for Map {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if name.len() > LONGEST_NAME {
                return Err(A::Error::custom(format!("a name of {} bytes", name.len())));
            }
            if self.header && name == "__metadata__" {
                map.next_value::<Names>()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            if seen.len() >= MOST_NAMES {
                return Err(A::Error::custom(format!("more than {MOST_NAMES} names")));
            }
            if let Some(name) = seen.replace(name) {
                return Err(A::Error::custom(format!("`{name}` is there twice")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    fn check(header: &str) -> Result<(), String> {
        super::check(header.as_bytes())
    }

    #[test]
    fn names_are_few_short_and_different() {
        assert_eq!(check(r#"{"a":{"dtype":"F32"},"b":[1,{"c":1,"c":2}]}"#), Ok(()));
        assert_eq!(check(r#"{"__metadata__":{"a":"1","b":"1"},"a":1}"#), Ok(()));
        let many = |n: usize| {
            let names: Vec<String> = (0..n).map(|i| format!("\"{i}\":0")).collect();
            format!("{{{}}}", names.join(","))
        };
        assert_eq!(check(&many(10_000)), Ok(()));
        assert_eq!(check(&format!("{{\"{}\":1}}", "n".repeat(256))), Ok(()));
        assert_eq!(check(&format!("{{}}{}", " ".repeat((16 << 20) - 2))), Ok(()));
        for (header, says) in [
            (r#"{"a":1,"b":2,"a":1}"#.to_string(), "`a` is there twice"),
            (r#"{"__metadata__":{"spec":"1","spec":"2"}}"#.into(), "`spec` is there twice"),
            (r#"{"__metadata__":{},"__metadata__":{}}"#.into(), "`__metadata__` is there twice"),
            (r#"{"a":1,"\u0061":2}"#.into(), "`a` is there twice"),
            (many(10_001), "more than 10000 names"),
            (format!("{{\"{}\":1}}", "n".repeat(257)), "a name of 257 bytes"),
            ("[]".into(), "a map of names"),
        ] {
            let error = check(&header).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert!(check(&" ".repeat((16 << 20) + 1)).unwrap_err().contains("at most 16777216 are read"));
        assert_eq!(check(&format!(r#"{{"a":[{}0]}}"#, "0,".repeat(1 << 18))), Ok(()));
        let error = check(&format!(r#"{{"a":[{}0]}}"#, "0,".repeat(1 << 20))).unwrap_err();
        assert!(error.contains("would take 98 MiB"), "{error}");
    }
}
