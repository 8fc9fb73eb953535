//! One key of a set.

use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse},
};
use serde::Deserialize;
use serde_json::Value;

/// How many keys of a set are looked at.
const MAX_KEYS: usize = 100;

/// A key that checks signatures.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) id: Option<String>,
    algorithm: Option<KeyAlgorithm>,
    curve: Option<EllipticCurve>,
    pub(crate) decoding: DecodingKey,
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Value>,
}

impl Key {
    /// Reads the keys of a set that can be used; one that cannot be read does not spoil the others.
    pub(crate) fn read_set(json: &[u8]) -> Option<Vec<Self>> {
        let set: Set = serde_json::from_slice(json).ok()?;
        let keys = set.keys.into_iter().take(MAX_KEYS).filter_map(Self::read);
        Some(keys.collect())
    }

    fn read(json: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(json).ok()?;
        let signs = match &jwk.common.public_key_use {
            None => true,
            Some(usage) => *usage == PublicKeyUse::Signature,
        };
        let decoding = DecodingKey::from_jwk(&jwk).ok()?;
        // A shared secret in a public document proves nothing.
        if !signs || decoding.family() == AlgorithmFamily::Hmac {
            return None;
        }
        Some(Self {
            id: jwk.common.key_id,
            algorithm: jwk.common.key_algorithm,
            curve: match jwk.algorithm {
                AlgorithmParameters::EllipticCurve(key) => Some(key.curve),
                AlgorithmParameters::OctetKeyPair(key) => Some(key.curve),
                _ => None,
            },
            decoding,
        })
    }

    /// Tells whether signatures of this algorithm can be of this key.
    pub(crate) fn signs(&self, algorithm: Algorithm) -> bool {
        let curve = match algorithm {
            Algorithm::ES256 => Some(EllipticCurve::P256),
            Algorithm::ES384 => Some(EllipticCurve::P384),
            Algorithm::EdDSA => Some(EllipticCurve::Ed25519),
            _ => None,
        };
        self.decoding.family() == algorithm.family()
            && self.curve == curve
            && self
                .algorithm
                .is_none_or(|own| own == KeyAlgorithm::from(algorithm))
    }
}
