//! The mechanism against physics that does not depend on how it is computed.

use super::super::physics::GRAVITY;
use super::super::physics::solver::dot;
use super::*;
use tractable_applications::rl::env::Environment;

fn random(seed: u64) -> ([f64; 9], [f64; 9]) {
    let mut rng = stream(seed, "state", 0);
    let q = std::array::from_fn(|_| uniform(-1.5, 1.5, &mut rng));
    (q, std::array::from_fn(|_| 3.0 * standard_normal(&mut rng)))
}

fn energy(model: &Model, q: &[f64; 9], v: &[f64; 9]) -> f64 {
    let pose = mechanism::pose(model, q);
    let kinetic = 0.5 * dot(v, &mechanism::inertia(model, &pose).times(v));
    let height = |body, com| (pose.origin + pose.point(body, com)).z;
    let mut potential = 0.0;
    for (p, leg) in model.legs.iter().enumerate() {
        for (i, link) in leg.iter().enumerate() {
            let own = link.mass - leg.get(i + 1).map_or(0.0, |below| below.mass);
            potential += own * height(3 * p + i + 1, link.com);
        }
    }
    let trunk = model.trunk.mass - model.legs[0][0].mass - model.legs[1][0].mass;
    potential += trunk * height(0, model.trunk.com);
    kinetic + GRAVITY * potential
}

/// Energy grows by the power of the forces: inertia and bias belong together.
#[test]
fn energy_changes_by_the_power_put_in() {
    let model = Model::new();
    for seed in 0..200 {
        let (q, v) = random(seed);
        let force = random(seed + 1000).1;
        let (inertia, bias) = mechanism::inertia_and_bias(&model, &mechanism::pose(&model, &q), &v);
        let a = inertia.solve(&std::array::from_fn(|i| force[i] - bias[i]));
        let at = |t: f64| {
            let x: [f64; 9] = std::array::from_fn(|i| q[i] + t * v[i] + 0.5 * t * t * a[i]);
            energy(&model, &x, &std::array::from_fn(|i| v[i] + t * a[i]))
        };
        let h = 1e-5;
        let (rate, power) = ((at(h) - at(-h)) / (2.0 * h), dot(&force, &v));
        assert!((rate - power).abs() < 1e-4 * (1.0 + power.abs() + dot(&a, &a).sqrt()), "{rate} {power}");
    }
}

/// Contact rows are how fast a point moves, by finite differences.
#[test]
fn rows_are_velocities_of_points() {
    let model = Model::new();
    for seed in 0..100 {
        let (q, v) = random(seed);
        let pose = mechanism::pose(&model, &q);
        for (capsule, body) in model.capsules.iter().zip(contact::BODY) {
            let end = capsule.ends()[0];
            let place = |t: f64| {
                let moved = std::array::from_fn(|i| q[i] + t * v[i]);
                let pose = mechanism::pose(&model, &moved);
                pose.origin + pose.point(body, end)
            };
            let (h, at) = (1e-6, pose.point(body, end));
            let rate = (0.5 / h) * (place(h) - place(-h));
            assert!((rate.x - dot(&pose.row_x(body, at), &v)).abs() < 1e-7);
            assert!((rate.z - dot(&pose.row_z(body, at), &v)).abs() < 1e-7);
        }
    }
}

/// In free fall with limp legs, the centre of mass falls as a stone does and x does not change.
#[test]
fn a_falling_cheetah_is_a_falling_stone() {
    let mut env = HalfCheetah::new();
    env.restore(&[
        0.0, 5.0, 0.3, 0.1, 0.2, -0.1, 0.2, -0.3, 0.1, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    ])
    .unwrap();
    let momentum = |env: &HalfCheetah| {
        let pose = mechanism::pose(&env.model, &env.q);
        let all = mechanism::inertia(&env.model, &pose).times(&env.v);
        [all[0], all[1]]
    };
    let before = momentum(&env);
    env.advance(&[10.0, -5.0, 3.0, 8.0, -4.0, 1.0]);
    let after = momentum(&env);
    // Exact but for the change of the inertia within the step.
    assert!((after[0] - before[0]).abs() < 0.05, "{before:?} {after:?}");
    assert!((after[1] - before[1] + 14.0 * GRAVITY * TIMESTEP).abs() < 0.05, "{before:?} {after:?}");
}

/// Left alone it comes to rest on its feet, the floor carrying its weight.
#[test]
fn it_comes_to_rest_on_the_floor() {
    let mut env = HalfCheetah::new();
    let mut seen = [0.0; 17];
    env.reset(5, &mut seen).unwrap();
    for _ in 0..400 {
        env.step(&[0.0; 6], &mut seen).unwrap();
    }
    assert!(env.v.iter().all(|v| v.abs() < 1e-6), "{:?}", env.v);
    let lowest = env.segments().iter().map(|s| s.from[1].min(s.to[1]) - s.radius).fold(1.0, f64::min);
    assert!(lowest < 0.0 && lowest > -0.02, "{lowest}");
}
