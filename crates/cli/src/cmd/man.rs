//! `tractable man`: writes the manual pages, one for the program and one for every verb.

use crate::console::note;
use crate::report::{Outcome, file_error};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  tractable man ~/.local/share/man/man1")]
pub struct Args {
    /// Folder for the pages; created if missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn run(args: &Args, program: clap::Command) -> Outcome {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).map_err(file_error(folder, "make this folder"))?;
    clap_mangen::generate_to(program, folder).map_err(file_error(folder, "write pages there"))?;
    note(&format!(
        "written to {}; read one with `man -l {}`",
        folder.display(),
        folder.join("tractable.1").display()
    ));
    Ok(())
}
