//! Bodies in motion: an SVG that any browser plays, drawn from where thick lines are at every step.

use super::style::FONT;
use std::fmt::Write;
use tractable::rl::env::Segment;

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 240.0;
/// Metres across, and where nothing leaves the middle.
const ACROSS: f64 = 4.0;
const CLOSE: f64 = 2.6;
/// The colours of `style.rs`, for bodies one after the other; legs of a pair look alike.
const COLORS: [&str; 8] = ["b", "v", "v", "v", "o", "o", "o", "b"];
/// It looks what the page around it is like, so one file serves both.
const STYLE: &str = ".g{fill:#fff}.t{fill:#222}.f{stroke:#777;fill:none}.b{stroke:#0072b2}.v{stroke:#d55e00}.o{stroke:#e69f00}\
@media(prefers-color-scheme:dark){.g{fill:#1b1b1d}.t{fill:#e6e6e6}.f{stroke:#9a9a9a}.b{stroke:#4aa3df}}";

/// Frames at so many a second, over and over. Where a body runs away, the picture goes along with it and the floor
/// passes below. The title is a plain text without markup.
pub(crate) fn animated(title: &str, frames: &[Vec<Segment>], per_second: f64) -> String {
    let floor = HEIGHT * 0.8;
    let middle = |frame: &Vec<Segment>| frame.first().map_or(0.0, |s| (s.from[0] + s.to[0]) / 2.0);
    let runs = frames.iter().any(|f| middle(f).abs() > ACROSS / 3.0);
    let camera: Vec<f64> = frames.iter().map(|f| if runs { middle(f) } else { 0.0 }).collect();
    // A body that hangs below the floor's height has none.
    let lowest = frames.iter().flatten().map(|s| s.from[1].min(s.to[1])).fold(0.0, f64::min);
    let lift = if lowest < -0.5 { HEIGHT * 0.5 } else { floor };
    let widest = frames.iter().flatten().map(|s| s.from[0].abs().max(s.to[0].abs())).fold(0.0, f64::max);
    let close = lift == floor && widest < CLOSE / 2.0;
    let across = if close { CLOSE } else { ACROSS };
    // Models of one's own are of any size.
    let ends = |f: &Vec<Segment>, c: f64| {
        f.iter().map(|s| (s.from[0] - c).abs().max((s.to[0] - c).abs())).fold(0.0, f64::max)
    };
    let wide = 2.2 * frames.iter().zip(&camera).map(|(f, c)| ends(f, *c)).fold(0.0, f64::max);
    let high = frames.iter().flatten().map(|s| s.from[1].max(s.to[1]).abs()).fold(0.0, f64::max);
    let needed = wide.max(1.1 * high * WIDTH / if lift == floor { floor } else { HEIGHT / 2.0 });
    let scale = WIDTH
        / match needed {
            n if n > across => n,
            n if n > 0.0 && n < across / 4.0 => 2.0 * n,
            _ => across,
        };
    let seconds = frames.len() as f64 / per_second;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\">\n\
         <style>{STYLE}</style>\n<title>{title}</title>\n<rect class=\"g\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n\
         <text class=\"t\" x=\"12\" y=\"24\" font-family=\"{FONT}\" font-size=\"15\">{title}</text>\n"
    );
    let animate = |svg: &mut String, name: &str, values: &mut dyn Iterator<Item = f64>| {
        let values: Vec<String> = values.map(|v| format!("{v:.1}")).collect();
        let _ = writeln!(
            svg,
            "<animate attributeName=\"{name}\" dur=\"{seconds:.2}s\" repeatCount=\"indefinite\" values=\"{}\"/>",
            values.join(";")
        );
    };
    if lift == floor {
        let _ = writeln!(svg, "<path class=\"f\" d=\"M0 {floor}H{WIDTH}\" stroke-width=\"2\"/>");
        // A mark every metre; those on view are drawn by one dashed line that shifts.
        let _ = writeln!(
            svg,
            "<path class=\"f\" d=\"M0 {}H{WIDTH}\" stroke-width=\"8\" stroke-dasharray=\"2 {:.1}\">",
            floor + 6.0,
            scale - 2.0
        );
        animate(&mut svg, "stroke-dashoffset", &mut camera.iter().map(|c| c * scale - WIDTH / 2.0));
        svg += "</path>\n";
    }
    let bodies = frames.iter().map(Vec::len).min().unwrap_or(0);
    for body in 0..bodies {
        let at = |i: usize| frames[i][body];
        let width = (2.0 * at(0).radius * scale).max(1.5);
        let color = COLORS[body % COLORS.len()];
        let _ = writeln!(
            svg,
            "<line class=\"{color}\" stroke-width=\"{width:.1}\" stroke-linecap=\"round\" stroke-opacity=\"0.85\">"
        );
        let n = 0..frames.len();
        let x = |x: f64, i: usize| (x - camera[i]) * scale + WIDTH / 2.0;
        animate(&mut svg, "x1", &mut n.clone().map(|i| x(at(i).from[0], i)));
        animate(&mut svg, "y1", &mut n.clone().map(|i| lift - at(i).from[1] * scale));
        animate(&mut svg, "x2", &mut n.clone().map(|i| x(at(i).to[0], i)));
        animate(&mut svg, "y2", &mut n.clone().map(|i| lift - at(i).to[1] * scale));
        svg += "</line>\n";
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_body_moves_in_every_frame() {
        let frame = |x: f64| vec![Segment { from: [x, 0.5], to: [x + 1.0, 0.5], radius: 0.05 }; 2];
        let svg = animated("two", &[frame(0.0), frame(0.1), frame(0.2)], 20.0);
        assert_eq!(svg.matches("<line ").count(), 2);
        assert_eq!(svg.matches("dur=\"0.15s\"").count(), 1 + 2 * 4);
        assert!(svg.contains("attributeName=\"x1\"") && !svg.contains("NaN"));
    }
}
