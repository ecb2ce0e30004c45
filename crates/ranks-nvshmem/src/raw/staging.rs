//! Operations by way of memory of the heap: copied there, done, and copied from there.

use std::ffi::c_void;
use std::ops::Range;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::Memory as At;
use ranks_raw::Dtype;
use ranks_raw::backend::bytes_of;

use super::RawNvshmem;
use crate::backend::block::{Local, Offset};
use crate::backend::{Access, Direction, Order, Reuse};
use crate::heap::arguments::part::Part as _;
use crate::team::movement::{Moved, Movement};

/// Elements, and where they are.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    count: usize,
    size: usize,
    send: Option<(*const c_void, On)>,
    recv: Option<(*mut c_void, On)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum On {
    Host,
    Device,
}

impl RawNvshmem {
    /// A place in the staging memory.
    fn place(&self, offset: usize) -> Option<Offset<'_>> {
        let place = self.home.staging.place()?;
        Some(Offset { offset, ..place })
    }

    /// Has the team do it, with so much staging memory if it has elements.
    pub(super) fn together(&self, movement: Movement, amount: Option<usize>) -> Result<()> {
        let name = movement.name(Order::Now);
        let (heap, team) = self.begin(name)?;
        let reach = heap.reach(name)?;
        let moved = match (self.place(self.home.half), self.place(0), amount) {
            (Some(dest), Some(source), Some(amount)) => Some(Moved {
                dest,
                source,
                amount,
            }),
            _ => None,
        };
        let state = team.state();
        let done = state.rest(&reach, name).and_then(|()| {
            reach.together(name, |order| {
                reach.backend.moves(state.handle, movement, moved, order)
            })
        });
        // The others may wait in the middle of it.
        done.inspect_err(|error| {
            state.in_use.lose();
            self.fail(&error.to_string());
        })
    }

    /// The kind of memory that an address is of.
    fn memory(&self, name: &'static str, address: *const c_void, bytes: usize) -> Result<On> {
        if bytes == 0 {
            return Ok(On::Host);
        }
        let error = |text: &str| Err(Error::new(ErrorKind::Argument, name, text));
        if address.is_null() {
            return error("an address is null, and the count is not zero");
        }
        let Some(context) = self.home.heap.context() else {
            return Ok(On::Host);
        };
        let memory = context.cuda().attributes_of(address);
        match memory.map_err(|error| crate::call::error::of_driver(name, error))? {
            At::Device { ordinal } if ordinal == context.device().ordinal() => Ok(On::Device),
            At::Device { .. } => error("the address is of another device than the PE's"),
            _ => Ok(On::Host),
        }
    }

    /// Checks the lengths and addresses of an operation.
    pub(super) fn parts(
        &self,
        name: &'static str,
        count: usize,
        dtype: Dtype,
        send: Option<(*const c_void, usize)>,
        recv: Option<(*mut c_void, usize)>,
    ) -> Result<Parts> {
        self.begin(name)?;
        let size = dtype.size();
        let bytes = |shares: usize| bytes_of(name, count, dtype, shares);
        let send =
            send.map(|(at, shares)| Ok::<_, Error>((at, self.memory(name, at, bytes(shares)?)?)));
        let recv =
            recv.map(|(at, shares)| Ok::<_, Error>((at, self.memory(name, at, bytes(shares)?)?)));
        Ok(Parts {
            count,
            size,
            send: send.transpose()?,
            recv: recv.transpose()?,
        })
    }

    /// Copies to the staging memory, has the team do it, and copies from there, part by part.
    ///
    /// # Safety
    /// The addresses are those of as many shares of elements as are said.
    pub(super) unsafe fn staged(
        &self,
        movement: Movement,
        parts: Parts,
        (shares_in, shares_out): (usize, Range<usize>),
    ) -> Result<()> {
        let Parts {
            count,
            size,
            send,
            recv,
        } = parts;
        // The same on all PEs, whoever sends and receives.
        let room = self.home.half / self.size / size;
        let mut first = 0;
        while first < count {
            let part = room.min(count - first);
            let bytes = part * size;
            for share in 0..shares_in {
                if let Some((at, on)) = send {
                    let at = at.wrapping_byte_add((share * count + first) * size);
                    // SAFETY: the part lies among the elements, and in the first half.
                    unsafe { self.copy_in(at, on, share * bytes, bytes)? };
                }
            }
            self.together(Movement::Barrier, None)?;
            self.together(movement, Some(bytes / movement.width()))?;
            for (to, share) in shares_out.clone().enumerate() {
                if let Some((at, on)) = recv {
                    let at = at.wrapping_byte_add((to * count + first) * size);
                    // SAFETY: as above, and in the second half.
                    unsafe { self.copy_out(at, on, self.home.half + share * bytes, bytes)? };
                }
            }
            first += part;
        }
        Ok(())
    }

    /// # Safety
    /// So many bytes may be read there.
    unsafe fn copy_in(&self, from: *const c_void, on: On, to: usize, bytes: usize) -> Result<()> {
        const NAME: &str = "RawNvshmem";
        let (heap, _) = self.begin(NAME)?;
        let (backend, my_pe) = (heap.begin(NAME)?, heap.my_pe());
        let Some(to) = self.place(to) else {
            return Ok(());
        };
        match on {
            On::Device => {
                // It is there after the barrier that follows.
                let put = Access {
                    direction: Direction::Put,
                    far: to,
                    near: Local::Device(from.addr() as u64),
                    bytes,
                    pe: my_pe,
                };
                backend.access(put, Order::Now, Reuse::After)
            }
            On::Host => {
                // SAFETY: the caller vouches for them.
                let from = unsafe { std::slice::from_raw_parts(from.cast(), bytes) };
                backend.write(from, to)
            }
        }
    }

    /// # Safety
    /// So many bytes may be written there.
    unsafe fn copy_out(&self, to: *mut c_void, on: On, from: usize, bytes: usize) -> Result<()> {
        const NAME: &str = "RawNvshmem";
        let (heap, _) = self.begin(NAME)?;
        let (backend, my_pe) = (heap.begin(NAME)?, heap.my_pe());
        let Some(from) = self.place(from) else {
            return Ok(());
        };
        match on {
            On::Device => {
                let get = Access {
                    direction: Direction::Get,
                    far: from,
                    near: Local::Device(to.addr() as u64),
                    bytes,
                    pe: my_pe,
                };
                backend.access(get, Order::Now, Reuse::After)
            }
            On::Host => {
                // Bytes that the caller has not initialised are no slice: they come by way of some
                // that are.
                let mut bytes = vec![0_u8; bytes];
                backend.read(from, &mut bytes)?;
                // SAFETY: the caller vouches for so many, which overlap with nothing of this
                // function's.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
                Ok(())
            }
        }
    }
}
