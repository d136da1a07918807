//! A grid of small images with labels of its rows and columns, enlarged without smoothing.

use super::base64;
use super::canvas::{Area, Canvas};
use super::drawing::{self, Drawing};
use super::style::{self, LABEL, TITLE};
use crate::report::{Exit, Outcome};
use kuva::render::color::Color as Paint;
use kuva::render::render::Primitive;
use kuva::render::render::TextAnchor::{End, Middle};
use std::fmt::Write;
use std::path::Path;
use tractable::Shape;

/// An image in 8 bits a channel.
#[derive(Clone, Debug)]
pub struct Image {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

impl Image {
    /// One channel or three, each row by row; `range.0` is black, `range.1` white, and what is outside is like the end.
    ///
    /// # Errors
    /// If there is not a value for every pixel and channel, one is not finite, or the range is empty.
    pub(crate) fn new(shape: Shape, values: &[f64], (low, high): (f64, f64)) -> Result<Self, String> {
        let Shape { channels, height, width } = shape;
        if !matches!(channels, 1 | 3) {
            return Err(format!("images with {channels} channels cannot be shown"));
        }
        let size = width.checked_mul(height).filter(|n| *n > 0 && width.max(height) <= 4096);
        let size = size.ok_or(format!("an image cannot have {width} x {height} pixels"))?;
        if values.len() != size * channels {
            return Err(format!(
                "an image of {width} x {height} pixels needs {} values, not {}",
                size * channels,
                values.len()
            ));
        }
        if let Some(i) = values.iter().position(|v| !v.is_finite()) {
            return Err(format!("pixel value {} of {} is {}", i + 1, values.len(), values[i]));
        }
        if !(low < high && (high - low).is_finite()) {
            return Err(format!("the range of pixel values cannot be {low} to {high}"));
        }
        let level = |v: f64| ((v - low) / (high - low) * 255.0).round().clamp(0.0, 255.0) as u8;
        let channel = |i: usize, c: usize| level(values[if channels == 1 { i } else { c * size + i }]);
        let pixels = (0..size).map(|i| [channel(i, 0), channel(i, 1), channel(i, 2)]).collect();
        Ok(Image { width, height, pixels })
    }

    /// The image by itself, one pixel a pixel, as a PNG file.
    pub(crate) fn png(&self) -> Result<Vec<u8>, String> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(|e| e.to_string())?;
        writer.write_image_data(self.pixels.as_flattened()).map_err(|e| e.to_string())?;
        writer.finish().map_err(|e| e.to_string())?;
        Ok(file)
    }

    /// An SVG element that shows the image; the pixels stay squares. A bitmap, because a rectangle for every
    /// pixel makes a file thirty times the size.
    fn svg_element(&self, area: Area) -> Result<String, String> {
        let file = self.png()?;
        let Area { left, top, width, height } = area;
        Ok(format!(
            "  <image x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" \
             style=\"image-rendering:pixelated\" preserveAspectRatio=\"none\" \
             href=\"data:image/png;base64,{}\" />\n",
            base64(&file)
        ))
    }

    /// Its pixels as squares.
    fn squares(&self, area: Area) -> Primitive {
        let side = area.width / self.width as f64;
        let place = |i: usize| ((i % self.width) as f64 * side, (i / self.width) as f64 * side);
        let (x, y) = (0..self.pixels.len()).map(|i| (area.left + place(i).0, area.top + place(i).1)).unzip();
        let sides = vec![side; self.pixels.len()];
        let fills = self.pixels.iter().map(|[r, g, b]| Paint::Rgb(*r, *g, *b)).collect();
        Primitive::RectBatch { x, y, w: sides.clone(), h: sides, fills }
    }
}

/// A grid of images. Labels may be missing (empty slices); rows may be of different lengths, and `None` is an
/// empty place.
#[derive(Default)]
pub struct ImageGrid<'a> {
    pub title: &'a str,
    pub row_labels: &'a [&'a str],
    pub column_labels: &'a [&'a str],
    /// Row after row.
    pub rows: &'a [Vec<Option<Image>>],
}

/// Pixels between images, and around the whole.
const GAP: f64 = 6.0;
const EDGE: f64 = 16.0;
/// Images are enlarged to about this size.
const SIDE: f64 = 84.0;

