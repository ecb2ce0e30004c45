//! `cargo xtask first-program`: types what README and the guide say of a first program, from
//! `cargo new` to two ranks of each MPI, and compares what is printed.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use ranks_harness::workspace;

use crate::Outcome;
use crate::command::succeeded;
use crate::package::{empty, target};

/// The MPIs to run on, and where crates come from.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The MPIs, as `cargo xtask mpi list` names them: two, of the families that README names.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "openmpi-5.0.11,mpich-5.0.2"
    )]
    mpi: Vec<String>,
    /// Takes crates from where cargo keeps them.
    #[arg(long)]
    offline: bool,
}

/// The pages, and the heading behind which each begins.
const PAGES: [(&str, &str); 2] = [
    ("README.md", "## A first program"),
    ("docs/guide/first-program.md", "# The first program"),
];

/// The command that is taken from this workspace: its installation is no part of a first program.
const INSTALL: &str = "cargo install";

/// A command, and the lines that it prints, if the page says so.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    command: String,
    prints: Option<Vec<String>>,
}

/// A part of a page, in its order.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Step(Step),
    /// `src/main.rs`.
    Program(String),
}

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let root = workspace::root();
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--quiet", "--package", "ranks-cli"]);
    succeeded(cargo.args(arguments.offline.then_some("--offline")))?;
    // Not within the workspace, to which `cargo new` would add the crate.
    let scratch = format!("ranks-first-program-{}", std::process::id());
    let scratch = empty(&std::env::temp_dir().join(scratch))?;
    let typist = Typist::new(&root, &scratch.join("mpi"), arguments)?;
    let mut folder = scratch.clone();
    for (page, heading) in PAGES {
        let text =
            fs::read_to_string(root.join(page)).map_err(|error| format!("{page}: {error}"))?;
        let begun = Instant::now();
        let mut commands = 0;
        for part in parts(&text, heading) {
            match part {
                Part::Program(program) => fs::write(folder.join("src/main.rs"), program)?,
                Part::Step(step) if step.command.starts_with(INSTALL) => {}
                Part::Step(step) => {
                    commands += step.command.split(" && ").count();
                    folder = typist.types(&step, &folder)?;
                }
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        println!("{page}: {commands} commands, {seconds:.1} s");
    }
    fs::remove_dir_all(scratch)?;
    Ok(ExitCode::SUCCESS)
}

/// What types commands, in the surroundings of a user.
struct Typist {
    /// Each with the first `mpiexec` of its `PATH`.
    paths: Vec<OsString>,
    root: PathBuf,
    /// The folder that has the MPIs, and no others.
    mpis: PathBuf,
    offline: bool,
}

impl Typist {
    fn new(
        root: &Path,
        mpis: &Path,
        arguments: &Arguments,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        fs::create_dir(mpis)?;
        let before = std::env::var_os("PATH").unwrap_or_default();
        let mut paths = Vec::new();
        for mpi in crate::mpi::matrix(&arguments.mpi, !arguments.offline)? {
            let bin = mpi.launcher.parent().unwrap_or(Path::new("/"));
            symlink(bin.parent().unwrap_or(bin), mpis.join(&mpi.name))?;
            let first = [target().join("debug"), bin.to_path_buf()].into_iter();
            let path = first.chain(std::env::split_paths(&before));
            paths.push(std::env::join_paths(path)?);
        }
        Ok(Self {
            paths,
            root: root.to_path_buf(),
            mpis: mpis.to_path_buf(),
            offline: arguments.offline,
        })
    }

    /// Types a command in a folder, for each MPI if it starts ranks by `mpiexec`; returns the
    /// folder that it leads to.
    fn types(&self, step: &Step, folder: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
        let of_each = step.command.starts_with("mpiexec");
        let mut leads_to = folder.to_path_buf();
        for path in &self.paths[..if of_each { self.paths.len() } else { 1 }] {
            let begun = Instant::now();
            let mut shell = Command::new("bash");
            shell
                .args(["-e", "-c", &format!("{}\necho; pwd", step.command)])
                .current_dir(folder)
                .env("PATH", path)
                .env("RANKS", &self.root)
                .env("RANKS_MPI_DIR", &self.mpis)
                .env("CARGO_NET_OFFLINE", self.offline.to_string())
                .env_remove("CARGO_TARGET_DIR")
                // Open MPI lets root start jobs then.
                .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
                .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            let said = succeeded(&mut shell)?;
            let (said, end) = said.trim_end().rsplit_once('\n').unwrap_or_default();
            leads_to = PathBuf::from(end);
            println!(
                "{:6.1} s  $ {}",
                begun.elapsed().as_secs_f64(),
                step.command
            );
            print!("{}", said.trim_start());
            if let Some(expected) = &step.prints {
                let printed = comparable(said.lines());
                let expected = comparable(expected.iter().map(String::as_str));
                if printed != expected {
                    let what = format!("{}: printed {printed:?}, not {expected:?}", step.command);
                    return Err(what.into());
                }
            }
        }
        Ok(leads_to)
    }
}

/// Lines in any order, without the name and the version of a library: a page shows what was
/// installed where it was written.
fn comparable<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let of_any = |line: &str| {
        let mut line = line.trim().to_owned();
        for name in ["Open MPI ", "MPICH "] {
            if let Some((before, rest)) = line.split_once(name) {
                let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
                line = format!("{before}an MPI{rest}");
            }
        }
        line
    };
    let mut lines: Vec<String> = lines.map(of_any).filter(|line| !line.is_empty()).collect();
    lines.sort();
    lines
}

