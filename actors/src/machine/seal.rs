//! Sealed text that leaves the process and comes back: encrypted, bound to its purpose, expiring.
//!
//! A seal is `base64url(version · expiry · nonce · ciphertext)` by XChaCha20-Poly1305. The purpose
//! and the associated data are not in the text: whoever opens it must name the same ones, so a seal
//! of one tool call is worth nothing for another.

use std::fmt;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use chacha20poly1305::{
    KeyInit as _, XChaCha20Poly1305, XNonce,
    aead::{Aead as _, Payload},
};

/// The first byte of every seal, so that the format can change.
const VERSION: u8 = 1;
const EXPIRY_BYTES: usize = 8;
const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;

/// The key of seals: random per process, or shared by the nodes that serve the same users.
#[derive(Clone)]
pub struct SealKey(XChaCha20Poly1305);

impl SealKey {
    /// Makes a key that dies with the process.
    ///
    /// # Panics
    /// When the operating system has no random numbers.
    #[must_use]
    pub fn random() -> Self {
        Self::from_bytes(random_bytes())
    }

    /// Takes a key of 32 bytes.
    #[must_use]
    pub fn from_bytes(key: [u8; 32]) -> Self {
        Self(XChaCha20Poly1305::new(&key.into()))
    }

    /// Takes a key of 32 bytes in base64, in the standard or the URL alphabet.
    ///
    /// # Errors
    /// [`SealKeyError`] when the text is not base64 of exactly 32 bytes.
    pub fn from_base64(text: &str) -> Result<Self, SealKeyError> {
        let text = text.trim();
        let bytes = STANDARD
            .decode(text)
            .or_else(|_| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')))
            .map_err(|_| SealKeyError)?;
        let key: [u8; 32] = bytes.try_into().map_err(|_| SealKeyError)?;
        Ok(Self::from_bytes(key))
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SealKey(..)")
    }
}

/// The key is not 32 bytes in base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a seal key is 32 bytes in base64")]
pub struct SealKeyError;

/// Why a sealed text was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// It is no sealed text of this format.
    #[error("the sealed text is malformed")]
    Malformed,
    /// It was changed, or made with another key, for another purpose or other data.
    #[error("the sealed text does not belong here")]
    Tampered,
    /// It was genuine and is too old.
    #[error("the sealed text has expired")]
    Expired,
}

/// Seals `payload` until `expires_at` (seconds since 1970).
///
/// `aad` is what the seal is bound to: [`open`] needs the same bytes.
#[must_use]
pub fn seal(key: &SealKey, purpose: &str, aad: &[u8], payload: &[u8], expires_at: u64) -> String {
    let nonce: [u8; NONCE_BYTES] = random_bytes();
    let expiry = expires_at.to_be_bytes();
    let bound = bind(purpose, expiry, aad);
    let payload = Payload {
        msg: payload,
        aad: &bound,
    };
    #[expect(
        clippy::expect_used,
        reason = "the cipher fails only beyond 256 GB of payload"
    )]
    let sealed = key
        .0
        .encrypt(XNonce::from_slice(&nonce), payload)
        .expect("a payload of less than 256 GB");
    let mut bytes = Vec::with_capacity(1 + EXPIRY_BYTES + NONCE_BYTES + sealed.len());
    bytes.push(VERSION);
    bytes.extend_from_slice(&expiry);
    bytes.extend_from_slice(&nonce);
    bytes.extend_from_slice(&sealed);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Opens what [`seal`] made with the same key, purpose and associated data.
