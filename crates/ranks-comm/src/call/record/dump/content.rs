//! The content of a rank's dump. `ranks postmortem` reads it.

use super::json::Object;
use crate::call::inflight_calls::CallInFlight;
use crate::call::record::IN_PROCESS;
use crate::call::record::call::{ANY, NONE};
use crate::call::record::kind::{Class, Ranks};
use crate::call::record::recorder::Recorder;
use crate::call::record::ring::{Entry, Ring};

/// The version of the format.
const VERSION: u32 = 1;

/// The whole dump of a rank of the world and the size of the world, with its reason and the error.
pub(super) fn dump(
    (rank, size): (usize, usize),
    (reason, error): (&str, Option<&str>),
    communicators: impl IntoIterator<Item = String>,
    under_way: impl IntoIterator<Item = String>,
) -> String {
    let library = ranks_mpi_sys::loaded().map_or(IN_PROCESS, ranks_mpi_sys::Loaded::name);
    Object::default()
        .plain("version", VERSION)
        .plain("rank", rank)
        .plain("size", size)
        .text("host", &ranks_trace::host())
        .plain("pid", std::process::id())
        .text("library", library)
        .text("reason", reason)
        .text_if("error", error)
        .list("communicators", communicators)
        .list("under_way", under_way)
        .end()
}

/// A communicator, and its last calls.
pub(super) fn communicator(recorder: &Recorder) -> String {
    Object::default()
        .plain("id", recorder.id)
        .text("name", &recorder.name())
        .plain("size", recorder.size)
        .plain("rank", recorder.rank)
        .list("world_ranks", recorder.world_ranks.iter())
        .list("collectives", calls(&recorder.collectives))
        .list("messages", calls(&recorder.messages))
        .plain("begun", recorder.collectives.begun())
        .plain("ended", recorder.collectives.ended())
        .end()
}

fn calls(ring: &Ring) -> Vec<String> {
    let ended = ring.ended();
    let entries = ring.entries();
    entries.iter().map(|entry| called(entry, ended)).collect()
}

/// One call. A field that is absent is unknown, or does not belong to the call; an absent peer or
/// tag is any.
fn called(entry: &Entry, ended: u64) -> String {
    let call = entry.call;
    let kind = call.kind;
    let known = |value: i32| (value != ANY && value != NONE).then_some(value);
    let collective = kind.class == Class::Collective;
    let named = kind.ranks != Ranks::None;
    let nobody = !collective && named && call.peer == NONE;
    Object::default()
        .plain("number", entry.number)
        .text("operation", kind.operation)
        .text_if("element", kind.element.map(|(name, _)| name()))
        .plain_if("width", kind.element.map(|(_, width)| width))
        .text_if("reduction", kind.reduction.map(|name| name()))
        .plain_if("items", kind.has_items().then_some(call.items))
        .plain_if("root", known(call.peer).filter(|_| collective && named))
        .plain_if("peer", known(call.peer).filter(|_| !collective && named))
        .plain_if("tag", known(call.tag).filter(|_| !collective && named))
        .plain_if("nobody", nobody.then_some(true))
        .plain("done", entry.number < ended)
        .end()
}

/// A call that has not returned.
pub(super) fn under_way(call: &CallInFlight) -> String {
    Object::default()
        .text("operation", call.what.operation())
        .plain("communicator", call.recorder.id)
        .plain_if("number", call.number)
        .plain("seconds", call.started.elapsed().as_secs_f64())
        .list(
            "waits_for",
            call.waits_for()
                .and_then(|peer| call.recorder.world_rank(peer)),
        )
        .end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::record::{Call, Kind};

    static RECV: Kind = Kind::message::<f64>("MPI_Recv");
    static BCAST: Kind = Kind::moving::<u8>("MPI_Bcast").rooted();

    #[test]
    fn a_call_says_what_it_is_of() {
        let ring = Ring::new();
        ring.begin(Call::of(&BCAST).items(10).root(3));
        ring.end();
        ring.begin(Call::of(&RECV).items(5));
        let calls = calls(&ring);
        assert_eq!(
            calls,
            [
                r#"{"number":0,"operation":"MPI_Bcast","element":"u8","width":1,"items":10,"root":3,"done":true}"#,
                r#"{"number":1,"operation":"MPI_Recv","element":"f64","width":8,"items":5,"nobody":true,"done":false}"#,
            ]
        );
    }
}
