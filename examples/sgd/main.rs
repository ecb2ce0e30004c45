//! Data-parallel SGD: gradients are summed over ranks while the next ones are computed.
//!
//! ```text
//! RANKS_NP=4 sgd                      # four ranks in this process
//! mpiexec -n 4 sgd                    # four processes
//! mpiexec -n 2 sgd --backend nccl     # two processes, with a GPU each: what MPI is for here is to tell NCCL who takes part
//! ```

use ranks_examples::report::Outcome;
use ranks_examples::sgd;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let benchmark = match arguments[..] {
        [] | ["--backend", "host"] => sgd::on_hosts,
        ["--backend", "nccl"] => sgd::on_gpus,
        _ => return Err("usage: sgd [--backend host|nccl]".into()),
    };
    ranks::run(|world| benchmark(&world)?.conclude("sgd", &world))
}
