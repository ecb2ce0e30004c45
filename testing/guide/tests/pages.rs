//! The pages of the guide agree with the sources that they speak of.
#![allow(clippy::unwrap_used, reason = "a test ends where something is wrong")]

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use ranks_harness::faults;
use ranks_harness::workspace::root;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The pages of the guide, by name, with their text.
fn pages() -> Vec<(String, String)> {
    let folder = fs::read_dir(root().join("docs/guide")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages = names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md");
    pages
        .map(|name| {
            let text = read(&format!("docs/guide/{name}"));
            (name, text)
        })
        .collect()
}

/// The blocks of a language, each with the number of its first line.
fn blocks(text: &str, language: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, bool, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(word)) => open = Some((number + 2, word == language, String::new())),
            (None, None) => {}
            (Some(_), Some(_)) => {
                let (first, is_wanted, block) = open.take().unwrap();
                if is_wanted {
                    found.push((first, block));
                }
            }
            (Some((_, _, block)), None) => {
                block.push_str(line);
                block.push('\n');
            }
        }
    }
    found
}

#[test]
fn every_page_is_in_the_summary_and_its_programs_are_tested() {
    let (summary, tested) = (
        read("docs/guide/SUMMARY.md"),
        read("testing/guide/src/lib.rs"),
    );
    for (name, _) in pages() {
        assert!(summary.contains(&format!("({name})")), "{name}: SUMMARY.md");
        let path = format!("\"docs/guide/{name}\"");
        assert!(tested.contains(&path), "{name}: testing/guide/src/lib.rs");
    }
}

#[test]
fn scripts_have_the_syntax_of_bash() {
    let mut scripts = 0;
    for (name, text) in pages() {
        for (line, script) in blocks(&text, "sh") {
            let mut bash = Command::new("bash")
                .arg("-n")
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            bash.stdin
                .take()
                .unwrap()
                .write_all(script.as_bytes())
                .unwrap();
            let output = bash.wait_with_output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}, line {line}: {told}");
            scripts += 1;
        }
    }
    assert!(scripts > 0, "there are scripts");
}

/// The pages show manifests of Kubernetes by including their files.
#[test]
fn manifests_of_kubernetes_are_yaml_that_says_what_ranks_need() {
    let running = read("docs/guide/running.md");
    let manifest = |name: &str| -> serde_json::Value {
        let included = format!("{{{{#include kubernetes/{name}}}}}");
        let blocks = blocks(&running, "yaml");
        let shown = blocks.iter().any(|(_, block)| block.trim() == included);
        assert!(shown, "{name} is not shown");
        let text = read(&format!("docs/guide/kubernetes/{name}"));
        serde_yaml_ng::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let job = manifest("indexed-job.yaml");
    assert_eq!(
        (&job["apiVersion"], &job["kind"]),
        (&"batch/v1".into(), &"Job".into())
    );
    assert_eq!(job["spec"]["completionMode"], "Indexed");
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "Never");
    let variables = pod["containers"][0]["env"].as_array().unwrap();
    let variables = variables.iter().map(|variable| {
        let text = |key: &str| variable[key].as_str().unwrap();
        (text("name"), text("value"))
    });
    let variables: Vec<_> = variables.collect();
    assert_eq!(
        variables,
        [("RANKS_BACKEND", "inprocess"), ("RANKS_NP", "4")]
    );

    let job = manifest("mpi-job.yaml");
    let kind = (&job["apiVersion"], &job["kind"]);
    assert_eq!(kind, (&"kubeflow.org/v2beta1".into(), &"MPIJob".into()));
    let replicas = &job["spec"]["mpiReplicaSpecs"];
    let (launcher, worker) = (&replicas["Launcher"], &replicas["Worker"]);
    let slots = job["spec"]["slotsPerWorker"].as_u64().unwrap();
    let ranks = slots * worker["replicas"].as_u64().unwrap();
    let command = &launcher["template"]["spec"]["containers"][0]["command"];
    assert_eq!(launcher["replicas"], 1);
    assert_eq!(
        (&command[0], &command[1]),
        (&"mpiexec".into(), &"-n".into())
    );
    assert_eq!(command[2], ranks.to_string());
    let pod = &worker["template"]["spec"];
    let mounted = &pod["containers"][0]["volumeMounts"][0];
    assert_eq!(mounted["mountPath"], "/dev/shm");
    assert_eq!(mounted["name"], pod["volumes"][0]["name"]);
}

/// The table of `from-rsmpi.md` has rsmpi's 58 programs; each names the file of the test that does
/// what the program does, but for the two that start processes.
#[test]
fn each_program_of_rsmpi_has_a_test() {
    let page = read("docs/guide/from-rsmpi.md");
    let (_, table) = page.split_once("| example | here | test |").unwrap();
    let mut programs = 0;
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let name = row.split('`').nth(1).unwrap();
        programs += 1;
        let link = row.split_once("[test](../../");
        if name.starts_with("spawn") {
            assert!(link.is_none(), "{name}");
            continue;
        }
        let (path, _) = link.and_then(|(_, rest)| rest.split_once(')')).unwrap();
        let test = format!("fn rsmpi_{name}(");
        assert!(read(path).contains(&test), "{path}: {test}");
    }
    assert_eq!(programs, 58);
}

