//! `cargo xtask cluster test`: the tests on ranks of this workspace, over hosts that are made for
//! them.

use std::path::Path;
use std::process::{Command, ExitCode};

use ranks_harness::place::{self, Place};
use ranks_harness::tally::{Cell, Failure, Row, Tally};
use ranks_harness::{faults, suites};
use ranks_launch::Installation;
use ranks_test::driver::{Binary, Case, KnownFault, Suite};

use super::lifetime::{Cluster, Life};
use super::namespaces::Right;
use super::state::State;
use super::{job, names, network, stage};
use crate::Outcome;

/// What to test, and on what.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Numbers of hosts.
    #[arg(long, num_args = 1.., value_delimiter = ',', default_values_t = [2, 3])]
    pub(super) nodes: Vec<usize>,
    /// The number of ranks on each. [default: 2 on each of two hosts, and 1 for the functions
    /// without a test on four ranks; 1 on each of three]
    #[arg(long)]
    pub(super) ppn: Option<usize>,
    /// The MPIs, as `cargo xtask mpi` names them. [default: all that are here]
    #[arg(long, num_args = 1.., value_delimiter = ',')]
    pub(super) mpi: Vec<String>,
    /// Packages to test; all of the workspace if none is named.
    #[arg(short, long, num_args = 1)]
    pub(super) package: Vec<String>,
    /// Tests whose names contain one of these; all if there is none.
    #[arg(last = true)]
    pub(super) filter: Vec<String>,
}

/// The most ranks that a job gets where nobody says how many.
pub(super) const RANKS: usize = 4;

impl Arguments {
    pub(super) fn layouts(&self) -> Vec<Layout> {
        let of = |&hosts: &usize| {
            let most = (RANKS / hosts.max(1)).max(1);
            let numbers = self.ppn.map_or(1..=most, |ppn| ppn..=ppn);
            let layouts = numbers.rev().map(move |ppn| Layout { hosts, ppn });
            // One rank alone has nobody to send to.
            layouts.filter(move |layout| self.ppn.is_some() || layout.ranks() > 1)
        };
        self.nodes.iter().flat_map(of).collect()
    }

    /// Those of `cases` that run on a layout: each function once for each number of hosts, where it
    /// has the most ranks.
    fn chosen(&self, cases: &[Case], layout: Layout, layouts: &[Layout]) -> Vec<Case> {
        let named = |case: &&Case| {
            let parts = &self.filter;
            parts.is_empty() || parts.iter().any(|part| case.name().contains(part.as_str()))
        };
        let on_more = |case: &Case| {
            layout.fuller(layouts).any(|other| {
                cases.iter().any(|twin| {
                    twin.function() == case.function()
                        && twin.ranks() == other.ranks()
                        && twin.runs_on_mpi()
                })
            })
        };
        cases
            .iter()
            .filter(|case| case.ranks() == layout.ranks() && case.runs_on_mpi())
            .filter(|case| !on_more(case))
            .filter(named)
            .cloned()
            .collect()
    }
}

/// Ranks on hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) hosts: usize,
    pub(super) ppn: usize,
}

impl Layout {
    fn ranks(self) -> usize {
        self.hosts * self.ppn
    }

    /// Those of `layouts` with more ranks on as many hosts.
    fn fuller(self, layouts: &[Layout]) -> impl Iterator<Item = &Layout> {
        layouts
            .iter()
            .filter(move |other| other.hosts == self.hosts && other.ppn > self.ppn)
    }

    pub(super) fn text(self) -> String {
        format!("{} hosts x {}", self.hosts, self.ppn)
    }
}

pub(super) fn main(arguments: &Arguments, name: &str, right: Right) -> Outcome {
    let layouts = arguments.layouts();
    if let Some(layout) = layouts.iter().find(|layout| layout.ranks() == 0) {
        return Err(format!("{} are no job", layout.text()).into());
    }
    let places = place::places(&arguments.mpi)?;
    let tests = suites::tests(&suites::binaries(suites::cargo_test(&arguments.package))?)?;
    let mut tally = Tally {
        columns: layouts.iter().map(|layout| layout.text()).collect(),
        ..Tally::default()
    };
    // Where nobody gave it a name a cluster bears that of this process, so that several run at
    // once.
    let name = match name {
        "up" => format!("test-{}", std::process::id()),
        other => other.to_owned(),
    };
    let run = Run {
        arguments,
        layouts: &layouts,
        tests: &tests,
        faults: &faults::known()?,
    };
    for place in &places {
        let row = run.on(
            place,
            |part, tally| on_cluster(part, &name, right, tally),
            &mut tally,
        );
        tally.rows.push(row);
    }
    println!("\n{}", tally.table());
    println!("{}", tally.last_line());
    Ok(if tally.total.failed > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Those of `layouts` whose ranks have a core each, or that have the fewest on so many hosts; all,
/// if they were `asked` for.
fn with_room(layouts: &[Layout], asked: bool, has_room: impl Fn(usize) -> bool) -> Vec<Layout> {
    let fewest = |layout: &Layout| {
        let mut others = layouts.iter().filter(|other| other.hosts == layout.hosts);
        others.all(|other| other.ppn >= layout.ppn)
    };
    let all = layouts.iter().copied();
    all.filter(|layout| asked || has_room(layout.ranks()) || fewest(layout))
        .collect()
}

/// What came of the tests of a part, and what the library calls itself.
pub(super) type Done = (Cell, Option<String>);

/// What is the same for all MPIs.
pub(super) struct Run<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) layouts: &'a [Layout],
    pub(super) tests: &'a [(Binary, Vec<Case>)],
    pub(super) faults: &'a [KnownFault],
}

