//! Several processes under `mpirun`; compiled only with the feature `mpi`.

use crate::run::{Place, Ran};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs a shell command in this many processes with `mpirun`; `$T` is the program, `$R` the rank of a process.
fn mpirun(place: &Place, ranks: usize, shell: &str) -> Command {
    let mut command = Command::new("mpirun");
    let shell = format!("T={}; R=$OMPI_COMM_WORLD_RANK; {shell}", env!("CARGO_BIN_EXE_tractable"));
    command
        .args(["-q", "--oversubscribe", "-n", &ranks.to_string(), "sh", "-c", &shell])
        // Containers have only the user root.
        .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")])
        .current_dir(place.path("."))
        .stdin(Stdio::null());
    command
}

fn run(place: &Place, ranks: usize, shell: &str) -> Ran {
    let output = mpirun(place, ranks, shell).output().expect("mpirun is installed");
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn ok(place: &Place, ranks: usize, shell: &str) -> Ran {
    let ran = run(place, ranks, shell);
    assert_eq!(ran.code, 0, "{shell}: {}", ran.err);
    ran
}

/// Exactly one line gives the reason.
fn refused(ran: &Ran, why: &str) {
    let lines: Vec<&str> = ran.err.lines().filter(|l| l.starts_with("error: ")).collect();
    assert!(ran.code == 2 && lines.len() == 1 && lines[0].contains(why), "{ran:?}");
}

fn means(place: &Place, run: &str) -> Vec<f64> {
    let rows = place.json(&["predict", run, "data.csv"]);
    rows.iter().map(|row| row["mean"][0].as_f64().unwrap()).collect()
}

const NETWORK: &str = "train data.csv --target y --hidden 8 --epochs 3 --batch 11 --calibration 0";

#[test]
fn shared_batches_give_the_network_of_one_process() {
    let place = Place::new();
    let train: Vec<&str> = NETWORK.split(' ').collect();
    place.ok(&[&train[..], &["--device", "reference", "-o", "one"]].concat());
    let said = ok(&place, 2, &format!("$T {NETWORK} --device reference -o two"));
    assert_eq!(said.out.matches("run two").count(), 1, "one process prints: {}", said.out);
    let [one, two] = ["one", "two"].map(|run| means(&place, run));
    assert_eq!(one.len(), 60);
    for (one, two) in one.iter().zip(&two) {
        assert!((one - two).abs() <= 1e-6 * one.abs(), "{one} {two}");
    }
    // Single precision: the same bits every time, and the same file whether resumed or not.
    ok(&place, 3, &format!("$T {NETWORK} -o a"));
    ok(&place, 3, &format!("$T {} -o b", NETWORK.replace("--epochs 3", "--epochs 1")));
    ok(&place, 3, "$T train --resume --epochs 3 -o b");
    assert!(place.read("a/model.safetensors") == place.read("b/model.safetensors"));
    ok(&place, 2, &format!("$T {NETWORK} --sync 2 -o merged"));
    assert_eq!(means(&place, "merged").len(), 60);
}

#[test]
fn what_needs_no_exchange_is_the_same() {
    let place = Place::new();
    place.ok(&["train", "data.csv", "--target", "y", "-o", "one"]);
    ok(&place, 3, "$T train data.csv --target y -o many");
    assert!(place.read("one/model.safetensors") == place.read("many/model.safetensors"));
    let alone = place.ok(&["predict", "one", "data.csv"]);
    assert_eq!(ok(&place, 4, "$T predict one data.csv").out, alone);
    ok(&place, 2, "$T predict one data.csv -o said.csv");
    assert_eq!(place.text("said.csv"), alone);
    place.ok(&"train digits --net mlp --epochs 1 --limit 400 -o images".split(' ').collect::<Vec<_>>());
    let attack = "attack images --images 70 --target random";
    place.ok(&[&attack.split(' ').collect::<Vec<_>>()[..], &["-o", "alone"]].concat());
    ok(&place, 3, &format!("$T {attack} -o together"));
    assert!(place.read("alone/adversarial.npy") == place.read("together/adversarial.npy"));
    let rl = "rl pendulum --steps 2048 --seeds 3";
    place.ok(&[&rl.split(' ').collect::<Vec<_>>()[..], &["-o", "agents"]].concat());
    ok(&place, 2, &format!("$T {rl} -o shared"));
    for seed in 0..3 {
        let file = |run: &str| place.read(&format!("{run}/seed-{seed}/agent.safetensors"));
        assert!(file("agents") == file("shared"), "seed {seed}");
    }
}

#[test]
fn what_differs_is_refused_in_one_line() {
    let place = Place::new();
    place.write("data0.csv", &place.text("data.csv"));
    place.write("data1.csv", &place.text("data.csv").replace("30", "31"));
    let train = "--target y --hidden 8 --epochs 1";
    refused(
        &run(&place, 2, &format!("$T train data$R.csv {train} -o run")),
        "worker 1: its settings or data differs",
    );
    refused(
        &run(&place, 2, &format!("$T train data.csv {train} --seed $R -o run")),
        "settings or data differs",
    );
    let other =
        format!("cp $T ./other$R; [ $R = 0 ] || echo >> ./other$R; ./other$R train data.csv {train} -o run");
    refused(&run(&place, 2, &other), "its program or processor differs");
    refused(&run(&place, 2, "$T train missing.csv --target y -o run"), "missing.csv");
    refused(&run(&place, 2, "$T train - --target y -o run"), "standard input");
    // Only one process cannot read its file.
    refused(
        &run(&place, 2, &format!("cp data.csv only0.csv; $T train only$R.csv {train} -o run")),
        "only1.csv",
    );
    assert!(!place.path("run").exists());
    // Fewer rows than processes.
    place.write("few.csv", &place.text("data.csv").lines().take(4).collect::<Vec<_>>().join("\n"));
    for sync in ["batch", "2"] {
        let few = format!("$T train few.csv {train} --calibration 0 --force --sync {sync} -o few");
        ok(&place, 5, &few);
    }
}

#[test]
fn a_process_that_dies_ends_the_job_and_the_last_checkpoint_is_whole() {
    let place = Place::new();
    let train = "train data.csv --target y --hidden 64,64 --epochs 100000 --calibration 0 -o run";
    let shell = format!("echo $$ > pid$R; exec $T {train}");
    let mut job = mpirun(&place, 2, &shell).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    let state = place.path("run/state.safetensors");
    while !(state.exists() || place.path("run/model.safetensors").exists()) {
        assert!(began.elapsed() < Duration::from_secs(60), "no checkpoint");
        std::thread::sleep(Duration::from_millis(50));
    }
    let pid = place.text("pid1");
    assert!(Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
    while job.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(120), "the job keeps running");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!job.wait().unwrap().success());
    let done = place.text("run/metrics.jsonl").lines().count();
    let ran = ok(&place, 2, &format!("$T train --resume --epochs {} -o run --json", done + 2));
    assert!(ran.out.contains("\"type\":\"end\""), "{}", ran.out);
}

