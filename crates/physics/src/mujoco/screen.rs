//! Checks a model file before MuJoCo reads it, which is C and does not validate its input: is it XML, does it
//! name only regular files, are its sizes reasonable?

mod text;

use roxmltree::{Document, Node, ParsingOptions};
use std::io::Read;
use std::path::{Path, PathBuf};
use tractable_core::error::{Error, Result};
use tractable_core::files;

/// Maximum bytes of a model with included files, and of any file it names.
const MOST_BYTES: u64 = 64 << 20;
const MOST_NAMED: u64 = 1 << 30;
/// Elements and texts of a file.
const MOST_NODES: u32 = 200_000;
/// Maximum nesting depth.
const DEEPEST: usize = 200;
/// Maximum number of elements, including copies.
const MOST_COPIES: f64 = 1e6;
/// Maximum total of all sizes, in numbers.
const MOST_NUMBERS: f64 = 134_217_728.0;

/// Refuses models that no one needs and MuJoCo would not survive: files of more than 64 MiB, malformed XML, document types,
/// anything but regular files, a million copies of an element, sizes of more than a gigabyte.
/// [`Mujoco::load`](super::Mujoco::load) calls this first; it does not need MuJoCo.
///
/// ```
/// use tractable::rl::env::mujoco::screen;
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("bomb.xml");
/// std::fs::write(&path, r#"<mujoco><worldbody><replicate count="2000000"><geom/></replicate></worldbody></mujoco>"#)?;
/// assert!(screen(&path).unwrap_err().to_string().contains("copies"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn screen(model: &Path) -> Result<()> {
    let mut screen =
        Screen { bytes: 0, copies: 0.0, numbers: 0.0, files: vec![ModelFile::of(model.into(), 1.0)] };
    let mut at = 0;
    while let Some(file) = screen.files.get(at).cloned() {
        screen.file(&file)?;
        at += 1;
    }
    Ok(())
}

/// A model, or a part of one in a separate file.
#[derive(Clone)]
struct ModelFile {
    path: PathBuf,
    /// Where MuJoCo looks for named files: next to the model, and next to this file.
    folders: [PathBuf; 2],
    /// How many times its elements are copied.
    factor: f64,
}

impl ModelFile {
    fn of(path: PathBuf, factor: f64) -> Self {
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        ModelFile { folders: [folder.clone(), folder], path, factor }
    }
}

struct Screen {
    bytes: u64,
    copies: f64,
    numbers: f64,
    files: Vec<ModelFile>,
}

impl Screen {
    fn file(&mut self, model: &ModelFile) -> Result<()> {
        let refuse = |why: String| Error::Model { path: model.path.clone(), at: "MuJoCo model".into(), why };
        let (file, length) = files::open(&model.path, MOST_BYTES)?;
        self.bytes += length;
        if self.bytes > MOST_BYTES {
            return Err(refuse(format!("including other files, it is larger than {} MiB", MOST_BYTES >> 20)));
        }
        let mut bytes = Vec::with_capacity(length as usize);
        file.take(length).read_to_end(&mut bytes).map_err(|e| refuse(e.to_string()))?;
        // Names may be in another encoding; what is checked here is not.
        let text = text::plain(&String::from_utf8_lossy(&bytes)).map_err(refuse)?;
        drop(bytes);
        let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
        let xml = Document::parse_with_options(&text, options);
        let xml = xml.map_err(|e| refuse(format!("cannot be read as XML: {e}")))?;
        let attached = xml.descendants().filter(|e| tag(*e) == "attach").count();
        self.element(xml.root_element(), model, model.factor, attached, 0).map_err(refuse)
    }

