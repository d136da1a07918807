//! `tractable rl`: runs, files, resuming to the same bits, playing, mistakes.

use crate::run::Place;
use serde_json::Value;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn a_run_leaves_agents_logs_and_a_curve() {
    let place = Place::new();
    let out = place.ok(&[
        "rl", "pendulum", "--steps", "3e3", "--seeds", "2", "--seed", "5", "--json", "-q", "-o", "run",
    ]);
    let said = lines(&out);
    assert_eq!(said.len(), 3);
    assert_eq!((&said[0]["seed"], &said[1]["seed"]), (&5.into(), &6.into()));
    assert_eq!(said[0]["steps"], 3072);
    assert!(said[2]["mean"].as_f64().unwrap() < -500.0);
    for file in ["config.json", "result.json", "curve.svg", "curve.png"] {
        assert!(!place.read(&format!("run/{file}")).is_empty());
    }
    let episodes = place.text("run/seed-6/episodes.csv");
    assert_eq!(episodes.lines().next(), Some("step,length,return"));
    assert_eq!(episodes.lines().count(), 1 + 3072 / 200);
    assert_eq!(lines(&place.text("run/seed-6/progress.jsonl")).len(), 3);
    // TensorBoard: a record for the version and one a rollout, each with its length in front.
    let events = place.read("run/seed-6/events.out.tfevents.0.tractable");
    let (mut at, mut records) = (0, 0);
    while at < events.len() {
        at += 16 + u64::from_le_bytes(events[at..at + 8].try_into().unwrap()) as usize;
        records += 1;
    }
    assert_eq!((at, records), (events.len(), 4));
}

#[test]
fn a_resumed_run_ends_in_the_same_bits() {
    let place = Place::new();
    let train = |steps: &str, out: &str, more: &[&str]| {
        place.ok(&[&["rl", "inverted-pendulum", "--steps", steps, "-q", "-o", out], more].concat());
    };
    train("3e3", "whole", &[]);
    train("2e3", "parts", &[]);
    // As after a crash: lines that are ahead of the agent, the last one torn.
    let path = place.path("parts/seed-0/progress.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{{\"step\":9999,")).unwrap();
    // Runs of before say where their agents learned.
    let config = place.text("parts/config.json").replacen('{', "{ \"device\": \"cuda\",", 1);
    place.write("parts/config.json", &config);
    train("3e3", "parts", &["--resume"]);
    for file in ["agent.safetensors", "episodes.csv"] {
        assert!(
            place.read(&format!("whole/seed-0/{file}")) == place.read(&format!("parts/seed-0/{file}")),
            "{file}"
        );
    }
    assert_eq!(lines(&place.text("parts/seed-0/progress.jsonl")).len(), 3);
}

#[test]
fn what_was_learned_can_be_played() {
    let place = Place::new();
    place.ok(&["rl", "half-cheetah", "--steps", "1024", "-q", "-o", "run"]);
    let play = [
        "rl",
        "play",
        "run",
        "--episodes",
        "2",
        "--json",
        "--picture",
        "run.svg",
        "--frames",
        "20",
        "--force",
    ];
    let first = place.ok(&play);
    assert_eq!(lines(&first)[0]["returns"].as_array().unwrap().len(), 2);
    assert_eq!(first, place.ok(&play));
    let svg = place.text("run.svg");
    assert!(svg.starts_with("<svg ") && svg.matches("<line ").count() >= 7 && !svg.contains("NaN"));
}

#[test]
fn mistakes_are_one_line() {
    let place = Place::new();
    place.ok(&["rl", "pendulum", "--steps", "1024", "-q", "-o", "run"]);
    let refused = |args: &[&str], says: &str| {
        let ran = place.run(args);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains(says) && ran.err.lines().count() == 1, "{ran:?}");
    };
    refused(&["rl", "pendulum", "--steps", "1024", "-q", "-o", "run"], "--resume");
    refused(&["rl", "pendulum", "--steps", "2.5"], "2e6");
    refused(&["rl", "pendulum", "--set", "colour=3"], "discount");
    refused(&["rl", "pendulum", "--set", "batch=0", "--steps", "1024", "-q"], "batch");
    refused(&["rl", "half-cheetah", "--steps", "2048", "-q", "-o", "run", "--resume"], "another task");
    refused(&["rl", "play", "nowhere"], "config.json");
    refused(&["rl", "play", "run", "--agent", "7"], "seed-7");
}

/// A mass on a rail with a motor.
const SLIDER: &str = "<mujoco><option timestep='0.01'/><worldbody><body><joint name='x' type='slide' axis='1 0 0' \
    damping='1'/><geom size='0.1' mass='1'/></body></worldbody><actuator><motor joint='x' gear='5'/></actuator></mujoco>";

#[test]
#[ignore = "needs a real MuJoCo"]
fn mujoco_moves_a_model_of_ones_own() {
    let place = Place::new();
    place.write("slider.xml", SLIDER);
    place.write("still.xml", "<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>");
    let own = ["rl", "mujoco", "--model", "slider.xml", "--reward", "-abs(q1 - 0.5) - 0.01*a1^2", "-q"];
    let short = ["--episode", "50", "--ends", "abs(q1) - 3", "--steps"];
    let train = |steps: &str, more: &[&str]| place.json(&[&own[..], &short, &[steps], more].concat());
    let whole = train("3072", &["-o", "whole"]);
    assert!(whole.last().unwrap()["mean"].as_f64().unwrap().is_finite());
    train("2048", &["-o", "parts"]);
    train("3072", &["-o", "parts", "--resume"]);
    let agent = |run: &str| place.read(&format!("{run}/seed-0/agent.safetensors"));
    assert!(agent("whole") == agent("parts"));
    assert_eq!(
        place.json(&["rl", "play", "whole", "--episodes", "2"])[0]["returns"].as_array().unwrap().len(),
        2
    );
    for picture in ["slider.svg", "slider.png"] {
        place.ok(&["rl", "play", "whole", "--episodes", "1", "--frames", "20", "--picture", picture]);
        assert!(place.read(picture).len() > 1000, "{picture}");
    }
    assert_eq!(place.text("slider.svg").matches("<line ").count(), 1, "one geom");
    let refused = |args: &[&str], says: &str| place.refused(&[&["rl", "mujoco"], args].concat(), &[says]);
    refused(&["--model", "slider.xml", "--reward", "q2"], "only 1 of these");
    refused(&["--model", "slider.xml", "--reward", "q1 +"], "a value is missing");
    refused(&["--model", "slider.xml", "--reward", "q1", "--action-bound", "-1"], "action-bound");
    refused(&["--model", "still.xml", "--reward", "q1"], "no actuator");
    refused(&["--model", "nowhere.xml", "--reward", "q1"], "nowhere.xml");
    refused(&["--model", "/dev/zero", "--reward", "q1"], "is not a file");
}

/// Short episodes are the same by both engines; in a cheetah's thousand steps the last digit of a contact grows.
#[test]
#[ignore = "needs a real MuJoCo"]
fn mujoco_runs_the_tasks_too() {
    let place = Place::new();
    let average = |task: &str, engine: &str| {
        let lines = place.json(&["rl", task, "--steps", "1024", "--engine", engine, "-q"]);
        lines[0]["average"].as_f64().unwrap()
    };
    assert_eq!(average("inverted-pendulum", "embedded"), average("inverted-pendulum", "mujoco"));
    assert!(average("half-cheetah", "mujoco").is_finite());
}
