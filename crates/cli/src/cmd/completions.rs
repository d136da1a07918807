//! `tractable completions`: prints a script that completes commands and flags in a shell.

use crate::report::Outcome;
use clap_complete::Shell;
use std::io::Write;

#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  tractable completions bash > ~/.local/share/bash-completion/completions/tractable"
)]
pub struct Args {
    /// The shell to write for
    shell: Shell,
}

pub fn run(args: &Args, mut program: clap::Command) -> Outcome {
    // Into memory first: the generator panics when it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "tractable", &mut script);
    Ok(std::io::stdout().lock().write_all(&script)?)
}
