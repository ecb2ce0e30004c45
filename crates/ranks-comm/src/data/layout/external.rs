//! The portable representation `external32`: big-endian and without gaps.

use ranks_launch::Count;

use crate::data::element::Pod;
use crate::data::layout::{Element, Taken, View, ViewMut};
use crate::result::{Error, ErrorKind, Result};

impl<T: Pod> View<'_, T> {
    /// Appends the selected elements in the representation `external32`, [`bytes`](Self::bytes)
    /// bytes of it.
    ///
    /// Primitives are written with their most significant byte first, on every machine; other types
    /// are written byte by byte, so name the [fields](View::fields) of structs. Local; needs no
    /// runtime.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if there is no memory for it.
    ///
    /// MPI 5.0 §5.3 (`MPI_Pack_external`).
    #[doc(alias = "MPI_Pack_external")]
    #[doc(alias = "MPI_Pack_external_c")]
    #[doc(alias = "MPI_Pack_external_size")]
    #[doc(alias = "MPI_Pack_external_size_c")]
    pub fn pack_external(&self, packed: &mut Vec<u8>) -> Result<()> {
        let before = packed.len();
        self.gather("MPI_Pack_external", packed)?;
        self.taken.convert(&mut packed[before..]);
        Ok(())
    }
}

impl<T: Pod> ViewMut<'_, T> {
    /// Unpacks elements of [`View::pack_external`] from `position` in `packed` on, and moves
    /// `position` behind them.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if `packed` ends before all elements are there; nothing is
    /// written then.
    ///
    /// MPI 5.0 §5.3 (`MPI_Unpack_external`).
    #[doc(alias = "MPI_Unpack_external")]
    #[doc(alias = "MPI_Unpack_external_c")]
    pub fn unpack_external(&mut self, packed: &[u8], position: &mut usize) -> Result<()> {
        let end = advance("MPI_Unpack_external", packed.len(), *position, self.bytes())?;
        let mut native = packed[*position..end].to_vec();
        self.taken.convert(&mut native);
        self.scatter(&native);
        *position = end;
        Ok(())
    }
}

impl Taken {
    /// Converts between the machine's byte order and the external one, in either direction.
    fn convert(&self, gathered: &mut [u8]) {
        if cfg!(target_endian = "big") {
            return;
        }
        match &self.element {
            Element::Whole { item, .. } => reverse(gathered, item.width()),
            Element::Fields { fields, .. } => {
                let mut rest = gathered;
                let mut fields = fields.iter().filter(|field| field.bytes > 0).cycle();
                while let Some(field) = fields.next().filter(|_| !rest.is_empty()) {
                    let (now, later) = rest.split_at_mut(field.bytes.min(rest.len()));
                    reverse(now, field.item.width());
                    rest = later;
                }
            }
        }
    }
}

fn reverse(items: &mut [u8], width: usize) {
    if width > 1 {
        items.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
}

/// The end of the next `bytes` of a packed buffer.
pub(crate) fn advance(
    operation: &'static str,
    length: usize,
    position: usize,
    bytes: usize,
) -> Result<usize> {
    let end = position.checked_add(bytes);
    end.filter(|&end| end <= length).ok_or_else(|| {
        let (bytes, length) = (Count(bytes, "byte"), Count(length, "byte"));
        let why = format_args!(
            "{bytes} to be unpacked from position {position} on, of a packed message of {length}"
        );
        Error::new(ErrorKind::Length, operation, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::data::layout::{Field, Fields, Layout};

    #[test]
    fn primitives_are_big_endian() {
        let mut packed = Vec::new();
        View::whole(&[1u32, 0x0102_0304])
            .pack_external(&mut packed)
            .unwrap();
        View::whole(&[-2i16]).pack_external(&mut packed).unwrap();
        View::whole(&[1.0f64]).pack_external(&mut packed).unwrap();
        View::whole(&[[1u8, 2, 3]])
            .pack_external(&mut packed)
            .unwrap();
        let expected = [
            0, 0, 0, 1, 1, 2, 3, 4, 0xFF, 0xFE, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0, 1, 2, 3,
        ];
        assert_eq!(packed, expected);
        let mut position = 4;
        let (mut integer, mut short, mut float) = ([0u32], [0i16], [0.0f64]);
        ViewMut::whole(&mut integer)
            .unpack_external(&packed, &mut position)
            .unwrap();
        ViewMut::whole(&mut short)
            .unpack_external(&packed, &mut position)
            .unwrap();
        ViewMut::whole(&mut float)
            .unpack_external(&packed, &mut position)
            .unwrap();
        assert_eq!((integer, short, float), ([0x0102_0304], [-2], [1.0]));
        assert_eq!(position, 18);
    }

    #[test]
    fn fields_keep_their_types() {
        let fields =
            Fields::<[u8; 9]>::new([Field::at::<u8>(0), Field::array::<u16>(1, 2)]).unwrap();
        let mut element = [[0u8; 9]; 2];
        element[1][1..3].copy_from_slice(&0x0102u16.to_ne_bytes());
        element[1][3..5].copy_from_slice(&0x0304u16.to_ne_bytes());
        element[1][0] = 5;
        let mut packed = Vec::new();
        View::whole(&element)
            .fields(&fields)
            .unwrap()
            .pack_external(&mut packed)
            .unwrap();
        assert_eq!(packed, [0, 0, 0, 0, 0, 5, 1, 2, 3, 4]);
        let mut copy = [[7u8; 9]; 2];
        let mut view = ViewMut::whole(&mut copy).fields(&fields).unwrap();
        view.unpack_external(&packed, &mut 0).unwrap();
        assert_eq!(copy[1][..5], element[1][..5]);
        assert_eq!(copy[1][5..], [7; 4]);
    }

    #[test]
    fn too_little_is_an_error_and_writes_nothing() {
        let layout = Layout::vector(2, 1, 2);
        let mut data = [7u32; 3];
        for (length, mut position) in [(7, 0), (8, 1), (8, 9), (8, usize::MAX)] {
            let mut view = layout.of_mut(&mut data).unwrap();
            let before = position;
            let error = view
                .unpack_external(&vec![0; length], &mut position)
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Length, "{error}");
            assert_eq!(position, before);
        }
        assert_eq!(data, [7; 3]);
    }
}
