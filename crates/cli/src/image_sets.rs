//! The image sets by name: where their files are, and how they are read.

use crate::report::{Exit, Outcome};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tractable::data::{self, Images};
use tractable::fnv;

/// A set of labelled images, in two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageSet {
    Mnist,
    FashionMnist,
    Cifar10,
    /// Made from a seed; needs no files.
    Digits,
}

/// Images of `digits`, as many as MNIST has.
const DIGITS: [usize; 2] = [60_000, 10_000];

impl ImageSet {
    pub(crate) const ALL: [ImageSet; 4] =
        [ImageSet::Mnist, ImageSet::FashionMnist, ImageSet::Cifar10, ImageSet::Digits];

    pub fn name(self) -> &'static str {
        match self {
            ImageSet::Mnist => "mnist",
            ImageSet::FashionMnist => "fashion-mnist",
            ImageSet::Cifar10 => "cifar10",
            ImageSet::Digits => "digits",
        }
    }

    /// The set of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// The set of this name, or an error that knows what was meant.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let near = data::nearest(name, Self::ALL.map(Self::name));
        let hint = near.map_or(String::new(), |s| format!("; did you mean `{s}`?"));
        let all = Self::ALL.map(Self::name).join(", ");
        Self::named(name).ok_or(format!("`{name}` is not an image set ({all}){hint}"))
    }

    /// The set that is meant where a file or a set may be named; `None` for a file.
    pub(crate) fn from_argument(file: &Path) -> Outcome<Option<Self>> {
        let Some(name) = file.to_str().filter(|_| !file.is_file()) else { return Ok(None) };
        match Self::parse(name) {
            Ok(set) => Ok(Some(set)),
            // The standard input.
            Err(_) if name == "-" => Ok(None),
            // A word without a dot or a slash is probably not a CSV file.
            Err(why) if !name.contains(['.', '/', '\\']) => {
                Err(Exit::Error(format!("{name}: no such file, and {why}")))
            }
            Err(_) => Ok(None),
        }
    }

    /// Default folder of the files.
    pub(crate) fn home(self) -> Option<PathBuf> {
        let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let base = set("TRACTABLE_DATA")
            .or_else(|| set("XDG_DATA_HOME").map(|p| p.join("tractable")))
            .or_else(|| set("LOCALAPPDATA").map(|p| p.join("tractable")))
            .or_else(|| set("HOME").map(|p| p.join(".local/share/tractable")))?;
        Some(base.join(self.name()))
    }

    /// Folders to look in, the first that is there counts.
    fn folder(self, given: Option<&Path>) -> Outcome<PathBuf> {
        let name = self.name();
        let places: Vec<PathBuf> = match given {
            Some(dir) => vec![dir.join(name), dir.into()],
            // Debian's package puts it there.
            None => {
                let shared = Path::new("/usr/share/datasets").join(name);
                self.home().into_iter().chain((self == ImageSet::FashionMnist).then_some(shared)).collect()
            }
        };
        let found = places.iter().find(|p| p.is_dir());
        found.cloned().ok_or_else(|| {
            let looked = places.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(" and ");
            let cure =
                format!("download it with `tractable data fetch {name}`, or give its folder with --data DIR");
            Exit::Error(format!("{name}: no such folder: {looked}; {cure}; `digits` needs no files"))
        })
    }

    /// Training and test images, at most `limit` of each; of digits as many as that to learn from.
    pub(crate) fn load(self, folder: Option<&Path>, limit: Option<usize>) -> Outcome<(Images, Images)> {
        let read = match self {
            ImageSet::Digits => {
                // As many to learn from as are asked for.
                let (train, test) = (limit.unwrap_or(DIGITS[0]), DIGITS[1].min(limit.unwrap_or(DIGITS[1])));
                // Two seeds of their own: `--seed` is about the network.
                return Ok((data::digits(train, 0)?, data::digits(test, 1)?));
            }
            ImageSet::Mnist => data::mnist(self.folder(folder)?),
            ImageSet::FashionMnist => data::fashion_mnist(self.folder(folder)?),
            ImageSet::Cifar10 => data::cifar10(self.folder(folder)?),
        };
        let (train, test) = read.map_err(|e| self.unread(e))?;
        let limit = limit.unwrap_or(usize::MAX);
        Ok((train.take(limit)?, test.take(limit)?))
    }

    /// The test images alone, at most `limit`: the files of the others are not read.
    pub(crate) fn load_test(self, folder: Option<&Path>, limit: Option<usize>) -> Outcome<Images> {
        let limit = limit.unwrap_or(usize::MAX);
        let read = match self {
            ImageSet::Digits => return Ok(data::digits(DIGITS[1].min(limit), 1)?),
            ImageSet::Mnist => data::mnist_test(self.folder(folder)?),
            ImageSet::FashionMnist => data::fashion_mnist_test(self.folder(folder)?),
            ImageSet::Cifar10 => data::cifar10_test(self.folder(folder)?),
        };
        Ok(read.map_err(|e| self.unread(e))?.take(limit)?)
    }

    fn unread(self, e: tractable::Error) -> Exit {
        Exit::Error(format!("{e}; `tractable data fetch {}` downloads a good one", self.name()))
    }
}

/// FNV-1a, 64 bits, of labels and pixels, so that other data are noticed.
pub(crate) fn fingerprint(images: &Images) -> String {
    let bytes = (0..images.len()).flat_map(|i| [&[images.label(i) as u8], images.pixels(i)].concat());
    let hash = fnv::fnv1a_64(fnv::EMPTY, bytes);
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_nearly_right_get_a_hint() {
        assert_eq!(ImageSet::parse("cifar10"), Ok(ImageSet::Cifar10));
        for (wrong, right) in [
            ("mnits", "mnist"),
            ("MNIST", "mnist"),
            ("cifar-10", "cifar10"),
            ("fashion_mnist", "fashion-mnist"),
            ("digit", "digits"),
        ] {
            let said = ImageSet::parse(wrong).unwrap_err();
            assert!(said.contains(&format!("did you mean `{right}`?")), "{said}");
        }
        let said = ImageSet::parse("imagenet").unwrap_err();
        assert!(!said.contains("mean") && said.contains("mnist, fashion-mnist, cifar10, digits"), "{said}");
    }
}
