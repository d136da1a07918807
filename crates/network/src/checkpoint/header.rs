//! The header of a safetensors file: tensors with their positions, and metadata. Names must be
//! unique: in JSON the last of two entries wins, and two readers might see two models in one file.

use super::json;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// The name under which the metadata are.
const METADATA: &str = "__metadata__";
/// The longest header.
pub(super) const MOST_BYTES: u64 = 16 << 20;
/// The most tensors, and entries of the metadata.
const MOST_NAMES: usize = 10_000;
/// The longest name of either, in bytes.
const LONGEST_NAME: usize = 256;

/// Maximum memory for a header and its contents.
const MOST_MEMORY: u64 = 60 << 20;
/// Bytes of a value of any kind.
const ANY: u64 = 32;

/// Description of a tensor in a header; fields are sorted, as in a file.
#[derive(Serialize, Deserialize)]
pub struct Info {
    /// The first of its bytes, and the first after them, from the end of the header.
    pub(crate) data_offsets: (u64, u64),
    pub dtype: String,
    pub shape: Vec<usize>,
}

impl Info {
    /// How many bytes a tensor of this type and shape has.
    fn bytes(&self) -> Result<u64, &'static str> {
        let bits = match self.dtype.as_str() {
            "F4" => 4,
            "F6_E2M3" | "F6_E3M2" => 6,
            "BOOL" | "U8" | "I8" | "F8_E5M2" | "F8_E4M3" | "F8_E8M0" | "F8_E4M3FNUZ" | "F8_E5M2FNUZ" => 8,
            "I16" | "U16" | "F16" | "BF16" => 16,
            "I32" | "U32" | "F32" => 32,
            "C64" | "F64" | "I64" | "U64" => 64,
            _ => return Err("its type is unknown"),
        };
        let bits = self.shape.iter().try_fold(bits, |bits: u64, &n| bits.checked_mul(n as u64));
        match bits {
            Some(bits) if bits % 8 == 0 => Ok(bits / 8),
            Some(_) => Err("its size is not a whole number of bytes"),
            None => Err("its shape is too large"),
        }
    }
}

/// A header that was read.
#[derive(Default)]
pub(super) struct Header {
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) tensors: BTreeMap<String, Info>,
}

impl Header {
    /// Reads an untrusted header.
    pub(super) fn read(json: &[u8]) -> Result<Self, String> {
        if json.len() as u64 > MOST_BYTES {
            return Err(format!("a header of {} bytes; at most {MOST_BYTES} are read", json.len()));
        }
        affordable(json)?;
        let mut reader = serde_json::Deserializer::from_slice(json);
        let header = Map::Header.deserialize(&mut reader).map_err(|e| e.to_string())?;
        reader.end().map_err(|e| e.to_string())?;
        // Again, since commas may be written in other ways in a text.
        header.metadata.values().try_for_each(|text| affordable(text.as_bytes()))?;
        Ok(header)
    }

    /// The text that is read.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let metadata = (METADATA, json!(self.metadata));
        let tensors = self.tensors.iter().map(|(name, info)| (name.as_str(), json!(info)));
        let all: BTreeMap<&str, Value> = tensors.chain([metadata]).collect();
        serde_json::to_vec(&all).expect("names, texts and whole numbers")
    }

    /// Total size of the tensors, which must have no gaps and not overlap.
    pub(super) fn data_bytes(&self) -> Result<u64, String> {
        let mut tensors: Vec<_> = self.tensors.iter().collect();
        tensors.sort_by_key(|(_, info)| info.data_offsets);
        let mut end = 0;
        for (name, info) in tensors {
            let refuse = |why: &str| format!("tensor `{name}`: {why}");
            let (from, to) = info.data_offsets;
            if from != end || to < from {
                return Err(refuse("it does not start where the previous one ends"));
            }
            if info.bytes().map_err(refuse)? != to - from {
                return Err(refuse("its type and shape do not match its bytes"));
            }
            end = to;
        }
        Ok(end)
    }
}

