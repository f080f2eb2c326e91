//! Bytes that are mostly text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Any bytes. In JSON: `{"text": …}` if they are UTF-8; otherwise `text` has
/// replacement characters and `base64` the exact bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    /// The pair that goes into JSON.
    pub(crate) fn encode(&self) -> (String, Option<String>) {
        match std::str::from_utf8(&self.0) {
            Ok(text) => (text.to_owned(), None),
            Err(_) => {
                let text = String::from_utf8_lossy(&self.0).into_owned();
                (text, Some(STANDARD.encode(&self.0)))
            }
        }
    }

    pub(crate) fn decode(
        text: String,
        base64: Option<String>,
    ) -> Result<Bytes, base64::DecodeError> {
        match base64 {
            None => Ok(Bytes(text.into_bytes())),
            Some(code) => STANDARD.decode(code).map(Bytes),
        }
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        Bytes(bytes.to_vec())
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Bytes {
        Bytes(text.as_bytes().to_vec())
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes(bytes)
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

#[derive(Serialize, Deserialize)]
struct Wire {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (text, base64) = self.encode();
        Wire { text, base64 }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        Bytes::decode(wire.text, wire.base64).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn json_keeps_every_byte(bytes: Vec<u8>) {
            let text = serde_json::to_string(&Bytes(bytes.clone())).unwrap();
            prop_assert_eq!(serde_json::from_str::<Bytes>(&text).unwrap().0, bytes);
        }
    }

    #[test]
    fn text_is_readable() {
        let text = serde_json::to_string(&Bytes::from("a\n")).unwrap();
        assert_eq!(text, r#"{"text":"a\n"}"#);
    }
}
