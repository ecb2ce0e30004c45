//! Where ranks are.

use ranks_collectives::topology::{Domain, Host, Policy, Topology};
use ranks_collectives::{Collectives, Topologies};
use ranks_comm::{Communicator, Result};

#[ranks_test::ranks(1, 2, 3, 4)]
fn every_rank_is_told_of(world: Communicator) -> Result<()> {
    let topology = world.topology()?;
    assert_eq!(topology.rank, world.rank());
    assert_eq!(topology.ranks.len(), world.size());
    let mut named = vec![[0; 64]; world.size()];
    let mut mine = [0; 64];
    let name = world.processor_name()?;
    mine.iter_mut()
        .zip(name.bytes())
        .for_each(|(place, byte)| *place = byte);
    world.allgather(&[mine], &mut named)?;
    // By name the hosts are the same; no rank of a test is in a container of its own.
    let on = |name: &[u8; 64]| {
        (0..world.size())
            .filter(|&rank| named[rank] == *name)
            .collect::<Vec<_>>()
    };
    let here = topology.here().unwrap();
    assert!(here.host.is_same(&Host::detect()));
    assert_eq!(here.ranks, on(&mine));
    let mut leaders: Vec<usize> = named.iter().map(|name| on(name)[0]).collect();
    leaders.sort_unstable();
    leaders.dedup();
    assert_eq!(topology.hosts.len(), leaders.len());
    assert_eq!(topology.leaders().collect::<Vec<_>>(), leaders);
    let place = topology.place().unwrap();
    assert_eq!(place.process, std::process::id());
    assert_eq!(here.ranks.get(place.local_rank), Some(&world.rank()));
    assert_eq!(topology.libraries.len(), 1);
    let library = &topology.libraries[place.library.unwrap()];
    assert_eq!(library.name, world.library());
    assert_eq!(library.standard, world.standard());
    assert!((1..=here.host.processors.allowed_cores()).contains(&topology.recommended_threads()));
    // The same on all ranks, but for whose it is.
    let mut text = topology.to_string().into_bytes();
    let mine = text.clone();
    world.bcast(&mut text, 0)?;
    assert_eq!(text, mine);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn parts_of_a_machine(world: Communicator) -> Result<()> {
    let node = world.split_by(Domain::Node)?.unwrap();
    let topology = world.topology()?;
    let here = &topology.here().unwrap().ranks;
    assert_eq!(node.size(), here.len());
    assert_eq!(here.get(node.rank()), Some(&world.rank()));
    let gpu = topology.part(world.rank(), Domain::Gpu);
    assert_eq!(world.split_by(Domain::Gpu)?.is_some(), gpu.is_some());
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn ranks_are_bound_to_cores_of_their_own(world: Communicator) -> Result<()> {
    let before = world.topology()?;
    let same = before
        .ranks
        .iter()
        .all(|place| place.allowed == before.ranks[0].allowed);
    let here = before.here().unwrap();
    let cores = here.host.processors.allowed_cores();
    let after = world.bind(Policy::CoresPerRank)?;
    if here.ranks.len() == 1 || !same {
        assert_eq!(after.ranks, before.ranks);
    } else if cores >= world.size() {
        let [one, other] = [&after.ranks[0].allowed, &after.ranks[1].allowed];
        assert!(!one.overlaps(other), "{one} and {other}");
        let bound = world.split_by(Domain::Core)?;
        assert_eq!(bound.map(|comm| comm.size()), (cores == 2).then_some(1));
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn it_is_a_value(world: Communicator) -> Result<()> {
    let topology = world.topology()?;
    let text = postcard::to_stdvec(&topology).unwrap();
    let again: Topology = postcard::from_bytes(&text).unwrap();
    assert_eq!(again, topology);
    Ok(())
}