/// Different models, tasks, verbs and flags in the processes of one job.
#[test]
fn every_verb_refuses_what_differs() {
    let place = Place::new();
    for run in ["run0", "run1"] {
        let seed = &run[3..];
        let train = format!("{NETWORK} --seed {seed} -o {run}");
        place.ok(&train.split(' ').collect::<Vec<_>>());
    }
    refused(&run(&place, 2, "$T predict run$R data.csv -o said.csv"), "settings or data differs");
    assert!(!place.path("said.csv").exists());
    let task = "if [ $R = 0 ]; then $T rl pendulum --steps 1024 --seeds 2; else $T rl half-cheetah --steps 1024 --seeds 2; fi";
    refused(&run(&place, 2, task), "settings or data differs");
    let flag = "if [ $R = 0 ]; then $T predict run0 data.csv; else $T predict run0 data.csv --bogus; fi";
    refused(&run(&place, 2, flag), "verb or one of its flags differs");
    refused(&run(&place, 2, "$T learn run0 data.csv"), "uses one process");
    assert!(!place.path("run0/stream.json").exists());
}

/// A signal to a process other than the first ends the run after an epoch, as an interruption.
#[test]
fn a_signal_to_any_process_is_an_interruption() {
    let place = Place::new();
    let train = NETWORK.replace("--epochs 3", "--epochs 100000");
    let shell = format!("echo $$ > pid$R; exec $T {train} -o run");
    let job = mpirun(&place, 2, &shell).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !place.path("run/metrics.jsonl").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "no epoch");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(Command::new("kill").args(["-INT", place.text("pid1").trim()]).status().unwrap().success());
    let output = job.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(130) && err.contains("epochs are saved"), "{output:?}");
    // What was saved is a whole epoch: training to the next one gives the network of a run without a break.
    let done = place.text("run/metrics.jsonl").lines().count();
    ok(&place, 2, &format!("$T train --resume --epochs {} -o run", done + 1));
    ok(
        &place,
        2,
        &format!("$T {} -o whole", NETWORK.replace("--epochs 3", &format!("--epochs {}", done + 1))),
    );
    assert!(place.read("run/model.safetensors") == place.read("whole/model.safetensors"));
}
