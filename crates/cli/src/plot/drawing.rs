//! A finished picture: the same thing as SVG and as PNG, and its way to the disk.

use super::canvas::Canvas;
use super::style;
use crate::files::{self, NewFile};
use crate::report::{Outcome, file_error};
use kuva::RasterBackend;
use kuva::backend::svg::SvgBackend;
use kuva::render::render::Primitive;
use std::io::Write;
use std::path::{Path, PathBuf};

pub(super) struct Drawing {
    pub(super) svg: String,
    pub(super) png: Vec<u8>,
}

impl Drawing {
    pub(super) fn of(canvas: &Canvas) -> Result<Self, String> {
        Ok(Drawing { svg: svg(canvas), png: png(canvas)? })
    }

    /// Both files at `path` with their endings, each whole or as it was before.
    pub(super) fn save(&self, path: &Path) -> Outcome {
        let files = [(named(path, "svg"), self.svg.as_bytes()), (named(path, "png"), &self.png)];
        let mut written = Vec::new();
        // Both are written before either takes its place: a full disk leaves the old pair.
        for (path, bytes) in files {
            let mut file = NewFile::beside(&path).map_err(file_error(&path, "write"))?;
            file.write_all(bytes).map_err(file_error(&path, "write"))?;
            written.push((path, file));
        }
        for (path, file) in written {
            files::keep(file, &path).map_err(file_error(&path, "write"))?;
        }
        Ok(())
    }
}

pub(super) fn svg(canvas: &Canvas) -> String {
    let (width, height) = (canvas.scene.width, canvas.scene.height);
    let mut svg = SvgBackend::new().with_pretty(true).render_scene(&canvas.scene);
    // The library counts clips over the whole process; the same picture is the same file.
    let clips = canvas.scene.elements.iter().filter_map(|e| match e {
        Primitive::ClipStart { id, .. } => Some(id),
        _ => None,
    });
    for (i, id) in clips.enumerate() {
        for (before, after) in [("\"", "\""), ("#", ")")] {
            svg = svg.replace(&format!("{before}{id}{after}"), &format!("{before}area-{i}{after}"));
        }
    }
    // So that a page can show it at any size.
    svg.replacen("<svg ", &format!(r#"<svg viewBox="0 0 {width} {height}" "#), 1)
}

pub(super) fn png(canvas: &Canvas) -> Result<Vec<u8>, String> {
    RasterBackend { scale: style::PNG_SCALE }.render_scene(&canvas.scene)
}

/// The files that a picture is saved as.
pub(crate) fn picture_files(path: &Path) -> [PathBuf; 2] {
    ["svg", "png"].map(|ending| named(path, ending))
}

/// `path.ending`, where `path` may have one of the two endings already. Other dots are part of the name.
fn named(path: &Path, ending: &str) -> PathBuf {
    let picture = path.extension().is_some_and(|e| e == "svg" || e == "png");
    let mut name = if picture { path.with_extension("") } else { path.into() }.into_os_string();
    name.push(".");
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_added_not_exchanged() {
        let said = |path: &str| named(Path::new(path), "png").display().to_string();
        assert_eq!(said("run/curve"), "run/curve.png");
        assert_eq!(said("run/curve.svg"), "run/curve.png");
        assert_eq!(said("run/lr0.1"), "run/lr0.1.png");
    }
}
