//! Stands for `mpi/` until ranks-mpi-sys compiles.
use crate::communicator::{Communicator, Comparison};
use crate::element::Pod;
use crate::error::Result;
use crate::source::{Destination, Source};
use crate::tag::Tag;
use crate::thread_level::Gate;
pub(crate) static GATE: Gate = Gate::new();
#[derive(Debug, Clone, Copy)]
pub enum Comm {}
#[derive(Debug, Clone, Copy)]
pub enum Status {}
#[derive(Debug, Clone, Copy)]
pub enum Message {}
impl Status {
    pub(crate) fn source(&self) -> Option<usize> {
        match *self {}
    }
    pub(crate) fn tag(&self) -> Option<i32> {
        match *self {}
    }
    pub(crate) fn bytes(&self) -> Option<usize> {
        match *self {}
    }
}
type S = crate::status::Status;
impl Message {
    pub(crate) fn recv<T: Pod>(self, _: &'static str, _: &S, _: &mut [T]) -> Result<S> {
        match self {}
    }
    pub(crate) fn recv_vec<T: Pod>(self, _: &'static str, _: &S) -> Result<(Vec<T>, S)> {
        match self {}
    }
    pub(crate) fn discard(self, _: &S) {
        match self {}
    }
}
pub(crate) fn start(
    _: &ranks_launch::Environment,
    _: Option<crate::thread_level::ThreadLevel>,
) -> Result<(crate::runtime::Runtime, bool)> {
    Err(crate::error::Error::new(
        crate::error::ErrorKind::Load,
        "MPI_Init",
        "not yet",
    ))
}
impl Comm {
    pub(crate) fn end(self) -> Result<()> {
        match self {}
    }
    pub(crate) fn world_ranks(&self, _: usize) -> Result<Vec<usize>> {
        match *self {}
    }
    pub(crate) fn compare(&self, _: &Comm) -> Result<Comparison> {
        match *self {}
    }
    pub(crate) fn name(&self) -> Result<String> {
        match *self {}
    }
    pub(crate) fn set_name(&self, _: &str) -> Result<()> {
        match *self {}
    }
    pub(crate) fn free(&self) -> Result<()> {
        match *self {}
    }
    pub(crate) fn abort(&self, _: i32) -> ! {
        match *self {}
    }
    pub(crate) fn send<T: Pod>(&self, _: &[T], _: Destination, _: i32) -> Result<()> {
        match *self {}
    }
    pub(crate) fn ssend<T: Pod>(&self, _: &[T], _: Destination, _: i32) -> Result<()> {
        match *self {}
    }
    pub(crate) fn recv<T: Pod>(&self, _: &mut [T], _: Source, _: Tag) -> Result<S> {
        match *self {}
    }
    pub(crate) fn recv_vec<T: Pod>(&self, _: Source, _: Tag) -> Result<(Vec<T>, S)> {
        match *self {}
    }
    pub(crate) fn sendrecv<T: Pod, R: Pod>(
        &self,
        _: &[T],
        _: Destination,
        _: i32,
        _: &mut [R],
        _: Source,
        _: Tag,
    ) -> Result<S> {
        match *self {}
    }
    pub(crate) fn sendrecv_replace<T: Pod>(
        &self,
        _: &mut [T],
        _: Destination,
        _: i32,
        _: Source,
        _: Tag,
    ) -> Result<S> {
        match *self {}
    }
    pub(crate) fn probe(&self, _: Source, _: Tag) -> Result<S> {
        match *self {}
    }
    pub(crate) fn iprobe(&self, _: Source, _: Tag) -> Result<Option<S>> {
        match *self {}
    }
    pub(crate) fn mprobe(&self, _: Source, _: Tag) -> Result<(Message, S)> {
        match *self {}
    }
    pub(crate) fn improbe(&self, _: Source, _: Tag) -> Result<Option<(Message, S)>> {
        match *self {}
    }
    pub(crate) fn dup(&self, _: &Communicator) -> Result<Communicator> {
        match *self {}
    }
    pub(crate) fn split(
        &self,
        _: &Communicator,
        _: Option<i32>,
        _: i32,
    ) -> Result<Option<Communicator>> {
        match *self {}
    }
    pub(crate) fn split_shared(&self, _: &Communicator, _: i32) -> Result<Option<Communicator>> {
        match *self {}
    }
    pub(crate) fn create(&self, _: &Communicator, _: &[usize]) -> Result<Option<Communicator>> {
        match *self {}
    }
}