impl Run<'_> {
    /// All layouts on one MPI, each by a function; the line of the table.
    pub(super) fn on(
        &self,
        place: &Place,
        over: impl Fn(&Part<'_>, &mut Tally) -> Result<Done, String>,
        tally: &mut Tally,
    ) -> Row {
        let mut row = Row::of(place);
        let installation = match &place.installation {
            Err(why) => {
                row.cells = Err(why.clone());
                return row;
            }
            Ok(installation) => installation,
        };
        let faults: Vec<&KnownFault> = self
            .faults
            .iter()
            .filter(|fault| fault.is_of(place.library()))
            .collect();
        let mut cells = Vec::new();
        let has_room = |ranks| !place.is_short_of_cores_over_hosts(ranks);
        let roomy = with_room(self.layouts, self.arguments.ppn.is_some(), has_room);
        for &layout in self.layouts {
            let at = format!("{}, {}", place.name, layout.text());
            if !roomy.contains(&layout) {
                tally.left_out.push(format!(
                    "{at}: what runs with fewer ranks on each; there are fewer cores, and ranks that wait there keep theirs"
                ));
                cells.push(Cell::default());
                continue;
            }
            let part = Part {
                run: self,
                installation,
                layout,
                layouts: &roomy,
                faults: &faults,
                at: &at,
            };
            let (cell, library) = over(&part, tally).unwrap_or_else(|why| {
                println!("FAILED {at}: {why}");
                tally.failures.push(Failure {
                    place: at.clone(),
                    test: "(all)".to_owned(),
                    why,
                    details: String::new(),
                });
                let failed = Cell {
                    failed: 1,
                    ..Cell::default()
                };
                (failed, None)
            });
            row.library = library.unwrap_or(row.library);
            tally.total += cell;
            cells.push(cell);
        }
        row.cells = Ok(cells);
        row
    }
}

/// All tests on one MPI and layout.
pub(super) struct Part<'a> {
    run: &'a Run<'a>,
    pub(super) installation: &'a Installation,
    pub(super) layout: Layout,
    layouts: &'a [Layout],
    faults: &'a [&'a KnownFault],
    at: &'a str,
}

impl Part<'_> {
    /// Runs them, started by a command; all hosts see the folder.
    pub(super) fn tests(
        &self,
        launch: &dyn Fn(usize) -> Command,
        folder: &Path,
        tally: &mut Tally,
    ) -> Done {
        let (mut sum, mut library) = (Cell::default(), None);
        for (binary, cases) in self.run.tests {
            let cases = self.run.arguments.chosen(cases, self.layout, self.layouts);
            if cases.is_empty() {
                continue;
            }
            let suite = Suite {
                binary,
                cases: &cases,
                ranks: self.layout.ranks(),
                faults: self.faults,
                launch,
                folder: Some(folder),
            };
            let at = format!("{}, {}", self.at, binary.name);
            let (cell, says) = suites::run(&suite, &at, tally);
            sum += cell;
            library = says.or(library);
        }
        (sum, library)
    }
}

