//! Spans of operations, as a subscriber sees them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ranks_comm::{Communicator, Error, ErrorKind, Result, look_for_subscriber};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};

use super::ranks;

/// Records its calls, a line each.
#[derive(Clone, Default)]
struct Notes {
    lines: Arc<Mutex<Vec<String>>>,
    next: Arc<AtomicU64>,
}

/// Fields in their order.
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }
}

impl Notes {
    fn write(&self, line: String) {
        self.lines().push(line);
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines())
    }
}

impl Subscriber for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "ranks::comm"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut fields = Fields(format!("new {number} {}", span.metadata().level()));
        span.record(&mut fields);
        self.write(fields.0);
        Id::from_u64(number)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(format!("event {}", event.metadata().level()));
        event.record(&mut fields);
        self.write(fields.0);
    }

    fn enter(&self, span: &Id) {
        self.write(format!("enter {}", span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        self.write(format!("exit {}", span.into_u64()));
    }
}

fn noted(
    world: &Communicator,
    what: impl FnOnce(&Communicator) -> Result<()>,
) -> Result<Vec<String>> {
    let notes = Notes::default();
    with_default(notes.clone(), || {
        assert!(look_for_subscriber());
        what(world)
    })?;
    Ok(notes.take())
}

#[test]
fn each_operation_is_a_span_with_what_was_passed() {
    ranks(2)
        .run(|world| {
            let row = world.dup()?;
            row.set_name("row")?;
            let lines = noted(&row, |row| match row.rank() {
                0 => row.send(&[1.5f64; 3], 1, 7),
                _ => row.recv(&mut [0f64; 4], 0, 7).map(drop),
            })?;
            let (op, count, bytes) = if world.rank() == 0 {
                ("MPI_Send", 3, 24)
            } else {
                ("MPI_Recv", 4, 32)
            };
            let (rank, peer) = (world.rank(), 1 - world.rank());
            let expected = format!(
                "new 1 DEBUG op=\"{op}\" backend=\"in process\" comm=\"row\" number=0 rank={rank} size=2 peer={peer} \
                 tag=7 dtype=\"f64\" count={count} bytes={bytes}"
            );
            assert_eq!(lines, [expected.as_str(), "enter 1", "exit 1"]);
            Ok::<_, Error>(())
        })
        .unwrap();
}

#[test]
fn an_error_is_an_event_in_its_span() {
    ranks(1)
        .run(|world| {
            let lines = noted(&world, |world| {
                world.isend(vec![0u8; 9], 0, 0)?.wait()?;
                let error = world.recv(&mut [0u8; 4], 0, 0).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Truncated);
                Ok(())
            })?;
            let event = "event WARN message=failed op=\"MPI_Recv\" error=message truncated";
            let at = lines.iter().position(|line| line == event);
            let at = at.unwrap_or_else(|| panic!("{lines:#?}"));
            assert!(lines[at - 1].starts_with("enter "), "{lines:#?}");
            assert_eq!(lines[at + 1], lines[at - 1].replace("enter", "exit"));
            let entered = lines
                .iter()
                .filter(|line| line.starts_with("enter "))
                .count();
            let left = lines
                .iter()
                .filter(|line| line.starts_with("exit "))
                .count();
            assert_eq!(entered, left);
            Ok::<_, Error>(())
        })
        .unwrap();
}

/// Panics whenever it is told of a span, or asked to close one.
struct Panics;

impl Subscriber for Panics {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "ranks::comm"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        panic!("at an event");
    }

    fn enter(&self, _: &Id) {
        panic!("at the beginning of a span");
    }

    fn exit(&self, _: &Id) {
        panic!("at the end of a span");
    }

    fn try_close(&self, _: Id) -> bool {
        panic!("at the close of a span");
    }
}

/// Two panics at once, of which the second came while a span was dropped by the first, ended the
/// process.
#[ranks_test::ranks(1, 2)]
fn a_subscriber_that_panics_while_a_span_is_dropped_ended_the_process(
    world: Communicator,
) -> Result<()> {
    with_default(Panics, || {
        look_for_subscriber();
        let request = world.irecv(vec![0_u8], world.rank(), 0)?;
        world.send(&[1_u8], world.rank(), 0)?;
        assert_eq!(request.wait()?.0, [1]);
        let refused = world.send(&[1_u8], world.size(), 0).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Rank);
        Ok(())
    })
}
