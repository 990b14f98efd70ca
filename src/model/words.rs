//! Closed lists of words: each is one enum with its stored text and its export code.

/// Declares an enum whose variants have a stored word and a stable integer code.
///
/// The word is what tables, JSON and Python carry; the code is for exports. Unknown text is an
/// error value, never a panic: a row may come from a newer version.
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$doc:meta])* $variant:ident = $word:literal, $code:literal;)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// Every word of the list, in the order of its declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The word as it is stored and shown.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            /// The stable code for exports.
            pub const fn code(self) -> u8 {
                match self { $($name::$variant => $code,)+ }
            }

            /// The variant with this code, if there is one.
            pub fn from_code(code: u8) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.code() == code)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::model::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok($name::$variant),)+
                    _ => Err($crate::model::UnknownWord {
                        list: stringify!($name),
                        word: text.chars().take(64).collect(),
                        known: &[$($word,)+],
                    }),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use words;

/// A word that is not in its list, perhaps written by a newer version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is not a known {list}; known are {}", .known.join(", "))]
pub struct UnknownWord {
    /// The name of the list.
    pub list: &'static str,
    /// What was found, at most 64 characters of it.
    pub word: String,
    /// What would have been understood.
    pub known: &'static [&'static str],
}