    /// An element with `factor` copies, and its children.
    fn element(
        &mut self,
        element: Node<'_, '_>,
        model: &ModelFile,
        mut factor: f64,
        attached: usize,
        depth: usize,
    ) -> std::result::Result<(), String> {
        let name = tag(element);
        if depth > DEEPEST {
            return Err(format!("<{name}> is nested deeper than {DEEPEST} elements"));
        }
        let number = |key: &str| element.attribute(key).map_or(Some(1.0), product);
        let limits = element.attributes().filter_map(|a| Some((a, most(&name, a.name())?)));
        for (attribute, most) in limits {
            let n = product(attribute.value()).filter(|n| *n <= most);
            let Some(n) = n else {
                let (key, value) = (attribute.name(), attribute.value());
                return Err(format!("<{name} {key}={value:?}> is too large, or not a number"));
            };
            self.numbers += factor * n;
        }
        let points = match (name.as_str(), element.attribute("type")) {
            // A cube of textures has six, as high as they are wide.
            ("texture", kind) if kind != Some("2d") => number("width").map(|w| 6.0 * w * w),
            _ => Some(0.0),
        };
        let sides = ["nrow", "ncol", "width", "height"].map(number);
        let plain = sides.into_iter().try_fold(1.0, |n, side| Some(n * side?));
        let (Some(points), Some(plain)) = (points, plain) else {
            return Err(format!("<{name}> has a size that is not a number"));
        };
        self.numbers += factor * points.max(plain);
        factor *= number("count").expect("it was a number").max(1.0);
        self.copies += factor;
        if self.copies > MOST_COPIES {
            return Err(format!("<{name}> makes more than a million copies"));
        }
        if self.numbers > MOST_NUMBERS {
            return Err(format!("<{name}>: sizes of more than {MOST_NUMBERS} numbers"));
        }
        for attribute in element.attributes().filter(|a| a.name().starts_with("file")) {
            self.names(&name, attribute.value(), model, factor, attached)?;
        }
        let inside = element.children().filter(Node::is_element);
        inside.into_iter().try_for_each(|e| self.element(e, model, factor, attached, depth + 1))
    }

    /// A file that an element names: must be regular; a model is checked too.
    fn names(
        &mut self,
        element: &str,
        file: &str,
        model: &ModelFile,
        factor: f64,
        attached: usize,
    ) -> std::result::Result<(), String> {
        for folder in &model.folders {
            let path = folder.join(file);
            let Ok(about) = std::fs::metadata(&path) else { continue };
            if !about.is_file() || about.len() > MOST_NAMED {
                return Err(format!("<{element} file={file:?}> is not a regular file of at most 1 GiB"));
            }
            let found = match element {
                "include" => {
                    let own = path.parent().unwrap_or(Path::new("")).to_path_buf();
                    ModelFile { folders: [model.folders[0].clone(), own], path, factor }
                }
                "model" => ModelFile::of(path, factor * attached.max(1) as f64),
                _ => continue,
            };
            // MuJoCo itself includes a file once.
            if !self.files.iter().any(|seen| seen.path == found.path) {
                self.files.push(found);
            }
        }
        Ok(())
    }
}

/// The name of an element; MuJoCo ignores its letter case.
fn tag(element: Node<'_, '_>) -> String {
    element.tag_name().name().to_ascii_lowercase()
}

/// The limit of an attribute that is a size, or of the product of its numbers.
fn most(element: &str, attribute: &str) -> Option<f64> {
    match (element, attribute) {
        ("size", "memory") => Some(1_073_741_824.0),
        ("size", "nstack") => Some(MOST_NUMBERS),
        ("size", "njmax" | "nconmax") => Some(1e6),
        ("size", _) => Some(1e4),
        ("composite" | "flexcomp", "count") => Some(1e5),
        ("numeric", "size") | ("mesh", "params") | (_, "count") => Some(1e9),
        (_, "dim" | "actdim" | "num" | "nsample") => Some(1e4),
        _ => None,
    }
}

/// The product of the numbers in a text; memory may be in K, M or G.
fn product(text: &str) -> Option<f64> {
    text.split_whitespace().try_fold(1.0, |product: f64, word| {
        let unit = match word.bytes().last()?.to_ascii_uppercase() {
            b'K' => 1024.0,
            b'M' => 1_048_576.0,
            b'G' => 1_073_741_824.0,
            _ => 1.0,
        };
        let number = if unit > 1.0 { &word[..word.len() - 1] } else { word };
        // NaN is not a size.
        let number = number.parse().ok().filter(|n: &f64| n.is_finite())?;
        Some(product * (number.abs() * unit).max(1.0))
    })
}
