//! `tractable man`: writes the manual pages, one for the program and one for every verb.

use crate::progress::note;
use crate::report::{Outcome, file_error};
use clap::CommandFactory;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  tractable man ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Folder for the pages; made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).map_err(file_error(folder, "make this folder"))?;
    clap_mangen::generate_to(crate::Cli::command(), folder)
        .map_err(file_error(folder, "write pages there"))?;
    note(&format!(
        "written to {}; read one with `man -l {}`",
        folder.display(),
        folder.join("tractable.1").display()
    ));
    Ok(())
}
