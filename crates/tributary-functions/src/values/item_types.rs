//! Conversions between the items of a container and their types.

/// Implements `From` and `TryFrom` between an `enum` of all items of a container and the type in each
/// variant, boxed or not. The error of `TryFrom` is the item of another type.
/// [`Stored::of_type`](crate::cosmos::Stored::of_type) and [`Container::slot`](crate::cosmos::Container::slot) use
/// them.
///
/// `item_types!(RoomsItem: Room(Room), Booking(Booking));`
#[macro_export]
macro_rules! item_types {
    ($item:ident: $($variant:ident($type:ty)),+ $(,)?) => {$(
        impl From<$type> for $item {
            fn from(item: $type) -> Self {
                Self::$variant(item.into())
            }
        }

        impl TryFrom<$item> for $type {
            type Error = $item;

            fn try_from(item: $item) -> Result<Self, $item> {
                match item {
                    $item::$variant(item) => Ok($crate::values::Unboxed::unboxed(item)),
                    other => Err(other),
                }
            }
        }
    )+};
}

/// A value of a type, boxed or not.
#[doc(hidden)]
pub trait Unboxed<T> {
    /// Returns the value.
    fn unboxed(self) -> T;
}

impl<T> Unboxed<T> for T {
    fn unboxed(self) -> T {
        self
    }
}

impl<T> Unboxed<T> for Box<T> {
    fn unboxed(self) -> T {
        *self
    }
}
