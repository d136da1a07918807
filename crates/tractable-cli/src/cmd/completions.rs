//! `tractable completions`: prints a script that completes commands and flags in a shell.

use crate::report::Outcome;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;

#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  tractable completions bash > ~/.local/share/bash-completion/completions/tractable"
)]
pub(crate) struct Args {
    /// The shell to write for
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Outcome {
    // Into memory first: the generator panics when it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "tractable", &mut script);
    Ok(std::io::stdout().lock().write_all(&script)?)
}
