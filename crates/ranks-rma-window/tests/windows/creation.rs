use bytemuck::{Pod, Zeroable};
use ranks_comm::{Communicator, Result};
use ranks_rma_window::Window;

/// Number of elements of each rank: none on some.
fn uneven(rank: usize) -> usize {
    [0, 5, 1, 0][rank % 4]
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn memory_is_zeroed_and_aligned(world: Communicator) -> Result<()> {
    for len in [0, 1, 1000] {
        let mut window = Window::<u8>::allocate(&world, len)?;
        assert_eq!((window.rank(), window.size()), (world.rank(), world.size()));
        assert_eq!(window.local(), vec![0; len]);
        assert!(len == 0 || window.local().as_ptr().addr().is_multiple_of(64));
        window.local_mut().fill(7);
        assert_eq!(window.free()?, None);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn lengths_may_differ(world: Communicator) -> Result<()> {
    let window = Window::<f64>::allocate(&world, uneven(world.rank()))?;
    for rank in 0..world.size() {
        assert_eq!(window.len_of(rank), uneven(rank));
    }
    assert_eq!(window.len_of(world.size()), 0);
    let mut fenced = window.fence()?;
    let mine = [world.rank() as f64 + 1.0];
    fenced.step(|ops| {
        for rank in 0..world.size() {
            if rank != world.rank() && uneven(rank) > world.rank() {
                ops.put(&mine, rank, world.rank())?;
            }
        }
        Ok(())
    })?;
    let window = fenced.close()?;
    for (rank, value) in window.local().iter().enumerate() {
        let came = rank < world.size() && rank != world.rank();
        assert_eq!(*value, if came { rank as f64 + 1.0 } else { 0.0 });
    }
    window.free()?;
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_vector_comes_back_with_what_was_put(world: Communicator) -> Result<()> {
    let mut vec = Vec::with_capacity(10);
    vec.extend((0..uneven(world.rank())).map(|index| [index as u32, 0, 0]));
    let (start, capacity) = (vec.as_ptr(), vec.capacity());
    let mut window = Window::from_vec(&world, vec)?;
    window
        .local_mut()
        .iter_mut()
        .for_each(|element| element[1] = 7);
    let mut fenced = window.fence()?;
    let one = [[9; 3]];
    fenced.step(|ops| match world.size() {
        1 => Ok(()),
        size if world.rank() == size - 1 => ops.put(&one, 1, 2),
        _ => Ok(()),
    })?;
    let back = fenced.close()?.free()?.unwrap();
    assert_eq!((back.as_ptr(), back.capacity()), (start, capacity));
    for (index, element) in back.iter().enumerate() {
        let put = world.rank() == 1 && index == 2;
        assert_eq!(*element, if put { [9; 3] } else { [index as u32, 7, 0] });
    }
    Ok(())
}

/// Elements aligned to more than lines of caches are.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, align(128))]
struct Page([u64; 16]);

#[ranks_test::ranks(1, 2)]
fn elements_of_odd_sizes_and_alignments(world: Communicator) -> Result<()> {
    let right = (world.rank() + 1) % world.size();
    let left = (world.rank() + world.size() - 1) % world.size();
    let page = |rank| [Page([rank as u64 + 1; 16])];
    let mut fenced = Window::<Page>::allocate(&world, 2)?.fence()?;
    let mine = page(world.rank());
    fenced.step(|ops| ops.put(&mine, right, 1))?;
    assert_eq!(fenced.value(1)?, page(left)[0]);
    let window = fenced.close()?;
    assert_eq!(window.local()[0], Page([0; 16]));
    assert_eq!(window.local()[1..], page(left));
    assert!(window.local().as_ptr().addr().is_multiple_of(128));
    let mut fenced = Window::<[u8; 3]>::allocate(&world, 3)?.fence()?;
    let mut got = [[0; 3]; 2];
    fenced.write(1, &[[world.rank() as u8; 3]])?;
    fenced.fence()?;
    fenced.step(|ops| ops.get(&mut got, left, 1))?;
    assert_eq!(got, [[left as u8; 3], [0; 3]]);
    let mut fenced = Window::<()>::allocate(&world, 3)?.fence()?;
    fenced.step(|ops| ops.put(&[(); 2], right, 1))?;
    assert!(fenced.read(2, &mut [(); 2]).is_err());
    fenced.read(1, &mut [(); 2])?;
    assert_eq!(fenced.close()?.local().len(), 3);
    Ok(())
}
