//! The shapes of a model, for pictures: read from what MuJoCo prints of it, so that no structure of MuJoCo's need be known.

use super::library::Data;
use tractable_applications::rl::env::Segment;

/// A shape on a body.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Geom {
    body: i32,
    /// In the frame of its body.
    position: [f64; 3],
    quaternion: [f64; 4],
    /// Middle and half sizes along its own axes.
    middle: [f64; 3],
    half: [f64; 3],
    /// Round about its third axis; others are drawn along their longest side.
    round: bool,
}

const PLANE: i32 = 0;
const HEIGHT_FIELD: i32 = 1;
const SPHERE: i32 = 2;
const CAPSULE: i32 = 3;
const CYLINDER: i32 = 5;
const MESH: i32 = 7;
/// More shapes than this are no picture.
const MOST: usize = 1000;

/// The shapes in a printed model, without the ground.
pub(super) fn parse(text: &str) -> Vec<Geom> {
    let parts = text.split("\nGEOM ").skip(1).take(MOST);
    // Up to the first empty line: what follows is not of this shape.
    parts.filter_map(|part| geom(part.split("\n\n").next()?)).collect()
}

fn geom(text: &str) -> Option<Geom> {
    let numbers = |name: &str| -> Option<Vec<f64>> {
        let line = text.lines().find_map(|l| l.trim_start().strip_prefix(name)?.strip_prefix(' '))?;
        line.split_whitespace().map(|word| word.parse().ok()).collect()
    };
    let list =
        |name: &str, n: usize| numbers(name).filter(|v| v.len() >= n && v.iter().all(|x| x.is_finite()));
    let kind = *numbers("geom_type")?.first()? as i32;
    if [PLANE, HEIGHT_FIELD].contains(&kind) {
        return None;
    }
    let three = |v: &[f64]| [v[0], v[1], v[2]];
    let size = three(&list("geom_size", 3)?);
    let (middle, half, round) = match kind {
        SPHERE => ([0.0; 3], [size[0]; 3], true),
        CAPSULE => ([0.0; 3], [size[0], size[0], size[1] + size[0]], true),
        CYLINDER => ([0.0; 3], [size[0], size[0], size[1]], true),
        MESH => {
            // The box around it, where this version has one.
            let around = list("geom_aabb", 6)?;
            (three(&around), three(&around[3..]), false)
        }
        _ => ([0.0; 3], size, false),
    };
    let quaternion = list("geom_quat", 4)?;
    Some(Geom {
        body: *numbers("geom_bodyid")?.first()? as i32,
        position: three(&list("geom_pos", 3)?),
        quaternion: [quaternion[0], quaternion[1], quaternion[2], quaternion[3]],
        middle,
        half,
        round,
    })
}

impl Geom {
    /// Seen from the side: x to the right, z up.
    pub(super) fn seen(&self, data: &Data) -> Option<Segment> {
        let (place, turned) = data.place(self.body, &self.position, &self.quaternion)?;
        let axis = match self.round {
            true => 2,
            false => (0..3).max_by(|&a, &b| self.half[a].total_cmp(&self.half[b])).unwrap_or(2),
        };
        let others = [(axis + 1) % 3, (axis + 2) % 3].map(|k| self.half[k]);
        let radius = (others[0] + others[1]) / 2.0;
        let length = (self.half[axis] - radius).max(0.0);
        // Rows of the matrix are the world's axes.
        let world = |row: usize, own: &[f64; 3]| {
            place[row] + (0..3).map(|k| turned[3 * row + k] * own[k]).sum::<f64>()
        };
        let end = |sign: f64| {
            let mut own = self.middle;
            own[axis] += sign * length;
            [world(0, &own), world(2, &own)]
        };
        let (from, to) = (end(-1.0), end(1.0));
        from.iter().chain(&to).all(|v| v.is_finite()).then_some(Segment { from, to, radius })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read_as_printed() {
        let floor = "  geom_type  0 \n  geom_size  5 5 1\n  geom_pos  0 0 0\n  geom_quat  1 0 0 0\n  geom_bodyid  0\n";
        let leg = "  name  leg\n  geom_type             3 \n  geom_bodyid           1 \n  geom_size   0.05  0.25  0 \n  \
                   geom_pos   0.25  0  0\n  geom_quat   0.7  0  0.7  0\n";
        let torn = "  geom_type 2\n  geom_bodyid 1\n  geom_size nan 0 0\n";
        let text = format!("MODEL\n\nGEOM 0:\n{floor}\nGEOM 1:\n{leg}\n\nGEOM 2:\n{torn}\n\nSITE 0:\n");
        let [leg] = &parse(&text)[..] else { panic!("one shape") };
        assert_eq!((leg.body, leg.position, leg.half), (1, [0.25, 0.0, 0.0], [0.05, 0.05, 0.3]));
        assert!(parse("").is_empty());
    }
}
