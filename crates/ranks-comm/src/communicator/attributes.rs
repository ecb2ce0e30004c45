//! Attributes of a communicator: the library's, and values of the program's own.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::call::lock::lock;
use crate::communicator::Communicator;
use crate::data::source::Source;
use crate::result::Result;

type Value = Arc<dyn Any + Send + Sync>;
type Copy = Arc<dyn Fn(&Value) -> Option<Value> + Send + Sync>;

/// A key under which communicators keep a value of type `T`, such as a result that a library has
/// cached for them.
///
/// Keys are compared by identity: each new key is a different one. A program makes a key once and
/// keeps it, in a `static` [`LazyLock`](std::sync::LazyLock) or in a struct. A clone is the same
/// key. Values outlive their key.
///
/// ```
/// # use ranks::communicator::AttributeKey;
/// # use std::sync::LazyLock;
/// static NEIGHBOURS: LazyLock<AttributeKey<Vec<usize>>> = LazyLock::new(AttributeKey::new);
///
/// ranks::run(|world| {
///     world.set_attribute(&NEIGHBOURS, vec![0, 0]);
///     assert_eq!(*world.attribute(&NEIGHBOURS).unwrap(), [0, 0]);
///     Ok::<(), ranks::Error>(())
/// })
/// # .unwrap();
/// ```
///
/// MPI 5.0 §7.7.2.
#[doc(alias = "MPI_Comm_create_keyval")]
#[doc(alias = "MPI_Comm_free_keyval")]
pub struct AttributeKey<T> {
    number: u64,
    copy: Option<Copy>,
    of: PhantomData<fn(T) -> T>,
}

impl<T: Send + Sync + 'static> AttributeKey<T> {
    /// A key whose values are not copied to a duplicate of the communicator
    /// (`MPI_COMM_NULL_COPY_FN`).
    #[doc(alias = "MPI_COMM_NULL_COPY_FN")]
    #[must_use]
    pub fn new() -> Self {
        Self::with(None)
    }

    /// A key whose values a duplicate of the communicator shares (`MPI_COMM_DUP_FN`).
    #[doc(alias = "MPI_COMM_DUP_FN")]
    #[must_use]
    pub fn shared() -> Self {
        Self::with(Some(Arc::new(|value| Some(Arc::clone(value)))))
    }

    /// A key of whose values a duplicate of the communicator gets the result of `copy`, if that is
    /// not `None`.
    ///
    /// `copy` runs on each rank that duplicates, after the duplicate was made.
    #[must_use]
    pub fn copied_by(copy: impl Fn(&Arc<T>) -> Option<Arc<T>> + Send + Sync + 'static) -> Self {
        Self::with(Some(Arc::new(move |value| {
            let value = Arc::clone(value).downcast::<T>().ok()?;
            copy(&value).map(|copy| copy as Value)
        })))
    }

    fn with(copy: Option<Copy>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            copy,
            of: PhantomData,
        }
    }
}

impl<T: Send + Sync + 'static> Default for AttributeKey<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for AttributeKey<T> {
    fn clone(&self) -> Self {
        Self {
            number: self.number,
            copy: self.copy.clone(),
            of: PhantomData,
        }
    }
}