/// The parts of a page from that heading to the next: commands and the first program.
fn parts(page: &str, heading: &str) -> Vec<Part> {
    let mut lines = page.lines().skip_while(|line| *line != heading).skip(1);
    let mut parts = Vec::new();
    while let Some(line) = lines.next() {
        let level = heading.split_once(' ').map_or("", |(level, _)| level);
        if line.starts_with(&format!("{level} ")) {
            break;
        }
        let Some(language) = line.strip_prefix("```") else {
            continue;
        };
        let block: Vec<&str> = lines
            .by_ref()
            .take_while(|line| !line.starts_with("```"))
            .collect();
        let has_program = parts.iter().any(|part| matches!(part, Part::Program(_)));
        match language {
            "sh" => parts.extend(block.iter().map(|line| {
                let command = line.split(" #").next().unwrap_or_default().trim();
                Part::Step(Step {
                    command: command.to_owned(),
                    prints: None,
                })
            })),
            "rust" if !has_program => parts.push(Part::Program(block.join("\n"))),
            "console" => parts.extend(steps(&block)),
            _ => {}
        }
    }
    parts
}

/// The commands of a block, each with what it prints.
fn steps(block: &[&str]) -> Vec<Part> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                prints: Some(Vec::new()),
            });
        } else if let Some(prints) = steps.last_mut().and_then(|step| step.prints.as_mut()) {
            prints.push((*line).to_owned());
        }
    }
    steps.into_iter().map(Part::Step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_its_commands_and_its_first_program() {
        let page = "# Page\n```sh\nnot_this\n```\n## First\n```sh\ncargo new a && cd a    # a crate\n```\n\
            ```rust\nfn main() {}\n```\n```rust\nnot this\n```\n```console\n$ run\none\ntwo\n$ again\n```\n## Next\n\
            ```sh\nnor_this\n```\n";
        let step = |command: &str, prints: Option<&[&str]>| {
            Part::Step(Step {
                command: command.to_owned(),
                prints: prints.map(|lines| lines.iter().map(ToString::to_string).collect()),
            })
        };
        let expected = [
            step("cargo new a && cd a", None),
            Part::Program("fn main() {}".to_owned()),
            step("run", Some(&["one", "two"])),
            step("again", Some(&[])),
        ];
        assert_eq!(parts(page, "## First"), expected);
    }

    #[test]
    fn libraries_and_the_order_of_lines_may_differ() {
        let one = ["rank 1 on Open MPI 4.1.4", "rank 0 on Open MPI 4.1.4", ""];
        let other = ["rank 0 on MPICH 5.0.2", "rank 1 on MPICH 5.0.2"];
        assert_eq!(comparable(one.into_iter()), comparable(other.into_iter()));
        let fewer = ["rank 0 on MPICH 5.0.2"];
        assert_ne!(comparable(one.into_iter()), comparable(fewer.into_iter()));
    }
}
