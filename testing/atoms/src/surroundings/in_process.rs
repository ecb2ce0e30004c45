//! Stand-ins for the rest that the sources of the folder `in_process` use.

/// Things that a world holds.
macro_rules! things {
    ($($file:ident: $thing:ident,)*) => {$(
        pub(crate) mod $file {
            #[derive(Debug, Default)]
            pub(crate) struct $thing(());
        }
    )*};
}

things! {
    agreements: Agreements,
    common: Commons,
    loan: Loan,
    places: Places,
}

pub(crate) mod patience {
    /// That of a wait that looks once before it sleeps.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Patience;

    impl Patience {
        pub(crate) fn of(_ranks: usize) -> Self {
            Self
        }

        pub(crate) fn look<R>(self, mut look: impl FnMut() -> Option<R>) -> Option<R> {
            look()
        }
    }
}

pub(crate) mod payload {
    /// A byte of a message.
    #[derive(Debug)]
    pub(crate) struct Payload(pub(crate) u8);

    impl Payload {
        pub(crate) fn len(&self) -> usize {
            1
        }
    }
}