///
/// # Errors
/// [`SealError`] when it is malformed, does not belong here, or `now` (seconds since 1970) is not
/// before its expiry.
pub fn open(
    key: &SealKey,
    purpose: &str,
    aad: &[u8],
    text: &str,
    now: u64,
) -> Result<Vec<u8>, SealError> {
    let bytes = URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| SealError::Malformed)?;
    let Some((&VERSION, rest)) = bytes.split_first() else {
        return Err(SealError::Malformed);
    };
    let Some((&expiry, rest)) = rest.split_first_chunk::<EXPIRY_BYTES>() else {
        return Err(SealError::Malformed);
    };
    let Some((nonce, sealed)) = rest.split_first_chunk::<NONCE_BYTES>() else {
        return Err(SealError::Malformed);
    };
    if sealed.len() < TAG_BYTES {
        return Err(SealError::Malformed);
    }
    let bound = bind(purpose, expiry, aad);
    let payload = Payload {
        msg: sealed,
        aad: &bound,
    };
    let opened = key
        .0
        .decrypt(XNonce::from_slice(nonce), payload)
        .map_err(|_| SealError::Tampered)?;
    // The expiry is judged last: only the age of a genuine seal is worth telling.
    if now >= u64::from_be_bytes(expiry) {
        return Err(SealError::Expired);
    }
    Ok(opened)
}

/// Joins what the seal is bound to; the length keeps purpose and data apart.
fn bind(purpose: &str, expiry: [u8; EXPIRY_BYTES], aad: &[u8]) -> Vec<u8> {
    let mut bound = Vec::with_capacity(17 + purpose.len() + aad.len());
    bound.push(VERSION);
    bound.extend_from_slice(&expiry);
    bound.extend_from_slice(&(purpose.len() as u64).to_be_bytes());
    bound.extend_from_slice(purpose.as_bytes());
    bound.extend_from_slice(aad);
    bound
}

fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    #[expect(
        clippy::expect_used,
        reason = "without random numbers nothing here is safe"
    )]
    getrandom::fill(&mut bytes).expect("the operating system gives random numbers");
    bytes
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed expectation is the test failing"
)]
mod tests {
    use super::*;

    #[test]
    fn opens_what_it_sealed_until_it_expires() {
        let key = SealKey::random();
        let text = seal(&key, "state", b"call", b"payload", 100);
        assert_eq!(open(&key, "state", b"call", &text, 99).unwrap(), b"payload");
        assert_eq!(
            open(&key, "state", b"call", &text, 100),
            Err(SealError::Expired)
        );
    }

    #[test]
    fn another_key_purpose_or_binding_opens_nothing() {
        let key = SealKey::from_bytes([7; 32]);
        let text = seal(&key, "state", b"call", b"payload", 100);
        let tampered = Err(SealError::Tampered);
        assert_eq!(
            open(&SealKey::from_bytes([8; 32]), "state", b"call", &text, 1),
            tampered
        );
        assert_eq!(open(&key, "states", b"call", &text, 1), tampered);
        assert_eq!(open(&key, "stat", b"ecall", &text, 1), tampered);
        assert_eq!(open(&key, "state", b"other", &text, 1), tampered);
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let key = SealKey::random();
        let text = seal(&key, "state", b"", b"x", 100);
        let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(open(&key, "state", b"", &URL_SAFE_NO_PAD.encode(changed), 1).is_err());
        }
        assert!(open(&key, "state", b"", &format!("{text}-TAMPERED"), 1).is_err());
        assert_eq!(
            open(&key, "state", b"", "not ours", 1),
            Err(SealError::Malformed)
        );
        assert_eq!(open(&key, "state", b"", "", 1), Err(SealError::Malformed));
    }

    #[test]
    fn a_key_is_read_from_both_base64_alphabets() {
        let key = SealKey::from_bytes([0xfb; 32]);
        let text = seal(&key, "p", b"", b"x", 2);
        for written in [
            STANDARD.encode([0xfb; 32]),
            URL_SAFE_NO_PAD.encode([0xfb; 32]),
        ] {
            let read = SealKey::from_base64(&written).unwrap();
            assert_eq!(open(&read, "p", b"", &text, 1).unwrap(), b"x");
        }
        assert_eq!(SealKey::from_base64("c2hvcnQ=").unwrap_err(), SealKeyError);
    }
}
