//! Tests of the help: every verb has examples, and every example is a command that this program takes.

use super::Cli;
use clap::{Command, CommandFactory, Parser};

/// Every command without commands below it, by its full name.
fn leaves(command: &Command, name: &str, found: &mut Vec<(String, Command)>) {
    let below: Vec<&Command> = command.get_subcommands().filter(|c| c.get_name() != "help").collect();
    if below.is_empty() {
        found.push((name.into(), command.clone()));
    }
    for c in below {
        leaves(c, &format!("{name} {}", c.get_name()), found);
    }
}

/// Words as a shell makes them, so far as our examples need it.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty())),
            c => word.push(c),
        }
    }
    words.extend(Some(word).filter(|w| !w.is_empty()));
    words
}

fn examples(help: &str) -> impl Iterator<Item = &str> {
    let lines = help.lines().filter_map(|l| l.strip_prefix("  ").filter(|l| l.starts_with("tractable ")));
    // What follows several blanks is an explanation, what follows `>` is the shell's.
    lines.map(|l| l.split("   ").next().unwrap_or(l)).map(|l| l.split(" > ").next().unwrap_or(l))
}

#[test]
fn flags_do_not_contradict_each_other() {
    Cli::command().debug_assert();
}

#[test]
fn every_verb_has_examples_that_are_right() {
    let command = Cli::command();
    let mut verbs = Vec::new();
    leaves(&command, "tractable", &mut verbs);
    assert!(verbs.len() > 20, "{}", verbs.len());
    // Groups of commands have examples too.
    let groups = command.get_subcommands().cloned().map(|c| (format!("tractable {}", c.get_name()), c));
    let all = verbs.into_iter().chain(groups).chain([("tractable".into(), command.clone())]);
    let without_own = ["tractable data"];
    for (name, verb) in all.filter(|(name, _)| !without_own.contains(&&name[..])) {
        let help = verb.get_after_help().map(|h| h.to_string()).unwrap_or_default();
        assert!(help.starts_with("Example"), "{name}: its help begins with an example, not with {help:?}");
        let mut own = 0;
        for example in examples(&help) {
            if let Err(e) = Cli::try_parse_from(words(example)) {
                panic!("{name}: `{example}`: {e}");
            }
            own += usize::from(example.starts_with(&name));
        }
        // A task's examples may be those of another task.
        assert!(own > 0 || name.starts_with("tractable rl "), "{name} has no example of its own");
    }
}

#[test]
fn seeds_are_one_flag() {
    let mut verbs = Vec::new();
    leaves(&Cli::command(), "tractable", &mut verbs);
    for (name, verb) in verbs {
        let seed = verb.get_arguments().find(|a| a.get_id() == "seed");
        let Some(seed) = seed else { continue };
        assert_eq!((seed.get_long(), seed.get_short()), (Some("seed"), None), "{name}");
        assert_eq!(seed.get_value_names().map(|v| v[0].as_str()), Some("N"), "{name}");
    }
}
