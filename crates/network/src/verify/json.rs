//! Reading golden files: nested lists of numbers, with errors that name the file and the entry.

use serde_json::Value;
use std::path::{Path, PathBuf};
use tractable_core::error::{Error, Result};

/// A golden file, or a part of one.
pub struct Golden {
    path: PathBuf,
    at: String,
    value: Value,
}

impl Golden {
    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self> {
        let fail = |source| Error::File { path: path.into(), doing: "read it", source };
        let text = std::fs::read_to_string(path).map_err(fail)?;
        let value = serde_json::from_str(&text).map_err(|e| Error::Model {
            path: path.into(),
            at: "JSON".into(),
            why: e.to_string(),
        })?;
        Ok(Golden { path: path.into(), at: String::new(), value })
    }

    /// An error at this part of the file.
    pub fn error(&self, why: impl Into<String>) -> Error {
        let at = if self.at.is_empty() { "the file" } else { &self.at };
        Error::Model { path: self.path.clone(), at: at.into(), why: why.into() }
    }

    /// Whether there is such an entry, other than null.
    pub fn has(&self, key: &str) -> bool {
        self.value.get(key).is_some_and(|v| !v.is_null())
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// The name of this part.
    pub fn at(&self) -> &str {
        &self.at
    }

    /// An entry of an object.
    pub fn get(&self, key: &str) -> Result<Golden> {
        let value = self.value.get(key).ok_or_else(|| self.error(format!("`{key}` is missing")))?;
        Ok(self.part(&format!(".{key}"), value))
    }

    /// The entries of a list.
    pub fn list(&self) -> Result<Vec<Golden>> {
        let list = self.value.as_array().ok_or_else(|| self.error("is not a list"))?;
        Ok(list.iter().enumerate().map(|(i, v)| self.part(&format!("[{i}]"), v)).collect())
    }

    /// The entries of an object, with their names.
    pub fn entries(&self) -> Result<Vec<(String, Golden)>> {
        let object = self.value.as_object().ok_or_else(|| self.error("is not an object"))?;
        Ok(object.iter().map(|(k, v)| (k.clone(), self.part(&format!(".{k}"), v))).collect())
    }

    fn part(&self, step: &str, value: &Value) -> Golden {
        let at = format!("{}{step}", self.at).trim_start_matches('.').to_string();
        Golden { path: self.path.clone(), at, value: value.clone() }
    }

    /// A number.
    pub fn number(&self) -> Result<f64> {
        self.value.as_f64().ok_or_else(|| self.error("is not a number"))
    }

    /// True or false.
    pub fn flag(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.error("is neither true nor false"))
    }

    /// A whole number.
    pub fn whole(&self) -> Result<usize> {
        self.value.as_u64().map(|n| n as usize).ok_or_else(|| self.error("is not a whole number"))
    }

    /// A text.
    pub fn text(&self) -> Result<&str> {
        self.value.as_str().ok_or_else(|| self.error("is not a text"))
    }

    /// All numbers of a nested list, in order.
    pub fn numbers(&self) -> Result<Vec<f64>> {
        fn walk(v: &Value, to: &mut Vec<f64>) -> Option<()> {
            match v {
                Value::Array(list) => list.iter().try_for_each(|v| walk(v, to)),
                _ => {
                    to.push(v.as_f64()?);
                    Some(())
                }
            }
        }
        let mut to = Vec::new();
        walk(&self.value, &mut to).ok_or_else(|| self.error("contains something that is not a number"))?;
        Ok(to)
    }

    /// A list of class labels.
    pub fn labels(&self) -> Result<Vec<usize>> {
        self.list()?.iter().map(Golden::whole).collect()
    }

    /// Lengths of a nested list, outermost first.
    pub fn dims(&self) -> Vec<usize> {
        let mut dims = Vec::new();
        let mut v = &self.value;
        while let Some(list) = v.as_array() {
            dims.push(list.len());
            let Some(first) = list.first() else { break };
            v = first;
        }
        dims
    }
}
