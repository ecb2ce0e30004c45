//! Blocks so far apart that an `int` cannot say where they are: they travel by way of a slice
//! without the gaps.
//!
//! Only this rank knows of the gaps, so the call has to be the one that the others make.

use std::borrow::Cow;

use bytemuck::Pod;
use ranks_comm::Result;

use crate::arguments::blocks::Blocks;
use crate::arguments::varying::{Divided, Gathering, Scattering};

/// Puts the only block at the beginning of the slice, where libraries put it that let it arrive
/// somewhere else.
pub(super) fn at_the_front<'a, T>(
    recv: Option<&'a mut [T]>,
    blocks: &mut Cow<'_, Blocks>,
) -> Result<Option<&'a mut [T]>> {
    // There is one, and it lies in the slice.
    let start = blocks.range(0).start;
    *blocks = Cow::Owned(Blocks::from_counts(blocks.counts())?);
    Ok(recv.map(|recv| &mut recv[start..]))
}

/// Gathers with a call that gets the same without gaps.
pub(super) fn gathered<T: Pod>(
    gathering: Gathering<'_, T>,
    call: impl FnOnce(Gathering<'_, T>) -> Result<()>,
) -> Result<()> {
    let blocks = gathering.recv.blocks;
    let recv = gathering.recv.slice.unwrap_or_default();
    let close = Blocks::from_counts(blocks.counts())?;
    if recv.is_empty() {
        return call(Gathering {
            recv: Divided::new(Some(&mut []), &close),
            ..gathering
        });
    }
    let mut packed = bytemuck::zeroed_vec(close.end());
    if gathering.send.is_none() {
        packed[close.range(gathering.me)].copy_from_slice(&recv[blocks.range(gathering.me)]);
    }
    call(Gathering {
        recv: Divided::new(Some(&mut packed), &close),
        ..gathering
    })?;
    for rank in 0..blocks.len() {
        recv[blocks.range(rank)].copy_from_slice(&packed[close.range(rank)]);
    }
    Ok(())
}

/// Scatters with a call that gets the same without gaps.
pub(super) fn scattered<T: Pod>(
    scattering: Scattering<'_, T>,
    call: impl FnOnce(Scattering<'_, T>) -> Result<()>,
) -> Result<()> {
    let blocks = scattering.send.blocks;
    let send = scattering.send.slice.unwrap_or_default();
    let close = Blocks::from_counts(blocks.counts())?;
    let mut packed = Vec::new();
    if !send.is_empty() {
        for rank in 0..blocks.len() {
            packed.extend_from_slice(&send[blocks.range(rank)]);
        }
    }
    call(Scattering {
        send: Divided::new(Some(&packed), &close),
        ..scattering
    })
}
