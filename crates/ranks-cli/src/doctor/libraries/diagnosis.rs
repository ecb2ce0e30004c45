//! Diagnoses of the MPIs of a machine.

use std::path::Path;

use ranks_launch::{Family, LinkerScript, Mismatch, Undecided};

use super::{Finding, Installed, Libraries};

/// The words of a dynamic linker for a file that is not there.
const NOT_THERE: &str = "No such file";

/// The words of ranks for a file that is none of this processor.
const OF_ANOTHER: &str = "made for another processor";

impl Libraries {
    pub(in super::super) fn findings(&self) -> Vec<Finding> {
        let mut list = Vec::new();
        if let Some(choice) = &self.choice {
            let what = match self.linker_scripts.first() {
                Some(script) if self.instead.is_none() => {
                    format!("{choice}; {}", Self::is_script(&script.file))
                }
                _ => choice.clone(),
            };
            list.push(Finding::trouble(what, self.other_choice()));
        } else if self.used().is_none() && !self.in_process {
            list.push(self.nothing_opens());
        }
        list.extend(self.refused());
        list.extend(self.wrong_launcher());
        list.extend(self.no_launcher());
        list.extend(self.several());
        list.extend(self.environment.malformed.iter().map(|malformed| {
            Finding::note(
                malformed.to_string(),
                format!("unset {}, or start anew", malformed.variable),
            )
        }));
        list
    }

    fn serving(&self) -> impl Iterator<Item = &Installed> {
        self.installations.iter().filter(|mpi| mpi.answer.is_ok())
    }

    fn names(&self) -> Vec<&str> {
        self.serving().map(|mpi| mpi.name.as_str()).collect()
    }

    /// A sentence that says why a linker script cannot be opened.
    fn is_script(file: &Path) -> String {
        format!(
            "{} is a linker script: text for compilers, which no program can open",
            file.display()
        )
    }

    /// Another value for `RANKS_MPI`.
    fn other_choice(&self) -> String {
        if let Some(instead) = &self.instead {
            return format!("RANKS_MPI={}", instead.display());
        }
        if let Some(variable) = self.relative {
            return format!("unset {variable}, or write its path from the root");
        }
        match self.names().first() {
            Some(name) => format!("RANKS_MPI={name}, or unset it"),
            None => "unset RANKS_MPI, or name the prefix of an MPI with a lib folder".to_owned(),
        }
    }

    /// No library serves: why not?
    fn nothing_opens(&self) -> Finding {
        let names = self.names();
        let there = self.tried.iter().find_map(|tried| {
            let reason = tried.answer.as_ref().err()?;
            // Of a file that is there, the words are about a library that it needs.
            let is_there = !reason.contains(NOT_THERE) || tried.file.is_file();
            is_there.then_some((tried, reason))
        });
        if let Some(script) = self.linker_scripts.first() {
            let LinkerScript {
                file, libraries, ..
            } = script;
            let what = format!("{}; and no MPI library is found", Self::is_script(file));
            let remedy = match (libraries.first(), names.first()) {
                (Some(library), _) => {
                    format!("name the library that it stands for: RANKS_MPI={}", library.display())
                }
                (None, Some(name)) => format!("RANKS_MPI={name}"),
                (None, None) => {
                    "install the library that it stands for (Debian: apt-get install libopenmpi3 or libmpich12), or name one: \
                     RANKS_MPI=/path/to/libmpi.so.12"
                        .to_owned()
                }
            };
            return Finding::trouble(what, remedy);
        }
        if let Some((tried, reason)) = there {
            let what = format!(
                "no MPI library can be opened; {}: {reason}",
                tried.file.display()
            );
            let other = names.first().unwrap_or(&"/path/to/libmpi.so.12");
            let install = if reason.contains(OF_ANOTHER) {
                "install one for this processor".to_owned()
            } else {
                format!(
                    "install what it lacks (in a container: bind it; `ldd {}` outside names all)",
                    tried.file.display()
                )
            };
            return Finding::trouble(
                what,
                format!("{install}, or name another one: RANKS_MPI={other}"),
            );
        }
        let chosen = std::env::var(super::CHOICE).ok();
        let chosen = chosen.map_or_else(String::new, |name| format!(" (RANKS_MPI is {name})"));
        if let Some(name) = names.first() {
            let what = format!(
                "no MPI is where programs look for it{chosen}, and {} are installed: {}",
                names.len(),
                names.join(", ")
            );
            return Finding::trouble(
                what,
                format!("RANKS_MPI={name}, or start programs with ranks run --mpi {name}"),
            );
        }
        if self.environment.launcher.is_some() {
            return Finding::trouble(
                format!(
                    "{}, and no MPI library is found{chosen}: such a program ends with an error",
                    self.started
                ),
                "install the MPI of that launcher (in a container: bind its prefix, at the place that it has outside), or name one: \
                 RANKS_MPI=/path/to/libmpi.so.12",
            );
        }
        let so = if self.unless_asked {
            "ranks are threads of one process, on this machine only"
        } else {
            "no program starts"
        };
        Finding::trouble(
            format!("no MPI library is found{chosen}: {so}"),
            "install one (Debian: apt-get install openmpi-bin libopenmpi3, or mpich; pip: pip install mpich; a cluster: module load …), \
             or name one: RANKS_MPI=/path/to/libmpi.so.12",
        )
    }