/// Each known fault is told in the section of its library, in the words with which its reason
/// begins, and with its link if that is of an issue.
#[test]
fn known_issues_has_each_known_fault() {
    const SECTIONS: [(&str, &str); 3] = [
        ("mpich", "MPICH"),
        ("openmpi", "Open MPI"),
        ("impi", "Intel MPI"),
    ];
    const WORDS: usize = 8;
    let page = read("docs/guide/known-issues.md").replace('`', "");
    let page: Vec<&str> = page.split_whitespace().collect();
    let page = page.join(" ").to_lowercase();
    let faults = faults::known().unwrap();
    assert!(faults.len() > 10, "{} faults were read", faults.len());
    for fault in faults {
        let (library, link) = (fault.library, fault.link);
        let (_, title) = SECTIONS.iter().find(|(name, _)| *name == library).unwrap();
        let title = format!("## {} ", title.to_lowercase());
        let (_, section) = page.split_once(&title).unwrap();
        let section = section.split(" ## ").next().unwrap();
        let reason: Vec<&str> = fault.reason.split_whitespace().take(WORDS).collect();
        let reason = reason.join(" ").to_lowercase();
        assert!(section.contains(&reason), "{library}: {reason}");
        let is_of_an_issue = link.rsplit('/').next().unwrap().parse::<u32>().is_ok();
        assert!(
            !is_of_an_issue || section.contains(&link),
            "{library}: {link}"
        );
    }
}

/// The table of `performance.md` says what the gates of `cargo xtask bench calls` allow.
#[test]
fn performance_has_the_gates_of_calls() {
    const ROWS: [(&str, &str); 43] = [
        ("rank", "`rank`"),
        ("barrier", "`barrier`"),
        ("bcast", "`bcast` of one `f64`"),
        ("reduce", "`reduce`"),
        ("allreduce", "`allreduce` of one `f64`"),
        ("gather", "`gather`, `scatter` alike"),
        ("allgather", "`allgather`, `alltoall` alike"),
        ("reduce_scatter_block", "`reduce_scatter_block`"),
        ("scan", "`scan`"),
        (
            "gatherv",
            "`gatherv_into`, `scatterv_into` alike, one block",
        ),
        ("allgatherv", "`allgatherv_into`, one block"),
        ("alltoallv", "`alltoallv_into`, one block each way"),
        ("iallreduce", "`iallreduce` in a scope, and its end"),
        ("pallreduce", "persistent `allreduce`, start and wait"),
        ("iprobe", "`iprobe`"),
        ("sendrecv", "`sendrecv` to oneself"),
        ("isend_recv", "`isend` of a vector, `recv`, wait"),
        ("irecv_send", "`irecv` of a vector, `send`, wait"),
        ("psendrecv", "a persistent receive and send, start and wait"),
        ("isendrecv", "`isend`, `irecv` in a scope, and its end"),
        ("waitall64", "64 requests, completed together"),
        ("put", "`put`, 8 bytes"),
        ("put_flush", "`put` and `flush`"),
        ("get_flush", "`get` and `flush`"),
        ("accumulate_flush", "`accumulate` and `flush`"),
        ("fetch_and_op", "`fetch_and_op`"),
        ("compare_and_swap", "`compare_and_swap`"),
        ("attach", "a slice of what a peer shares"),
        ("reduce_scatter", "`reduce_scatter`, one block"),
        ("exscan", "`exscan`"),
        ("neighbor_allgather", "`neighbor_allgather` in a ring"),
        ("neighbor_alltoallv", "`neighbor_alltoallv` in a ring"),
        ("ibarrier", "`ibarrier`, and the wait"),
        ("ibcast", "`ibcast` in a scope, and its end"),
        ("sendrecv_replace", "`sendrecv_replace` to oneself"),
        ("ssend", "`irecv` in a scope, `ssend`, and its end"),
        ("bsend", "`bsend`, `recv`"),
        ("probe", "`isend` in a scope, `probe`, `recv`, and its end"),
        ("mprobe", "the same with `mprobe`"),
        ("get_accumulate", "`get_accumulate` and `flush`"),
        ("flush_local", "`flush_local`"),
        ("lock", "`lock`, `unlock`"),
        ("fence", "`fence`"),
    ];
    let page = read("docs/guide/performance.md");
    let gates: toml::Table = read("xtask/src/bench/gates.toml").parse().unwrap();
    let entries = |kind: &str| gates[kind].as_array().unwrap();
    let number = |value: &toml::Value| value.as_integer().unwrap().to_string();
    for (call, row) in ROWS {
        let of_call = |gate: &&toml::Value| gate["call"].as_str() == Some(call);
        let gate = entries("gate").iter().find(of_call).unwrap();
        let cells = page
            .lines()
            .find_map(|line| line.strip_prefix(&format!("| {row} | ")));
        let cells: Vec<&str> = cells.unwrap().split(" | ").collect();
        let is_excepted = |exception: &&toml::Value| {
            let calls = exception["calls"].as_array().unwrap();
            calls.iter().any(|name| name.as_str() == Some(call))
        };
        let more = entries("exception").iter().filter(is_excepted);
        let more: Vec<String> = more.map(|entry| number(&entry["limit"])).collect();
        for (key, cell) in [
            ("standard", cells[4]),
            ("shims", cells[5].trim_end_matches(" |")),
        ] {
            let limit = match gate.get("total") {
                Some(total) => format!("{} in all", number(total)),
                None => number(&gate[key]),
            };
            let told = cell.split(" (").next().unwrap();
            let holds = told == limit || more.iter().any(|limit| limit == told);
            assert!(holds, "{call}: {told} for {limit}");
        }
    }
}

/// As examples of documentation, tests on ranks would only be compiled.
#[test]
fn the_tests_on_ranks_that_pages_show_run_here() {
    assert!(read("docs/guide/testing.md").contains(include_str!("ring.rs")));
    assert!(read("docs/guide/examples.md").contains(include_str!("sums.rs")));
}
