// SPDX-License-Identifier: Apache-2.0
//! What the numbers with names have in common: a value that a newer library adds is a value like the others.

macro_rules! codes {
    ($(#[$about:meta])* $name:ident $($(#[$note:meta])* $member:ident = $value:expr,)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        #[allow(missing_docs)]
        impl $name {
            $($(#[$note])* pub const $member: $name = $name($value);)*
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.0 {
                    $($value => out.write_str(concat!(stringify!($name), "::", stringify!($member))),)*
                    other => write!(out, "{}({})", stringify!($name), other),
                }
            }
        }
    };
}
pub(crate) use codes;
