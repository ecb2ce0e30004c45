//! A program for tests to run as a job: its first argument says what it is to do.
//!
//! What it finds wrong it returns as an error, which ends it with status 1 and the text on standard
//! error; the last line of a rank that found nothing wrong is `done`.

#![allow(
    clippy::print_stdout,
    reason = "the tests that start it read what it prints"
)]

mod adopting;
mod allocations;
mod comparing;
mod counted;
mod failing;
mod finalized;
mod hosts;
mod in_flight;
mod left_behind;
mod little_memory;
mod long_text;
mod one_sided;
mod outcome;
mod overruns;
mod shared_windows;
mod sharing;
mod silent;
mod surviving;
mod threads;
mod unreceived;
mod world;

use outcome::Outcome;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["unreceived", how] => unreceived::main(how),
        ["world"] => world::main(),
        ["failing", how] => failing::main(how),
        ["threads", "main-only", level] => threads::main_only(level),
        ["threads", "message-elsewhere"] => threads::message_elsewhere(),
        ["threads", "one-at-a-time", file] => threads::one_at_a_time(file),
        ["finalized"] => finalized::every_operation(),
        ["kept", how] => finalized::kept(how),
        ["last-handle-elsewhere"] => finalized::last_handle_elsewhere(),
        ["hosts"] => hosts::main(),
        ["hosts", "node-shared"] => hosts::node_shared(),
        ["hosts", "in-two-steps"] => hosts::in_two_steps(),
        ["hosts", "for-ever"] => hosts::for_ever(),
        ["hosts", "watched", folder, seconds] => hosts::watched(folder, seconds),
        ["comparing", "end"] => comparing::end(),
        ["comparing", "end-elsewhere"] => comparing::end_elsewhere(),
        ["comparing", "nonblocking", which] => comparing::nonblocking(which),
        ["comparing", "refused", which] => comparing::refused(which),
        ["comparing", "apart", which] => comparing::apart(which),
        ["comparing", "uncompared"] => comparing::uncompared(),
        ["comparing", "begun-alone"] => comparing::begun_alone(),
        ["comparing", "scope"] => comparing::scope(),
        ["counted", what] => counted::main(what),
        ["allocations", most] => allocations::main(most),
        ["adopting", "opened"] => adopting::opened_by_others(),
        ["adopting", "loaded"] => adopting::loaded_by_others(),
        ["adopting", "finalized"] => adopting::finalized_by_others(),
        ["sharing", file, handles] => sharing::main(file, handles),
        ["shared-windows", "any-order"] => shared_windows::dropped_in_any_order(),
        ["shared-windows", "after-the-end"] => shared_windows::after_the_end(),
        ["shared-windows", "panic"] => shared_windows::panic_in_a_phase(),
        ["surviving", "given back"] => surviving::given_back(),
        ["surviving", "reducing"] => surviving::reducing(),
        ["surviving", how] => surviving::main(how),
        ["pending"] => surviving::pending(),
        ["silent", "late"] => silent::late(),
        ["silent", "compared"] => silent::compared(),
        ["silent", "last", rank] => silent::last(rank),
        ["silent", "late-at-the-end", checks] => silent::late_at_the_end(checks),
        ["silent", "asked-for"] => silent::asked_for(),
        ["silent", what] => silent::main(what),
        ["left-behind"] => left_behind::main(),
        ["left-behind", "windows"] => left_behind::windows(),
        ["in-flight", "elsewhere", folder, level] => in_flight::elsewhere(folder.as_ref(), level),
        ["in-flight", "after-the-patience", folder] => {
            in_flight::after_the_patience(folder.as_ref())
        }
        ["in-flight", "left", folder, level] => in_flight::left(folder.as_ref(), level),
        ["little-memory", bytes] => little_memory::main(bytes),
        ["long-text"] => long_text::main(),
        ["long-text", "name"] => long_text::name_of_the_world(),
        ["one-sided", "apart"] => one_sided::apart(),
        ["one-sided", "closes-alone"] => one_sided::closes_alone(),
        ["one-sided", "kept"] => one_sided::kept(),
        ["one-sided", "in-any-order", turn] => one_sided::in_any_order(turn),
        ["one-sided", "many", rounds] => one_sided::many(rounds),
        ["one-sided", "words"] => one_sided::words(),
        ["one-sided", how] => one_sided::failing(how),
        ["overruns", "own", form, from] => overruns::own(form, from),
        ["overruns", "given back", form] => overruns::given_back(form),
        ["overruns", "pipeline"] => overruns::pipeline(),
        ["overruns", "adopted", form, from] => overruns::adopted(form, from),
        other => Err(format!("nothing is known of {other:?}").into()),
    }?;
    println!("done");
    Ok(())
}