/// Whether the lists of a JSON text may be read. They are temporarily kept as generic values.
fn affordable(text: &[u8]) -> Result<(), String> {
    let cost = json::cost(text, ANY).expect("it is in memory") + text.len() as u64;
    match cost > MOST_MEMORY {
        true => Err(format!("its lists would take {} MiB of memory", cost >> 20)),
        false => Ok(()),
    }
}

/// Which of the two maps is read: names are few, short and different in both.
#[derive(Clone, Copy)]
enum Map {
    Header,
    Metadata,
}

impl<'de> DeserializeSeed<'de> for Map {
    type Value = Header;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Header, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Map {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
        let (mut header, mut seen) = (Header::default(), HashSet::new());
        while let Some(name) = map.next_key::<String>()? {
            if name.len() > LONGEST_NAME {
                return Err(A::Error::custom(format!("a name of {} bytes", name.len())));
            }
            match self {
                Map::Header if name == METADATA => {
                    header.metadata = map.next_value_seed(Map::Metadata)?.metadata;
                }
                Map::Header => drop(header.tensors.insert(name.clone(), map.next_value()?)),
                Map::Metadata => drop(header.metadata.insert(name.clone(), map.next_value()?)),
            }
            if seen.len() >= MOST_NAMES {
                return Err(A::Error::custom(format!("more than {MOST_NAMES} names")));
            }
            if let Some(name) = seen.replace(name) {
                return Err(A::Error::custom(format!("`{name}` is duplicated")));
            }
        }
        Ok(header)
    }
}

#[cfg(test)]
mod tests {
    use super::Header;

    /// A tensor without numbers.
    const T: &str = r#"{"dtype":"F32","shape":[0],"data_offsets":[0,0]}"#;

    /// `T` in a header stands for a tensor without numbers.
    fn check(header: &str) -> Result<u64, String> {
        Header::read(header.replace('T', T).as_bytes())?.data_bytes()
    }

    #[test]
    fn names_are_few_short_and_different() {
        assert_eq!(
            check(r#"{"a":T,"b":{"x":[1,{"c":1,"c":2}],"dtype":"U8","shape":[],"data_offsets":[0,1]}}"#),
            Ok(1)
        );
        assert_eq!(check(r#"{"__metadata__":{"a":"1","b":"1"},"a":T}"#), Ok(0));
        let many = |n: usize| {
            let names: Vec<String> = (0..n).map(|i| format!("\"{i}\":T")).collect();
            format!("{{{}}}", names.join(","))
        };
        assert_eq!(check(&many(10_000)), Ok(0));
        assert_eq!(check(&format!("{{\"{}\":T}}", "n".repeat(256))), Ok(0));
        assert_eq!(check(&format!("{{}}{}", " ".repeat((16 << 20) - 2))), Ok(0));
        for (header, says) in [
            (r#"{"a":T,"b":T,"a":T}"#.to_string(), "`a` is duplicated"),
            (r#"{"__metadata__":{"spec":"1","spec":"2"}}"#.into(), "`spec` is duplicated"),
            (r#"{"__metadata__":{},"__metadata__":{}}"#.into(), "`__metadata__` is duplicated"),
            (r#"{"a":T,"\u0061":T}"#.into(), "`a` is duplicated"),
            (many(10_001), "more than 10000 names"),
            (format!("{{\"{}\":T}}", "n".repeat(257)), "a name of 257 bytes"),
            ("[]".into(), "a map of names"),
            (r#"{"__metadata__":null}"#.into(), "a map of names"),
            ("{}{}".into(), "trailing characters"),
            (r#"{"a":0}"#.into(), "invalid type: integer"),
            (r#"{"a":{"dtype":"F32","shape":[0]}}"#.into(), "missing field `data_offsets`"),
        ] {
            let error = check(&header).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert!(check(&" ".repeat((16 << 20) + 1)).unwrap_err().contains("at most 16777216 are read"));
        let shape =
            |n| format!(r#"{{"a":{{"dtype":"U8","shape":[{}0],"data_offsets":[0,0]}}}}"#, "0,".repeat(n));
        assert_eq!(check(&shape(1 << 18)), Ok(0));
        let error = check(&shape(1 << 20)).unwrap_err();
        assert!(error.contains("would take 98 MiB"), "{error}");
    }
}
