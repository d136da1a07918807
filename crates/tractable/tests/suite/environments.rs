//! What every environment promises, and the rules of each task.

use proptest::prelude::*;
use tractable::Error;
use tractable::rl::env::{
    Environment, HalfCheetah, InvertedPendulum, Pendulum, Space, Step, TimeLimit, Version,
};
use tractable::rng::{standard_normal, stream, uniform};

fn all() -> Vec<(&'static str, Box<dyn Environment>)> {
    vec![
        ("HalfCheetah", Box::new(HalfCheetah::new())),
        ("InvertedPendulum", Box::new(InvertedPendulum::new(Version::V5))),
        ("Pendulum", Box::new(Pendulum::new())),
        ("TimeLimit", Box::new(TimeLimit::new(HalfCheetah::new(), 1000).unwrap())),
    ]
}

fn room(env: &dyn Environment) -> Vec<f64> {
    vec![0.0; env.observation_space().len()]
}

/// Observations and rewards of an episode under random actions.
fn episode(env: &mut dyn Environment, seed: u64, steps: usize) -> Vec<f64> {
    let (mut seen, mut all) = (room(env), Vec::new());
    let mut rng = stream(seed, "actions", 0);
    env.reset(seed, &mut seen).unwrap();
    for _ in 0..steps {
        let action: Vec<f64> = env.action_space().high().iter().map(|h| uniform(-h, *h, &mut rng)).collect();
        let step = env.step(&action, &mut seen).unwrap();
        all.extend_from_slice(&seen);
        all.push(step.reward);
    }
    all
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    for (name, mut env) in all() {
        let first = episode(&mut *env, 3, 200);
        assert_eq!(first, episode(&mut *env, 3, 200), "{name}: after another episode");
        assert_ne!(first, episode(&mut *env, 4, 200), "{name}");
    }
    assert_eq!(episode(&mut HalfCheetah::new(), 3, 200), episode(&mut HalfCheetah::new(), 3, 200));
}

#[test]
fn a_stored_state_goes_on_to_the_same_bits() {
    for ((name, mut env), (_, mut other)) in all().into_iter().zip(all()) {
        episode(&mut *env, 1, 57);
        other.restore(&env.state()).unwrap();
        let (mut a, mut b) = (room(&*env), room(&*env));
        let action = vec![0.7; env.action_space().len()];
        for _ in 0..100 {
            assert_eq!(env.step(&action, &mut a).unwrap(), other.step(&action, &mut b).unwrap());
            assert_eq!(a, b, "{name}");
        }
        assert_eq!(env.state(), other.state());
    }
}

