//! The header of a safetensors file: limits, and names that must not come twice. JSON lets the last of two entries
//! win, and so does the format's own reader; two readers may then see two models in one file.

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::collections::HashSet;
use std::fmt;

/// The longest header.
const MOST_BYTES: u64 = 16 << 20;
/// The most tensors, and entries of the metadata.
const MOST_NAMES: usize = 10_000;
/// The longest name of either, in bytes.
const LONGEST_NAME: usize = 256;

/// What is wrong with the header of a file, as far as the format's reader would not say it.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    let Some((length, rest)) = bytes.split_first_chunk() else { return Ok(()) };
    let length = u64::from_le_bytes(*length);
    if length > MOST_BYTES && length <= rest.len() as u64 {
        return Err(format!("a header of {length} bytes; at most {MOST_BYTES} are read"));
    }
    let header = usize::try_from(length).ok().and_then(|n| rest.get(..n));
    header.map_or(Ok(()), |h| serde_json::from_slice::<Header>(h).map(drop).map_err(|e| e.to_string()))
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
            if seen.len() > MOST_NAMES {
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
        super::check(&[&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat())
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
        for (header, says) in [
            (r#"{"a":1,"b":2,"a":1}"#.to_string(), "`a` is there twice"),
            (r#"{"__metadata__":{"spec":"1","spec":"2"}}"#.into(), "`spec` is there twice"),
            (r#"{"__metadata__":{},"__metadata__":{}}"#.into(), "`__metadata__` is there twice"),
            (r#"{"a":1,"\u0061":2}"#.into(), "`a` is there twice"),
            (many(10_002), "more than 10000 names"),
            (format!("{{\"{}\":1}}", "n".repeat(257)), "a name of 257 bytes"),
            ("[]".into(), "a map of names"),
        ] {
            let error = check(&header).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        let long = vec![b' '; (16 << 20) + 1];
        let long = [&(long.len() as u64).to_le_bytes(), &long[..]].concat();
        assert!(super::check(&long).unwrap_err().contains("header of"));
        // Not ours to say: the format's reader refuses these.
        assert_eq!(super::check(b"short"), Ok(()));
        assert_eq!(super::check(&u64::MAX.to_le_bytes()), Ok(()));
    }
}
