//! Soft constraints: joint limits and contacts push back like damped springs whose stiffness grows with depth.
//!
//! This is MuJoCo's model. A constraint is a row `J` of the velocities it looks at. It asks for an
//! acceleration `J a >= aref` and is paid `D/2 (J a - aref)^2` for what it does not get.

/// One soft constraint, as the solver wants it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<const N: usize> {
    /// The velocity it looks at is `jacobian . v`.
    pub(crate) jacobian: [f64; N],
    /// The acceleration along it that is asked for.
    pub(crate) wanted: f64,
    /// What falling short costs (D, the inverse of MuJoCo's R).
    pub(crate) stiffness: f64,
}

impl<const N: usize> Row<N> {
    pub(crate) const NONE: Self = Row { jacobian: [0.0; N], wanted: 0.0, stiffness: 0.0 };
}

/// How a constraint gives way: MuJoCo's `solref` (time constant, damping ratio 1) and `solimp`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Softness {
    /// Impedance at depth 0.
    start: f64,
    /// Impedance from the depth `width` on.
    end: f64,
    width: f64,
    /// Factor of the velocity, 2/(end tc).
    damping: f64,
    /// Factor of the depth, 1/(end tc)^2.
    spring: f64,
}

impl Softness {
    /// `time` is the time constant; it is raised to two time steps, below which the spring would overshoot.
    pub(crate) fn new(time: f64, timestep: f64, [start, end, width]: [f64; 3]) -> Self {
        let rate = 1.0 / (end * time.max(2.0 * timestep));
        // An impedance of 0 would be no constraint at all.
        Softness { start: start.max(1e-4), end, width, damping: 2.0 * rate, spring: rate * rate }
    }

    /// How far the constraint prevails at a depth: between 0 and 1, a smooth step made of two parabolas.
    fn impedance(&self, depth: f64) -> f64 {
        let x = depth / self.width;
        let y = match x {
            _ if x >= 1.0 => 1.0,
            _ if x <= 0.5 => 2.0 * x * x,
            _ => 1.0 - 2.0 * (1.0 - x) * (1.0 - x),
        };
        self.start + y * (self.end - self.start)
    }

    /// What a constraint violated by `depth` > 0 asks for: its stiffness, and the push in `push - damping J v`.
    ///
    /// `mobility` is the acceleration that a unit of force along the row gives, at rest and roughly.
    #[inline]
    pub(crate) fn at(&self, depth: f64, mobility: f64) -> Reply {
        let d = self.impedance(depth);
        Reply { stiffness: d / ((1.0 - d) * mobility), push: self.spring * d * depth, damping: self.damping }
    }
}

/// A constraint's reply to being violated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply {
    pub(crate) stiffness: f64,
    pub(crate) push: f64,
    pub(crate) damping: f64,
}

impl Reply {
    /// The row for a Jacobian whose velocity is `J v`.
    #[inline]
    pub(crate) fn row<const N: usize>(&self, jacobian: [f64; N], velocity: f64) -> Row<N> {
        Row { jacobian, wanted: self.push - self.damping * velocity, stiffness: self.stiffness }
    }
}

/// A joint that may not leave a range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Acceleration of the joint for a unit of force on it, at rest.
    pub(crate) mobility: f64,
}

impl Limit {
    /// The row of joint `joint`, if `q` is beyond a bound.
    #[inline]
    pub(crate) fn row<const N: usize>(
        &self,
        softness: &Softness,
        joint: usize,
        q: f64,
        v: f64,
    ) -> Option<Row<N>> {
        let (depth, inward) = match q {
            _ if q < self.low => (self.low - q, 1.0),
            _ if q > self.high => (q - self.high, -1.0),
            _ => return None,
        };
        let mut jacobian = [0.0; N];
        jacobian[joint] = inward;
        Some(softness.at(depth, self.mobility).row(jacobian, inward * v))
    }
}