impl<T> fmt::Debug for AttributeKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttributeKey")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl Communicator {
    /// Sets the value of `key` on this rank, and returns the value that it had.
    ///
    /// All handles of the communicator see it. It lives until it is replaced or deleted, or the
    /// last handle of the communicator is dropped, and beyond that as long as an `Arc` of it
    /// exists. It is not an attribute of the MPI library: C code does not see it. A value that
    /// holds a handle of this same communicator keeps both alive: for ever, but for the world,
    /// whose attributes go at its end.
    ///
    /// MPI 5.0 §7.7.2 (`MPI_Comm_set_attr`).
    #[doc(alias = "MPI_Comm_set_attr")]
    pub fn set_attribute<T: Send + Sync + 'static>(
        &self,
        key: &AttributeKey<T>,
        value: impl Into<Arc<T>>,
    ) -> Option<Arc<T>> {
        let attribute = Attribute {
            value: value.into(),
            copy: key.copy.clone(),
        };
        let before = self.attributes().lock().insert(key.number, attribute);
        typed(before)
    }

    /// The value of `key` on this rank.
    ///
    /// The returned value stays valid whatever other handles and threads do.
    ///
    /// MPI 5.0 §7.7.2 (`MPI_Comm_get_attr`).
    #[doc(alias = "MPI_Comm_get_attr")]
    #[must_use]
    pub fn attribute<T: Send + Sync + 'static>(&self, key: &AttributeKey<T>) -> Option<Arc<T>> {
        let there = self.attributes().lock().get(&key.number).cloned();
        typed(there)
    }

    /// Deletes the value of `key` on this rank, and returns it.
    ///
    /// MPI 5.0 §7.7.2 (`MPI_Comm_delete_attr`).
    #[doc(alias = "MPI_Comm_delete_attr")]
    pub fn delete_attribute<T: Send + Sync + 'static>(
        &self,
        key: &AttributeKey<T>,
    ) -> Option<Arc<T>> {
        let before = self.attributes().lock().remove(&key.number);
        typed(before)
    }

    /// The number of ranks that the job may grow to; `None` if the library does not say. In
    /// process: the world's size.
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`](crate::ErrorKind::Finalized),
    /// [`ErrorKind::WrongThread`](crate::ErrorKind::WrongThread), or what the library reports.
    ///
    /// MPI 5.0 §11.10.1 (`MPI_UNIVERSE_SIZE`).
    #[doc(alias = "MPI_UNIVERSE_SIZE")]
    pub fn universe_size(&self) -> Result<Option<usize>> {
        self.dispatch(
            "MPI_Comm_get_attr",
            |comm| comm.universe_size(),
            |comm| Ok(Some(comm.universe_size())),
        )
    }

    /// The number, from 0, of the program that this process runs among those started together;
    /// `None` if the library does not say.
    ///
    /// # Errors
    /// As [`universe_size`](Self::universe_size).
    ///
    /// MPI 5.0 §11.10.3 (`MPI_APPNUM`).
    #[doc(alias = "MPI_APPNUM")]
    pub fn appnum(&self) -> Result<Option<usize>> {
        self.dispatch("MPI_Comm_get_attr", |comm| comm.appnum(), |_| Ok(None))
    }

    /// Returns `true` if the clocks of [`wtime`](Self::wtime) are synchronised across ranks.
    ///
    /// # Errors
    /// As [`universe_size`](Self::universe_size).
    ///
    /// MPI 5.0 §9.1.2 (`MPI_WTIME_IS_GLOBAL`).
    #[doc(alias = "MPI_WTIME_IS_GLOBAL")]
    pub fn wtime_is_global(&self) -> Result<bool> {
        self.dispatch(
            "MPI_Comm_get_attr",
            |comm| comm.wtime_is_global(),
            |_| Ok(true),
        )
    }

    /// The world rank that can read and write files: [`Source::Any`] if all can, [`Source::Null`]
    /// if none can.
    ///
    /// # Errors
    /// As [`universe_size`](Self::universe_size).
    ///
    /// MPI 5.0 §9.1.2 (`MPI_IO`).
    #[doc(alias = "MPI_IO")]
    pub fn io(&self) -> Result<Source> {
        self.dispatch("MPI_Comm_get_attr", |comm| comm.io(), |_| Ok(Source::Any))
    }
}

/// The values of one communicator on one rank, by key.
#[derive(Default)]
pub(crate) struct Attributes(Mutex<BTreeMap<u64, Attribute>>);

#[derive(Clone)]
struct Attribute {
    value: Value,
    copy: Option<Copy>,
}

impl Attributes {
    /// No code of the program runs while this is locked: neither a copy function nor a destructor.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Attribute>> {
        lock(&self.0)
    }

    /// The attributes that a duplicate gets, by the policies of the keys.
    pub(crate) fn for_duplicate(&self) -> Self {
        let all = self.lock().clone();
        let copies = all.into_iter().filter_map(|(number, attribute)| {
            let value = attribute.copy.as_ref()?(&attribute.value)?;
            let copy = attribute.copy;
            Some((number, Attribute { value, copy }))
        });
        Self(Mutex::new(copies.collect()))
    }

    /// Drops all values.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        drop(all);
    }
}

/// A key's values are all of its type: a key is made together with its number, and each number
/// once.
fn typed<T: Send + Sync + 'static>(attribute: Option<Attribute>) -> Option<Arc<T>> {
    attribute?.value.downcast().ok()
}