/// Runs a part over hosts that are made for it.
fn on_cluster(
    part: &Part<'_>,
    name: &str,
    right: Right,
    tally: &mut Tally,
) -> Result<Done, String> {
    let (at, Layout { hosts, ppn }) = (part.at, part.layout);
    // That data goes over the links, and not through memory that all hosts share in truth, is seen
    // with jobs of known size.
    if !part.layout.fuller(part.layouts).any(|_| true) {
        let may_hang = part.faults.iter().any(|fault| fault.test == faults::END);
        for line in job::own(part.installation, (hosts, ppn), may_hang, name, right)? {
            println!("{at}: {line}");
        }
    }
    let cluster = Cluster::up(State::named(name)?, hosts, right, Life::Held, None)?;
    let state = cluster.state();
    let on = names::hosts(hosts);
    let launch = |ranks| on_first_host(name, &part.installation.command_on(ranks, &on));
    let (sum, library) = part.tests(&launch, state.folder(), tally);
    let traffic = network::traffic(&state.read(names::HEAD, &["cat", "/proc/net/dev"])?);
    let received: Vec<u64> = (0..hosts)
        .map(|host| traffic.get(&host).map_or(0, |traffic| traffic.received))
        .collect();
    if sum.passed > 0 && received.contains(&0) {
        return Err(format!("a host was sent nothing: {received:?} bytes"));
    }
    let megabytes = received
        .iter()
        .map(|bytes| format!("{:.1}", *bytes as f64 / 1e6));
    let megabytes: Vec<String> = megabytes.collect();
    println!(
        "{at}: {}, MB to the hosts: {}",
        sum.text(),
        megabytes.join(" ")
    );
    if sum.failed > 0 {
        println!("{at}: {}", state.told().trim_start());
    }
    Ok((sum, library))
}

/// A launcher's command as one that starts it on the first host of a cluster; program and arguments
/// are to be appended.
fn on_first_host(cluster: &str, launcher: &Command) -> Command {
    let mut command = stage("ranks-cluster");
    command
        .args(["--name", cluster, "exec", &names::host(0)])
        .arg(launcher.get_program())
        .args(launcher.get_args())
        // Intel MPI asks no shell by default.
        .env("I_MPI_HYDRA_BOOTSTRAP", "ssh");
    for (name, value) in launcher.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(nodes: &[usize], ppn: Option<usize>) -> Arguments {
        Arguments {
            nodes: nodes.to_vec(),
            ppn,
            mpi: Vec::new(),
            package: Vec::new(),
            filter: vec!["ring".to_owned()],
        }
    }

    #[test]
    fn hosts_get_as_many_ranks_as_a_job_of_four_has_room_for() {
        let ranks = |nodes: &[usize], ppn| -> Vec<usize> {
            let layouts = arguments(nodes, ppn).layouts();
            layouts.iter().map(|layout| layout.ranks()).collect()
        };
        assert_eq!(ranks(&[1], None), [4, 3, 2]);
        assert_eq!(ranks(&[2, 3, 4, 5], None), [4, 2, 3, 4, 5]);
        assert_eq!(ranks(&[2, 3], Some(1)), [2, 3]);
    }

    #[test]
    fn where_there_is_no_room_hosts_get_fewer_ranks() {
        let layouts = arguments(&[2, 3], None).layouts();
        let ranks = |asked, cores| -> Vec<usize> {
            let roomy = with_room(&layouts, asked, |ranks| ranks <= cores);
            roomy.iter().map(|layout| layout.ranks()).collect()
        };
        assert_eq!(ranks(false, 4), [4, 2, 3]);
        assert_eq!(ranks(false, 2), [2, 3]);
        assert_eq!(ranks(true, 2), [4, 2, 3]);
    }

    #[test]
    fn a_function_is_chosen_by_name_and_once_for_each_number_of_hosts() {
        let names = [
            "a::ring::np4",
            "a::ring::np3",
            "a::ring::np2",
            "a::pair_of_a_ring::np2_mpi",
            "a::other::np4",
            "a::ring::np4_in_process",
        ];
        let cases: Vec<Case> = names.iter().filter_map(|name| Case::parse(name)).collect();
        let arguments = arguments(&[2, 3], None);
        let layouts = arguments.layouts();
        let chosen = |layout| -> Vec<String> {
            let chosen = arguments.chosen(&cases, layout, &layouts);
            chosen.iter().map(|case| case.name().to_owned()).collect()
        };
        let chosen: Vec<Vec<String>> = layouts.iter().copied().map(chosen).collect();
        assert_eq!(chosen, [[names[0]], [names[3]], [names[1]]]);
    }

    #[test]
    fn a_launcher_keeps_its_words_and_variables_on_a_host() {
        let mut launcher = Command::new("mpiexec");
        launcher.args(["-n", "4"]).env("A", "b").env_remove("C");
        let command = on_first_host("x", &launcher);
        let words: Vec<_> = command
            .get_args()
            .map(|word| word.to_string_lossy())
            .collect();
        assert_eq!(words.join(" "), "--name x exec n0 mpiexec -n 4");
        let variables: Vec<_> = command.get_envs().collect();
        assert!(variables.contains(&("A".as_ref(), Some("b".as_ref()))));
        assert!(variables.contains(&("C".as_ref(), None)));
    }
}
