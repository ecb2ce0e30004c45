//! Element types of messages: any `bytemuck::Pod`.
//!
//! A message should be received as the type that was sent. In process, numbers of one type that
//! arrive for numbers of another are an error of the receiver,
//! [`ErrorKind::Type`](crate::ErrorKind::Type). Bytes, arrays and structs may be received as any
//! type of which they are a whole number. Over MPI a message has no element type: there a length
//! that does not fit is an error, and no other mismatch is detected. Collectives compare the names
//! of types under [`Checks::Collective`](crate::Checks::Collective).
//!
//! Sending needs a value without uninitialised bytes, receiving needs that any bytes make a value;
//! [`Pod`] is both. `bool`, `char`, enums, references and padded structs are refused by the
//! compiler; they are sent [packed](Pack), by calls of their own:
//!
//! ```compile_fail,E0277
//! fn receive_a_bool(world: &ranks::Communicator) {
//!     let mut flag = [false];
//!     world.recv(&mut flag, 0, 0).unwrap(); // a byte 2 would make an invalid value
//! }
//! ```
//! ```compile_fail,E0277
//! fn send_a_string(world: &ranks::Communicator) {
//!     world.send(&[String::from("x")], 0, 0).unwrap(); // a pointer means nothing elsewhere
//! }
//! ```
//! ```compile_fail,E0277
//! fn receive_a_char(world: &ranks::Communicator) {
//!     world.recv_vec::<char>(0, 0).unwrap();
//! }
//! ```
//! ```compile_fail,E0277
//! #[derive(Clone, Copy)]
//! struct Padded { small: u8, large: u64 }
//! fn send_padding(world: &ranks::Communicator) {
//!     world.send(&[Padded { small: 1, large: 2 }], 0, 0).unwrap(); // seven bytes of it are uninitialised
//! }
//! ```
//! ```compile_fail,E0277
//! fn receive_nonzero(world: &ranks::Communicator) {
//!     world.recv_vec::<std::num::NonZeroU8>(0, 0).unwrap();
//! }
//! ```
//! ```compile_fail,E0277
//! fn receive_references(world: &ranks::Communicator) {
//!     world.recv_vec::<&'static u8>(0, 0).unwrap();
//! }
//! ```
//! ```compile_fail,E0277
//! fn receive_an_enum(world: &ranks::Communicator) {
//!     world.irecv_vec::<std::cmp::Ordering>(0, 0).unwrap(); // most bytes are none of its three values
//! }
//! ```
//! ```compile_fail,E0277
//! fn receive_a_bool_later(world: &ranks::Communicator) {
//!     world.irecv(vec![false], 0, 0).unwrap();
//! }
//! ```
//!
//! A message has a length in bytes, which does not tell how many elements without bytes it has: the
//! compiler refuses messages of these too. Collectives, whose lengths are given, take them.
//!
//! ```compile_fail,E0080
//! fn send_units(world: &ranks::Communicator) {
//!     world.send(&[(); 5], 0, 0).unwrap(); // they would arrive as none
//! }
//! # ranks::run(|world| Ok::<_, ranks::Error>(send_units(&world))).unwrap();
//! ```
//! ```compile_fail,E0080
//! fn send_packed_units(world: &ranks::Communicator) {
//!     world.send_packed(&[((), ()); 5], 0, 0).unwrap();
//! }
//! # ranks::run(|world| Ok::<_, ranks::Error>(send_packed_units(&world))).unwrap();
//! ```

pub(crate) mod pack;

pub use bytemuck::{Pod, Zeroable};
pub use pack::{Invalid, Pack};

/// Items for derives of `ranks`: checks, each of a field by how it is read, and packed fields.
#[doc(hidden)]
pub mod derive {
    use bytemuck::{Pod, Zeroable};

    pub use super::pack::Pair;

    /// The size of a field, which must be plain data.
    #[must_use]
    pub const fn size_of_pod<S, T: Pod>(_: fn(S) -> T) -> usize {
        size_of::<T>()
    }

    /// Accepts a field whose zeroed bytes are a value.
    pub const fn is_zeroable<S, T: Zeroable>(_: fn(S) -> T) {}
}