#[test]
fn mistakes_are_errors_and_change_nothing() {
    for (name, mut env) in all() {
        let mut seen = room(&*env);
        env.reset(0, &mut seen).unwrap();
        let (before, good) = (env.state(), vec![0.0; env.action_space().len()]);
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut action = good.clone();
            *action.last_mut().unwrap() = value;
            let err = env.step(&action, &mut seen).unwrap_err();
            let column = good.len() - 1;
            assert!(matches!(err, Error::NotFinite { column: c, .. } if c == column), "{name}: {err}");
        }
        assert!(matches!(env.step(&[], &mut seen), Err(Error::Shape { .. })), "{name}");
        assert!(matches!(env.step(&good, &mut seen[1..]), Err(Error::Shape { .. })), "{name}");
        assert!(matches!(env.reset(0, &mut []), Err(Error::Shape { .. })), "{name}");
        assert!(env.restore(&[]).is_err() && env.restore(&before[1..]).is_err(), "{name}");
        assert!(env.restore(&vec![f64::NAN; before.len()]).is_err(), "{name}");
        assert!(env.restore(&vec![1e11; before.len()]).is_err(), "{name}");
        assert_eq!(env.state(), before, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Actions far beyond the bounds are clamped by the motors: the body stays whole.
    #[test]
    fn large_actions_stay_finite(seed: u64, size in 0.0..1e6f64) {
        for (name, mut env) in all() {
            let mut seen = room(&*env);
            env.reset(seed, &mut seen).unwrap();
            let mut rng = stream(seed, "actions", 0);
            for _ in 0..50 {
                let action: Vec<f64> =
                    (0..env.action_space().len()).map(|_| size * standard_normal(&mut rng)).collect();
                let step = env.step(&action, &mut seen).unwrap();
                prop_assert!(step.reward.is_finite());
                prop_assert!(seen.iter().all(|x| x.abs() < 1e3), "{name}: {seen:?}");
            }
        }
    }

    /// Wild states, deep in the floor and fast, neither panic nor come out as NaN unnoticed.
    #[test]
    fn wild_states_stay_finite_or_are_errors(seed: u64, size in 0.0..1e9f64) {
        for (name, mut env) in all().into_iter().take(3) {
            let (mut seen, mut rng) = (room(&*env), stream(seed, "wild", 0));
            let state: Vec<f64> = env.state().iter().map(|_| uniform(-size, size, &mut rng)).collect();
            env.restore(&state).unwrap();
            let action = vec![1.0; env.action_space().len()];
            for _ in 0..20 {
                match env.step(&action, &mut seen) {
                    Ok(step) => prop_assert!(step.reward.is_finite() && seen.iter().all(|x| x.is_finite())),
                    Err(e) => {
                        prop_assert!(e.to_string().contains("diverged"), "{name}: {e}");
                        break;
                    }
                }
            }
        }
    }
}

#[test]
fn a_reward_beyond_all_numbers_is_an_error() {
    let err = HalfCheetah::new().step(&[1e200; 6], &mut [0.0; 17]).unwrap_err();
    assert!(err.to_string().contains("stay within the action space"), "{err}");
}

/// Mean, deviation and largest size of each number of the first observation, over many seeds.
fn starts(env: &mut dyn Environment) -> Vec<(f64, f64, f64)> {
    let n = 20_000;
    let mut seen = room(env);
    let mut sums = vec![(0.0, 0.0, 0.0f64); seen.len()];
    for seed in 0..n {
        env.reset(seed, &mut seen).unwrap();
        for (s, x) in sums.iter_mut().zip(&seen) {
            *s = (s.0 + x, s.1 + x * x, s.2.max(x.abs()));
        }
    }
    sums.iter().map(|(s, q, m)| (s / n as f64, (q / n as f64).sqrt(), *m)).collect()
}

#[test]
fn episodes_start_as_gymnasium_documents() {
    let uniform = |(mean, deviation, largest): (f64, f64, f64), bound: f64| {
        assert!(mean.abs() < 0.03 * bound && largest <= bound && largest > 0.999 * bound);
        assert!((deviation / bound - 3f64.sqrt().recip()).abs() < 0.02, "{deviation}");
    };
    let cheetah = starts(&mut HalfCheetah::new());
    cheetah[..8].iter().for_each(|s| uniform(*s, 0.1));
    for (mean, deviation, largest) in &cheetah[8..] {
        assert!(mean.abs() < 0.003 && (deviation - 0.1).abs() < 0.003 && *largest > 0.3);
    }
    // x is not observed.
    let x = |seed| {
        let mut env = HalfCheetah::new();
        env.reset(seed, &mut [0.0; 17]).unwrap();
        env.state()[0]
    };
    let xs: Vec<f64> = (0..100).map(x).collect();
    assert!(xs.iter().all(|x| x.abs() < 0.1) && xs.iter().any(|x| x.abs() > 0.09));
    starts(&mut InvertedPendulum::new(Version::V5)).iter().for_each(|s| uniform(*s, 0.01));
    uniform(starts(&mut Pendulum::new())[2], 1.0);
}

#[test]
fn the_cheetah_pays_for_speed_and_effort() {
    let mut env = HalfCheetah::new();
    let mut seen = [0.0; 17];
    env.reset(0, &mut seen).unwrap();
    let before = env.state()[0];
    // Beyond the bounds: the motors clamp, the cost does not.
    let action = [2.0, -0.5, 0.0, 1.5, -3.0, 0.25];
    let cost = 0.1 * action.iter().map(|a| a * a).sum::<f64>();
    let mut clamped = env.clone();
    let step = env.step(&action, &mut seen).unwrap();
    assert_eq!(step.reward, (env.state()[0] - before) / 0.05 - cost);
    let other = clamped.step(&action.map(|a| a.clamp(-1.0, 1.0)), &mut [0.0; 17]).unwrap();
    assert_eq!(clamped.state(), env.state());
    assert!(other.reward > step.reward);
    assert_eq!(seen[..8], env.state()[1..9]);
    assert_eq!(seen[8..], env.state()[9..]);
}

#[test]
fn a_fallen_pole_ends_the_episode() {
    for (version, at_the_end) in [(Version::V4, 1.0), (Version::V5, 0.0)] {
        let mut env = InvertedPendulum::new(version);
        let mut seen = [0.0; 4];
        env.restore(&[0.0, 0.19, 0.0, 0.0]).unwrap();
        let mut steps = Vec::new();
        while steps.last().is_none_or(|s: &Step| !s.terminated) {
            steps.push(env.step(&[0.0], &mut seen).unwrap());
            assert_eq!(steps.last().unwrap().terminated, seen[1].abs() > 0.2);
        }
        let (last, others) = steps.split_last().unwrap();
        assert_eq!(last.reward, at_the_end);
        assert!(!others.is_empty() && others.iter().all(|s| s.reward == 1.0));
    }
    // The motor clamps at 3.
    let after = |action: f64| {
        let mut env = InvertedPendulum::new(Version::V5);
        env.step(&[action], &mut [0.0; 4]).unwrap();
        env.state()
    };
    assert_eq!(after(3.0), after(300.0));
    assert_ne!(after(3.0), after(2.9));
}

/// Values of Gymnasium 1.4.0's Pendulum-v1, to the precision of its 32-bit observations.
#[test]
fn the_rod_moves_as_gymnasiums() {
    let mut env = Pendulum::new();
    env.restore(&[3.0, -0.5]).unwrap();
    let mut seen = [0.0; 3];
    // action, cosine, sine, velocity, reward
    let expected = [
        (0.5, -0.9876145720481873, 0.15689967572689056, -0.31915998458862305, -9.02525),
        (-2.5, -0.9833703637123108, 0.18161146342754364, -0.5014852285385132, -8.918692969741965),
        (2.0, -0.9827724099159241, 0.1848200410604477, -0.06527664512395859, -8.784638820510075),
        (1.75, -0.985737144947052, 0.16829213500022888, 0.3358383774757385, -8.739674183145851),
        (-0.25, -0.9890872836112976, 0.14733067154884338, 0.42455747723579407, -8.84707267250017),
        (2.0, -0.9943749308586121, 0.10591713339090347, 0.8350554704666138, -8.984406492656243),
        (2.0, -0.9989699721336365, 0.04537592828273773, 1.2144933938980103, -9.28784918967992),
        (2.0, -0.9994869232177734, -0.03202927112579346, 1.548525333404541, -9.737960912311882),
        (2.0, -0.9924131035804749, -0.1229480430483818, 1.8245033025741577, -9.913143402339594),
        (-1.0, -0.9795920848846436, -0.20099596679210663, 1.5822923183441162, -9.444213742342711),
    ];
    for (action, cos, sin, velocity, reward) in expected {
        let step = env.step(&[action], &mut seen).unwrap();
        for (a, b) in seen.iter().zip([cos, sin, velocity]) {
            assert!((a - b).abs() < 5e-7, "{a} {b}");
        }
        assert!((step.reward - reward).abs() < 1e-12, "{} {reward}", step.reward);
        assert!(!step.terminated && !step.truncated);
    }
}

#[test]
fn a_time_limit_truncates_and_starts_over() {
    let mut env = TimeLimit::new(InvertedPendulum::new(Version::V4), 3).unwrap();
    let mut seen = [0.0; 4];
    for _ in 0..2 {
        env.reset(0, &mut seen).unwrap();
        let cut: Vec<bool> = (0..4).map(|_| env.step(&[0.0], &mut seen).unwrap().truncated).collect();
        assert_eq!(cut, [false, false, true, true]);
    }
    let mut state = env.state();
    *state.last_mut().unwrap() = 0.5;
    assert!(env.restore(&state).is_err());
    *state.last_mut().unwrap() = 2.0;
    env.restore(&state).unwrap();
    assert!(env.step(&[0.0], &mut seen).unwrap().truncated);
}

#[test]
fn spaces_know_what_lies_in_them() {
    let space = Space::new(vec![-1.0, 0.0], vec![1.0, f64::INFINITY]).unwrap();
    assert!(space.contains(&[1.0, 1e300]) && !space.contains(&[1.0]) && !space.contains(&[0.0, -0.1]));
    assert!(Space::new(vec![f64::NAN], vec![1.0]).is_err() && Space::new(vec![], vec![1.0]).is_err());
}
