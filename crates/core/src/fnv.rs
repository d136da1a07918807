//! FNV-1a: `h = (h ^ byte) * prime` over the bytes. It detects accidental differences, not deliberate ones.

/// The hash of no bytes, where [`fnv1a_64`] starts.
///
/// ```
/// use tractable::fnv::{EMPTY, fnv1a_64};
/// assert_eq!(fnv1a_64(EMPTY, []), EMPTY);
/// ```
pub const EMPTY: u64 = 0xcbf29ce484222325;

/// FNV-1a with 64 bits: continues `hash` with these bytes.
///
/// ```
/// use tractable::fnv::{EMPTY, fnv1a_64};
/// let hash = fnv1a_64(EMPTY, *b"foobar");
/// assert_eq!(hash, 0x85944171f73967e8);
/// assert_eq!(hash, fnv1a_64(fnv1a_64(EMPTY, *b"foo"), *b"bar"));
/// ```
pub fn fnv1a_64(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(hash, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100000001b3))
}

/// FNV-1a with 128 bits.
pub fn fnv1a_128(bytes: &[u8]) -> u128 {
    const BASIS: u128 = 0x6c62272e07bb014262b821756295c58d;
    const PRIME: u128 = 0x0000000001000000000000000000013b;
    bytes.iter().fold(BASIS, |h, &b| (h ^ u128::from(b)).wrapping_mul(PRIME))
}