    /// A program that is started as this one is refused, before any MPI is opened.
    fn refused(&self) -> impl Iterator<Item = Finding> {
        // That an MPI is not there is told with the libraries.
        let reason = self.undecided.as_ref();
        let reason = reason.filter(|reason| !matches!(reason, Undecided::NoSuchMpi { .. }));
        let texts = reason.map(Undecided::to_string).into_iter();
        texts.chain(self.settings.iter().cloned()).map(|text| {
            let (what, remedy) = text.split_once("; ").unwrap_or((&text, ""));
            Finding::trouble(what, remedy)
        })
    }

    /// The launcher that started us does not belong to the library.
    fn wrong_launcher(&self) -> Option<Finding> {
        let mismatch = self.mismatch()?;
        let text = mismatch.to_string();
        let (what, remedy) = text.split_once("; ").unwrap_or((&text, ""));
        let own = match (&self.launcher, mismatch) {
            (None, _) => String::new(),
            (Some(own), Mismatch::Family { .. }) => {
                format!(", or start the program with {}", own.file.display())
            }
            // It speaks of that launcher already.
            (Some(own), _) => format!("; that mpiexec is {}", own.file.display()),
        };
        Some(Finding::trouble(what, format!("{remedy}{own}")))
    }

    /// A library that no `mpiexec` belongs to.
    fn no_launcher(&self) -> Option<Finding> {
        let used = self.used()?;
        let started = self.environment.launcher.is_some();
        (self.launcher.is_none() && !started).then(|| {
            Finding::trouble(
                format!("no mpiexec belongs to {} ({})", used.name, used.path.display()),
                "install its launcher (Debian: openmpi-bin, mpich), use srun inside of Slurm, or name another MPI in RANKS_MPI",
            )
        })
    }

    /// Several MPIs, of which it is left to chance which one a program gets.
    fn several(&self) -> Option<Finding> {
        let used = self.used()?;
        let family: Family = used.family.as_deref()?.parse().ok()?;
        let in_path = self.in_path.as_ref();
        let chosen = std::env::var_os(super::CHOICE).is_some_and(|value| !value.is_empty());
        // A program opens the MPI of the launcher that has started it.
        let started = self.environment.launcher.is_some();
        let of_other =
            |path: &&super::Launcher| path.family.is_some_and(|other| !other.starts(family));
        if let Some(path) = in_path.filter(of_other)
            && let Some(other) = path.family
        {
            let run = if self.run_takes_used() {
                "ranks run and "
            } else {
                ""
            };
            let what = format!(
                "two MPIs: {run}programs without a launcher (RANKS_BACKEND=mpi) take {} ({}); \
                 mpiexec in PATH is {other}'s ({})",
                used.name,
                used.path.display(),
                path.file.display()
            );
            let launcher = self
                .launcher
                .as_ref()
                .map_or(Path::new("its mpiexec"), |own| &own.file);
            let remedy = format!(
                "start programs with {}, or with ranks run; or choose the other one: RANKS_MPI={}",
                launcher.display(),
                other.word()
            );
            return Some(if started && !chosen {
                Finding::note(what, remedy)
            } else {
                Finding::trouble(what, remedy)
            });
        }
        let names = self.names();
        let name = *names.first().filter(|_| names.len() > 1)?;
        let what = format!("{} MPIs are installed: {}", names.len(), names.join(", "));
        if chosen {
            return None;
        }
        if started || in_path.is_some_and(|path| path.family.is_some()) {
            return Some(Finding::note(
                what,
                "name one where it matters: RANKS_MPI=NAME, or ranks run --mpi NAME",
            ));
        }
        let own = self.launcher.as_ref().and_then(|own| own.of.as_deref());
        Some(Finding::trouble(
            format!(
                "{what}; neither RANKS_MPI nor a launcher says which, and programs happen to open {} ({})",
                used.name,
                used.path.display()
            ),
            format!(
                "name one: RANKS_MPI={}, or ranks run --mpi NAME",
                own.unwrap_or(name)
            ),
        ))
    }
}
