//! The last line of an example, which is for machines:
//! `result heat2d ranks=4 verified=yes seconds=0.012 library=…`.

/// The report of an example on its run.
#[derive(Debug, PartialEq)]
pub(crate) struct Reported {
    pub(crate) ranks: usize,
    pub(crate) verified: String,
    pub(crate) seconds: f64,
    /// The carrier of the messages, in the library's own words.
    pub(crate) library: String,
}

impl Reported {
    /// Finds and reads the line in all that `example` printed.
    pub(crate) fn find(example: &str, output: &str) -> Option<Reported> {
        let start = format!("result {example} ");
        let line = output
            .lines()
            .rev()
            .find_map(|line| line.trim().strip_prefix(&start))?;
        let (fields, library) = line.split_once("library=")?;
        let value = |key: &str| {
            fields
                .split_whitespace()
                .find_map(|field| field.split_once('=').filter(|(name, _)| *name == key))
        };
        Some(Reported {
            ranks: value("ranks")?.1.parse().ok()?,
            verified: value("verified")?.1.to_owned(),
            seconds: value("seconds")?.1.parse().ok()?,
            library: library.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_among_others() {
        let output =
            "x\nresult heat2d ranks=4 verified=yes seconds=0.012 library=Open MPI 5.0.11\nbye\n";
        let found = Reported::find("heat2d", output).unwrap();
        assert_eq!(found.ranks, 4);
        assert_eq!(found.verified, "yes");
        assert_eq!(found.seconds, 0.012);
        assert_eq!(found.library, "Open MPI 5.0.11");
        assert_eq!(Reported::find("nas_ep", output), None);
    }

    #[test]
    fn half_a_line_is_no_result() {
        assert_eq!(
            Reported::find("heat2d", "result heat2d ranks=4 verif"),
            None
        );
        assert_eq!(Reported::find("heat2d", ""), None);
    }
}
