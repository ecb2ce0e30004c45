//! Contexts: numbers that keep the messages of a communicator apart from all others.
//!
//! A communicator has an even one for messages and the next one for collectives. The upper bits
//! mark messages that no receive of the program's matches.

/// The bit of messages between the leaders of groups that make an intercommunicator.
const LEADERS: u64 = 1 << 62;
/// The bit of partitions.
const CHANNELS: u64 = 1 << 63;
/// The bits that number the channels of a communicator.
const NUMBER: u32 = 32;

/// The context of the messages between leaders over the communicator of `context`.
pub(crate) fn of_leaders(context: u64) -> u64 {
    context | LEADERS
}

/// The context of a channel of the communicator of `context`; `None` if there are no more.
pub(super) fn of_channel(context: u64, number: u64) -> Option<u64> {
    let fits = number >> NUMBER == 0 && context >> (62 - NUMBER) == 0;
    fits.then_some(CHANNELS | context << NUMBER | number)
}

/// Returns `true` for the context of a channel.
pub(super) fn is_of_channel(context: u64) -> bool {
    context & CHANNELS != 0
}

/// The context of messages of the communicator that `context` belongs to.
pub(super) fn of_communicator(context: u64) -> u64 {
    let context = if is_of_channel(context) {
        (context & !CHANNELS) >> NUMBER
    } else {
        context & !LEADERS
    };
    context & !1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_of_different_purposes_differ_and_tell_their_communicator() {
        let last = u64::from(u32::MAX);
        let channels = [of_channel(6, 0).unwrap(), of_channel(6, last).unwrap()];
        let all = [6, 7, of_leaders(6), channels[0], channels[1]];
        for (place, context) in all.iter().enumerate() {
            assert_eq!(of_communicator(*context), 6);
            assert!(!all[..place].contains(context), "{context:x}");
        }
        assert_eq!(all.map(is_of_channel), [false, false, false, true, true]);
    }

    #[test]
    fn no_channel_has_the_context_of_an_earlier_one() {
        assert_eq!(of_channel(6, 1 << NUMBER), None);
        assert_eq!(of_channel(1 << 30, 0), None);
    }
}
