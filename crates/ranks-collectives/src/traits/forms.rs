//! The forms of operations that go on after their call has returned, each written once for all
//! operations: a macro makes a method of a row of a table.
//!
//! ```text
//! /// collect the `send` of all ranks …       what it does, behind "Begins to" or "Prepares to",
//! /// …                                       and all else that its docs say
//! moves::Gather                               its row in `operation/moves.rs`, or in `reductions`
//!     (send; recv, root: usize)               its arguments; `(buffer)` where it has one
//!     with (root);                            those that the row there takes
//! #[doc(alias("MPI_Igather", …))]             the nonblocking functions, of which the first is named
//! igather: "6.12.3";                          the method, and the section of the standard
//! #[doc(alias("MPI_Gather_init", …))]         the same of the persistent form
//! gather_init: "6.13.3";
//! ```
//!
//! A reduction has an operation as well, `reductions::Reduce<O: Reduction>(…, op: O) with op, ()`.
//! An operation among neighbours has a name for them: `moves::NeighborAlltoall among around`.

/// A method with the docs that its row says.
macro_rules! method {
    ($form:literal [$does:literal $($more:literal)*] $section:literal [$name:literal $(, $large:literal)?] $($method:tt)*) => {
        #[doc = concat!($form, $does)]
        $(#[doc = $more])*
        ///
        #[doc = concat!("MPI 5.0 §", $section, " (`", $name, "`).")]
        #[doc(alias($name $(, $large)?))]
        $($method)*
    };
}

/// Nonblocking: the request owns the buffers and gives them back.
macro_rules! nonblocking {
    (
        $(#[doc = $docs:literal])*
        $rows:ident::$operation:ident $(<$O:ident: $Bound:ident>)? $(among $around:ident)?
            (send $(, $of_send:ident: $OfSend:ty)*; recv $(, $argument:ident: $Argument:ty)*)
            with $($op:ident,)? ($($with:ident),*);
        #[doc(alias($($name:literal),*))]
        $method:ident: $section:literal;
        $($persistent:tt)*
    ) => {
        method! { "Begins to" [$($docs)*] $section [$($name),*]
            fn $method<S, R $(, $O)?>(
                &self,
                send: S,
                $($of_send: $OfSend,)*
                recv: R,
                $($argument: $Argument,)*
            ) -> Result<Request<(S, R)>>
            where
                S: SendBuffer<Element = R::Element> + Send + 'static,
                R: RecvBuffer + Send + 'static,
                $($O: $Bound<R::Element> + Send + 'static,)?
            {
                $(let $around = self;)?
                let (comm, role) = (self.communicator(), functions::$operation::NONBLOCKING_ROLE);
                stable::owned(comm, role, (send, recv), Shape::both(), |slices| {
                    $rows::begun::<functions::$operation, _ $(, $O)?>(comm, slices, $($op,)? ($($with),*))
                })
            }
        }
    };
    (
        $(#[doc = $docs:literal])*
        $rows:ident::$operation:ident $(<$O:ident: $Bound:ident>)?
            (buffer $(, $argument:ident: $Argument:ty)*)
            with $($op:ident,)? ($($with:ident),*);
        #[doc(alias($($name:literal),*))]
        $method:ident: $section:literal;
        $($persistent:tt)*
    ) => {
        method! { "Begins to" [$($docs)*] $section [$($name),*]
            fn $method<B $(, $O)?>(&self, buffer: B, $($argument: $Argument),*) -> Result<Request<B>>
            where
                B: RecvBuffer + Send + 'static,
                $($O: $Bound<B::Element> + Send + 'static,)?
            {
                let (comm, role) = (self.communicator(), functions::$operation::NONBLOCKING_ROLE);
                stable::owned(comm, role, buffer, Shape::one(), |slices| {
                    $rows::begun::<functions::$operation, _ $(, $O)?>(comm, slices, $($op,)? ($($with),*))
                })
            }
        }
    };
}

/// Nonblocking, on slices that are borrowed until the scope ends.
macro_rules! scoped {
    (
        $(#[doc = $docs:literal])*
        $rows:ident::$operation:ident $(<$O:ident: $Bound:ident>)? $(among $around:ident)?
            (send $(, $of_send:ident: $OfSend:ty)*; recv $(, $argument:ident: $Argument:ty)*)
            with $($op:ident,)? ($($with:ident),*);
        #[doc(alias($($name:literal),*))]
        $method:ident: $section:literal;
        $($persistent:tt)*
    ) => {
        method! { "Begins to" [$($docs)*] $section [$($name),*]
            #[inline]
            fn $method<T: Pod $(, $O: $Bound<T> + Send + 'static)?>(
                &'scope self,
                $($around: &impl Neighborhood,)?
                send: &'scope [T],
                $($of_send: $OfSend,)*
                recv: &'scope mut [T],
                $($argument: $Argument,)*
            ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
                let scope = self.scope();
                $(let $around = of_scope::<functions::$operation>(scope, $around)?;)?
                let (comm, role) = (scope.communicator(), functions::$operation::NONBLOCKING_ROLE);
                stable::scoped(scope, role, Some(send), recv, |slices| {
                    $rows::begun::<functions::$operation, T $(, $O)?>(comm, slices, $($op,)? ($($with),*))
                })
            }
        }
    };
    (
        $(#[doc = $docs:literal])*
        $rows:ident::$operation:ident $(<$O:ident: $Bound:ident>)?
            (buffer $(, $argument:ident: $Argument:ty)*)
            with $($op:ident,)? ($($with:ident),*);
        #[doc(alias($($name:literal),*))]
        $method:ident: $section:literal;
        $($persistent:tt)*
    ) => {
        method! { "Begins to" [$($docs)*] $section [$($name),*]
            #[inline]
            fn $method<T: Pod $(, $O)?>(
                &'scope self,
                buffer: &'scope mut [T],
                $($argument: $Argument),*
            ) -> Result<ScopedRequest<'scope, &'scope mut [T]>>
            $(where $O: $Bound<T> + Send + 'static)?
            {
                let scope = self.scope();
                let (comm, role) = (scope.communicator(), functions::$operation::NONBLOCKING_ROLE);
                stable::scoped(scope, role, None, buffer, |slices| {
                    $rows::begun::<functions::$operation, T $(, $O)?>(comm, slices, $($op,)? ($($with),*))
                })
            }
        }
    };
}

/// Persistent: the request owns the buffers, and what else it is prepared with.
macro_rules! persistent {
    (
        $(#[doc = $docs:literal])*
        $rows:ident::$operation:ident $(<$O:ident: $Bound:ident>)? $(among $around:ident)?
            (send $(, $of_send:ident: $OfSend:ty)*; recv $(, $argument:ident: $Argument:ty)*)
            with $($op:ident,)? ($($with:ident),*);
        #[doc(alias($($nonblocking:literal),*))]
        $begun:ident: $section_begun:literal;
        #[doc(alias($($name:literal),*))]
        $method:ident: $section:literal;
    ) => {
        method! { "Prepares to" [$($docs)*] $section [$($name),*]
            fn $method<S, R $(, $O)?>(
                &self,
                send: S,
                $($of_send: $OfSend,)*
                recv: R,
                $($argument: $Argument,)*
            ) -> Result<Persistent<(S, R)>>
            where
                S: SendBuffer<Element = R::Element> + Send + 'static,
                R: RecvBuffer + Send + 'static,
                $($O: $Bound<R::Element> + Send + 'static,)?
            {
                $(let $around = Around(self.clone());)?
                let (comm, shape) = (self.communicator(), Shape::both());
                let kept = ($($with.to_owned()),*);
                $rows::persistent::<functions::$operation, _, _ $(, $O)?, _, _>(comm, (send, recv), shape, $($op,)? kept)
            }
        }
    };
    (
        $(#[doc = $docs:literal])*
        $rows:ident::$operation:ident $(<$O:ident: $Bound:ident>)?
            (buffer $(, $argument:ident: $Argument:ty)*)
            with $($op:ident,)? ($($with:ident),*);
        #[doc(alias($($nonblocking:literal),*))]
        $begun:ident: $section_begun:literal;
        #[doc(alias($($name:literal),*))]
        $method:ident: $section:literal;
    ) => {
        method! { "Prepares to" [$($docs)*] $section [$($name),*]
            fn $method<B $(, $O)?>(&self, buffer: B, $($argument: $Argument),*) -> Result<Persistent<B>>
            where
                B: RecvBuffer + Send + 'static,
                $($O: $Bound<B::Element> + Send + 'static,)?
            {
                let (comm, shape) = (self.communicator(), Shape::one());
                let kept = ($($with.to_owned()),*);
                $rows::persistent::<functions::$operation, _, _ $(, $O)?, _, _>(comm, buffer, shape, $($op,)? kept)
            }
        }
    };
}
