//! Spans of the accesses to windows, as a subscriber sees them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ranks_comm::{Communicator, Result, look_for_subscriber};
use ranks_rma_window::Window;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};

/// Records the fields of each span, a line each.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0 += &format!("{}={value:?} ", field.name());
    }
}

impl Subscriber for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "ranks::comm"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields(String::new());
        span.record(&mut fields);
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push(fields.0);
        Id::from_u64(notes.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[ranks_test::ranks(2)]
fn an_access_is_told_with_its_target_and_its_bytes(world: Communicator) -> Result<()> {
    let notes = Notes::default();
    with_default(notes.clone(), || {
        assert!(look_for_subscriber());
        let mut window = Window::<f64>::allocate(&world, 8)?.fence()?;
        let next = (world.rank() + 1) % world.size();
        window.step(|ops| ops.put(&[1.5; 3], next, 2))?;
        let mut theirs = [0.0; 5];
        window.step(|ops| ops.get(&mut theirs, next, 0))?;
        assert_eq!(theirs, [0.0, 0.0, 1.5, 1.5, 1.5]);
        Ok(())
    })?;
    let next = (world.rank() + 1) % world.size();
    let notes = notes.0.lock().unwrap_or_else(PoisonError::into_inner);
    for (operation, count) in [("MPI_Put", 3), ("MPI_Get", 5)] {
        let line = notes
            .iter()
            .find(|line| line.contains(&format!("op=\"{operation}\"")));
        let line = line.unwrap_or_else(|| panic!("no span of {operation}: {notes:?}"));
        let told = format!(
            "peer={next} dtype=\"f64\" count={count} bytes={} ",
            8 * count
        );
        assert!(line.contains(&told), "{line}");
    }
    Ok(())
}