impl ImageGrid<'_> {
    /// Writes `path` with `.svg` and with `.png`, as [`Figure::save`](super::Figure::save) does.
    /// Gives the SVG back, for a page.
    pub fn save(&self, path: &Path) -> Outcome<String> {
        let drawing = self.draw().map_err(|why| Exit::Error(format!("cannot draw the images: {why}")))?;
        drawing.save(path)?;
        Ok(drawing.svg)
    }

    pub(super) fn draw(&self) -> Result<Drawing, String> {
        let images = || self.rows.iter().flatten().flatten();
        let wide = images().map(|i| i.width).max().ok_or("there are no images")?;
        let high = images().map(|i| i.height).max().unwrap_or(1);
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        for (what, labels, there) in
            [("row", self.row_labels, self.rows.len()), ("column", self.column_labels, columns)]
        {
            if !labels.is_empty() && labels.len() != there {
                return Err(format!("there are {} {what} labels for {there} {what}s", labels.len()));
            }
        }
        // Whole numbers of pixels, so that all squares are alike.
        let zoom = (SIDE / wide.max(high) as f64).round().max(1.0);
        let (cell_width, cell_height) = (wide as f64 * zoom, high as f64 * zoom);
        let label_width = |l: &&str| style::text_width(l, LABEL).min(240.0);
        let left = self.row_labels.iter().map(label_width).fold(0.0, f64::max).ceil();
        let left = EDGE + if left > 0.0 { left + GAP } else { 0.0 };
        let column_lines: Vec<Vec<String>> =
            self.column_labels.iter().map(|l| style::wrapped(l, LABEL, cell_width + GAP)).collect();
        let label_lines = column_lines.iter().map(Vec::len).max().unwrap_or(0);
        // A long title may not be cut because the images are few.
        let needed = left + columns as f64 * (cell_width + GAP) - GAP + EDGE;
        let width = needed.max(2.0 * EDGE + style::text_width(self.title, TITLE).min(480.0)).ceil();
        let left = (left + (width - needed) / 2.0).floor();
        let mut canvas = Canvas::new(width, 0.0);
        let heading = canvas.title(self.title, EDGE);
        let top = (heading + label_lines as f64 * style::line_height(LABEL) + GAP).ceil();
        canvas.scene.height = top + self.rows.len() as f64 * (cell_height + GAP) - GAP + EDGE;
        for (c, lines) in column_lines.iter().enumerate() {
            let x = left + c as f64 * (cell_width + GAP) + cell_width / 2.0;
            // The last line is next to the images.
            let first = top - GAP - (lines.len() as f64 - 1.0) * style::line_height(LABEL);
            for (i, line) in lines.iter().enumerate() {
                canvas.text(line, LABEL, x, first + i as f64 * style::line_height(LABEL), Middle);
            }
        }
        let row_top = |r: usize| top + r as f64 * (cell_height + GAP);
        for (r, label) in self.row_labels.iter().enumerate() {
            let y = row_top(r) + cell_height / 2.0 + f64::from(LABEL) * 0.36;
            canvas.text(&style::fitted(label, LABEL, 240.0), LABEL, left - GAP, y, End);
        }
        // Smaller images stand in the middle of their places, on whole pixels.
        let middle = |spare: usize| (spare as f64 * zoom / 2.0).floor();
        let (mut elements, mut squares) = (String::new(), Vec::new());
        for (r, row) in self.rows.iter().enumerate() {
            for (c, image) in row.iter().enumerate() {
                let Some(image) = image else { continue };
                let area = Area {
                    left: left + c as f64 * (cell_width + GAP) + middle(wide - image.width),
                    top: row_top(r) + middle(high - image.height),
                    width: image.width as f64 * zoom,
                    height: image.height as f64 * zoom,
                };
                // White images end somewhere too.
                canvas.frame(area);
                elements.write_str(&image.svg_element(area)?).map_err(|e| e.to_string())?;
                squares.push(image.squares(area));
            }
        }
        // The library has no images: the SVG gets them as elements of its own, the PNG square by square.
        let svg = drawing::svg(&canvas);
        let end = svg.rfind("</svg>").ok_or("the SVG has no end")?;
        let svg = format!("{}{elements}{}", &svg[..end], &svg[end..]);
        squares.into_iter().for_each(|s| canvas.scene.add(s));
        Ok(Drawing { svg, png: drawing::png(&canvas)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(width: usize, height: usize, values: &[f64], range: (f64, f64)) -> Result<Image, String> {
        Image::new(Shape::image(1, height, width), values, range)
    }

    fn rgb(width: usize, height: usize, values: &[f64]) -> Result<Image, String> {
        Image::new(Shape::image(3, height, width), values, (0.0, 1.0))
    }

    #[test]
    fn values_become_levels_in_channel_order() {
        let two = grey(2, 1, &[-3.0, 0.5], (0.0, 1.0)).unwrap();
        assert_eq!(two.pixels, [[0; 3], [128; 3]]);
        let three = rgb(1, 2, &[1.0, 0.0, 0.2, 0.4, 0.0, 9.0]).unwrap();
        assert_eq!(three.pixels, [[255, 51, 0], [0, 102, 255]]);
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let why = |r: Result<Image, String>| r.unwrap_err();
        assert!(why(grey(2, 2, &[0.0; 3], (0.0, 1.0))).contains("needs 4 values, not 3"));
        assert!(why(rgb(1, 1, &[0.0, f64::NAN, 0.0])).contains("value 2 of 3 is NaN"));
        assert!(why(grey(1, 1, &[0.0], (1.0, 1.0))).contains("cannot be 1 to 1"));
        assert!(why(grey(0, 1, &[], (0.0, 1.0))).contains("0 x 1"));
        assert!(why(grey(usize::MAX, 2, &[], (0.0, 1.0))).contains("pixels"));
        assert!(ImageGrid::default().draw().err().unwrap().contains("no images"));
        let rows = [vec![Some(grey(1, 1, &[0.0], (0.0, 1.0)).unwrap())]];
        let grid = ImageGrid { rows: &rows, row_labels: &["a", "b"], ..ImageGrid::default() };
        assert_eq!(grid.draw().err().unwrap(), "there are 2 row labels for 1 rows");
    }

    #[test]
    fn the_png_shows_the_pixels_enlarged() {
        let image = rgb(2, 1, &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]).unwrap();
        let drawing = ImageGrid { rows: &[vec![Some(image)]], ..ImageGrid::default() }.draw().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(drawing.png)).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        let channels = info.color_type.samples();
        let count =
            |rgb: [u8; 3]| bytes[..info.buffer_size()].chunks(channels).filter(|p| p[..3] == rgb).count();
        // Each pixel became 42 x 42 of the SVG and 84 x 84 of the PNG.
        assert_eq!((count([255, 0, 0]), count([0, 255, 0])), (84 * 84, 84 * 84));
        assert!(drawing.svg.contains("href=\"data:image/png;base64,iVBORw0KGgo"));
        assert_eq!(drawing.svg.matches("</svg>").count(), 1);
    }
}
