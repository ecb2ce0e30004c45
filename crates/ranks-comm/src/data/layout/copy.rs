//! Copies of the elements that a layout selects: the derived datatypes of the in-process backend.

use crate::data::element::Pod;
use crate::data::layout::{Element, Taken, View, ViewMut};
use crate::result::{Result, error};

impl<T: Pod> View<'_, T> {
    /// Appends the selected bytes.
    #[doc(hidden)]
    pub fn gather(&self, operation: &'static str, payload: &mut Vec<u8>) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(self.data);
        let more = self.bytes();
        if let Err(reason) = payload.try_reserve_exact(more) {
            return Err(error::no_memory(operation, more, &reason));
        }
        self.taken.for_each_range(&mut |start, length| {
            payload.extend_from_slice(&bytes[start..start + length]);
            true
        });
        Ok(())
    }
}

impl<T: Pod> ViewMut<'_, T> {
    /// Copies the bytes to the selected places, up to the end of the shorter one.
    #[doc(hidden)]
    pub fn scatter(&mut self, payload: &[u8]) {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(self.data);
        let mut rest = payload;
        self.taken.for_each_range(&mut |start, length| {
            let (now, later) = rest.split_at(length.min(rest.len()));
            bytes[start..start + now.len()].copy_from_slice(now);
            rest = later;
            !rest.is_empty()
        });
    }
}

impl Taken {
    /// Calls `each` with start and length in bytes of each selected range, in order, until it
    /// returns `false`.
    pub(crate) fn for_each_range(&self, each: &mut impl FnMut(usize, usize) -> bool) {
        let Some(shape) = self.layout.known().shape().filter(|_| self.bytes() > 0) else {
            return;
        };
        let size = self.element.size();
        shape.for_each_run(
            self.layout.start(),
            &mut |start, length| match &self.element {
                Element::Whole { .. } => each(start * size, length * size),
                Element::Fields { fields, .. } => (start..start + length).all(|element| {
                    fields
                        .iter()
                        .all(|field| each(element * size + field.offset, field.bytes))
                }),
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::data::layout::{Field, Fields, Layout};

    #[test]
    fn what_is_gathered_is_scattered_to_where_it_was() {
        let data: Vec<u16> = (0..20).collect();
        let layout = Layout::indexed(&[(15, 2), (1, 3), (8, 1)]);
        let mut payload = vec![0xFF];
        layout.of(&data).unwrap().gather("x", &mut payload).unwrap();
        let taken = [15u16, 16, 1, 2, 3, 8];
        assert_eq!(payload[1..], *bytemuck::must_cast_slice::<u16, u8>(&taken));
        let mut copy = vec![99u16; 20];
        layout.of_mut(&mut copy).unwrap().scatter(&payload[1..]);
        for (index, &value) in copy.iter().enumerate() {
            let taken = [15, 16, 1, 2, 3, 8].contains(&index);
            assert_eq!(usize::from(value), if taken { index } else { 99 });
        }
    }

    #[test]
    fn a_short_payload_fills_the_beginning() {
        let mut copy = vec![99u8; 8];
        let layout = Layout::vector(4, 1, 2);
        layout.of_mut(&mut copy).unwrap().scatter(&[1, 2]);
        assert_eq!(copy, [1, 99, 2, 99, 99, 99, 99, 99]);
        layout.of_mut(&mut copy).unwrap().scatter(&[]);
        layout.of_mut(&mut copy).unwrap().scatter(&[5; 9]);
        assert_eq!(copy, [5, 99, 5, 99, 5, 99, 5, 99]);
    }

    #[test]
    fn only_the_fields_travel() {
        let fields = Fields::<[u8; 5]>::new([Field::at::<u16>(3), Field::at::<u8>(0)]).unwrap();
        let data = [
            [0u8, 1, 2, 3, 4],
            [10, 11, 12, 13, 14],
            [20, 21, 22, 23, 24],
        ];
        let layout = Layout::vector(2, 1, 2);
        let mut payload = Vec::new();
        let view = layout.of(&data).unwrap().fields(&fields).unwrap();
        view.gather("x", &mut payload).unwrap();
        assert_eq!(payload, [3, 4, 0, 23, 24, 20]);
        assert_eq!(view.bytes(), payload.len());
        let mut copy = [[99u8; 5]; 3];
        layout
            .of_mut(&mut copy)
            .unwrap()
            .fields(&fields)
            .unwrap()
            .scatter(&payload);
        assert_eq!(copy, [[0, 99, 99, 3, 4], [99; 5], [20, 99, 99, 23, 24]]);
    }
}
