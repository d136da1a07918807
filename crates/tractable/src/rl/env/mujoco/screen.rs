//! A model file is looked at before MuJoCo reads it, whose reader is C and believes what it is told: is it XML, does it
//! stay in its folder, do its sizes fit a machine?

use crate::error::{Error, Result};
use crate::files;
use roxmltree::{Document, Node, ParsingOptions};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Bytes of a model and all it includes.
const MOST_BYTES: u64 = 64 << 20;
/// Elements, texts and comments of a file.
const MOST_NODES: u32 = 200_000;
/// Attributes of an element, which are compared pair by pair, and of a file.
const MOST_OF_ONE: usize = 1000;
const MOST_ATTRIBUTES: usize = 500_000;
/// Elements inside of elements.
const DEEPEST: usize = 200;
/// Elements of a model, copies counted.
const MOST_COPIES: f64 = 1e6;
/// Points of a texture or of a field of heights.
const MOST_POINTS: f64 = 16_777_216.0;
/// Any other size, and bytes of memory.
const LARGEST: f64 = 1e8;
const MOST_MEMORY: f64 = 1_073_741_824.0;

/// Refuses what no model needs and MuJoCo would not survive or should not see: files that are not plain or of more than
/// 64 MiB, what is not XML, document types, files outside of the model's folder, a million copies of an element, textures
/// of more than 2^24 points. [`Mujoco::load`](super::Mujoco::load) begins with this; no MuJoCo is needed.
///
/// ```
/// use tractable::rl::env::mujoco::screen;
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("bomb.xml");
/// std::fs::write(&path, r#"<mujoco><worldbody><replicate count="2000000000"><geom/></replicate></worldbody></mujoco>"#)?;
/// assert!(screen(&path).unwrap_err().to_string().contains("copies"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn screen(model: &Path) -> Result<()> {
    let folder = model.parent().unwrap_or(Path::new(""));
    let mut screen = Screen { folder, bytes: 0, copies: 0.0, files: vec![(model.into(), 1.0)] };
    let mut at = 0;
    while let Some((file, factor)) = screen.files.get(at).cloned() {
        screen.file(&file, factor)?;
        at += 1;
    }
    Ok(())
}

struct Screen<'a> {
    folder: &'a Path,
    bytes: u64,
    copies: f64,
    /// The model and what it includes, and how many times its elements are copied.
    files: Vec<(PathBuf, f64)>,
}

impl Screen<'_> {
    fn file(&mut self, path: &Path, factor: f64) -> Result<()> {
        let refuse = |why: String| Error::Model { path: path.into(), at: "MuJoCo model".into(), why };
        let (file, length) = files::open(path, MOST_BYTES)?;
        self.bytes += length;
        if self.bytes > MOST_BYTES {
            return Err(refuse(format!("with what it includes, it is larger than {} MiB", MOST_BYTES >> 20)));
        }
        let mut text = String::new();
        file.take(length).read_to_string(&mut text).map_err(|e| refuse(e.to_string()))?;
        let (mut most, mut all) = (0, 0);
        for attributes in text.split('<').map(|element| element.matches('=').count()) {
            (most, all) = (attributes.max(most), all + attributes);
        }
        if most > MOST_OF_ONE || all > MOST_ATTRIBUTES {
            return Err(refuse(format!("{all} attributes, {most} of one element, are too many")));
        }
        let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
        let xml = Document::parse_with_options(&text, options).map_err(|e| refuse(e.to_string()))?;
        self.element(xml.root_element(), factor, 0).map_err(refuse)
    }

    /// An element of which there are so many copies, and what is inside of it.
    fn element(
        &mut self,
        element: Node<'_, '_>,
        factor: f64,
        depth: usize,
    ) -> std::result::Result<(), String> {
        let name = element.tag_name().name();
        if depth > DEEPEST {
            return Err(format!("<{name}> has more than {DEEPEST} elements around it"));
        }
        for attribute in element.attributes() {
            let (key, value) = (attribute.name(), attribute.value());
            if key.starts_with("file") || key.ends_with("dir") {
                stays_inside(value).map_err(|why| format!("<{name} {key}={value:?}> {why}"))?;
            }
            let most = match (name, key) {
                ("size", "memory") => MOST_MEMORY,
                ("size", _) | (_, "count" | "dim" | "actdim" | "num" | "nsample") | ("numeric", "size") => {
                    LARGEST
                }
                _ => continue,
            };
            if sizes(value).is_none_or(|sizes| sizes > most) {
                return Err(format!("<{name} {key}={value:?}> is too large, or no number"));
            }
        }
        let sides = ["nrow", "ncol", "width", "height"].map(|key| element.attribute(key).unwrap_or_default());
        if sizes(&sides.join(" ")).is_none_or(|points| points > MOST_POINTS) {
            return Err(format!("<{name}> has more than 2^24 points, or a size that is no number"));
        }
        let factor = factor * element.attribute("count").and_then(sizes).unwrap_or(1.0).max(1.0);
        self.copies += factor;
        if self.copies > MOST_COPIES {
            return Err(format!("<{name}> makes more than a million copies"));
        }
        if let ("include" | "model", Some(file)) = (name, element.attribute("file")) {
            // MuJoCo itself includes a file once.
            let file = self.folder.join(file);
            if !self.files.iter().any(|(seen, _)| *seen == file) && file.exists() {
                self.files.push((file, factor));
            }
        }
        element.children().filter(Node::is_element).try_for_each(|e| self.element(e, factor, depth + 1))
    }
}

/// The product of the numbers in a text; memory may be in K, M or G.
fn sizes(text: &str) -> Option<f64> {
    text.split_whitespace().try_fold(1.0, |product: f64, word| {
        let unit = match word.bytes().last()? {
            b'K' => 1024.0,
            b'M' => 1_048_576.0,
            b'G' => 1_073_741_824.0,
            _ => 1.0,
        };
        let number = if unit > 1.0 { &word[..word.len() - 1] } else { word };
        // A NaN is no size.
        let number = number.parse().ok().filter(|n: &f64| n.is_finite())?;
        Some(product * (number.abs() * unit).max(1.0))
    })
}

fn stays_inside(path: &str) -> std::result::Result<(), String> {
    let inside = |c| matches!(c, Component::Normal(_) | Component::CurDir);
    match Path::new(path).components().all(inside) && !path.contains('\\') {
        true => Ok(()),
        false => Err("leads out of the model's folder: put the file beside the model".into()),
    }
}
