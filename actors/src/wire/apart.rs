//! Values that are read apart from what holds them.

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::value::RawValue;

/// Reads a member as if it stood alone, for `#[serde(deserialize_with)]`.
///
/// A reader refuses what nests deeper than 127 levels, counted from the whole text. What came as
/// deep as that and is written into a larger value would be too deep in there.
pub fn apart<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    serde_json::from_str(raw.get()).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Holder {
        #[serde(deserialize_with = "apart")]
        held: Value,
    }

    #[test]
    fn what_is_held_may_nest_as_deep_as_what_stands_alone() {
        let deepest = format!("{}{}", "[".repeat(127), "]".repeat(127));
        let held: Value = serde_json::from_str(&deepest).unwrap();
        let text = json!({"held": held}).to_string();
        assert!(serde_json::from_str::<Value>(&text).is_err());
        assert_eq!(
            serde_json::from_str::<Holder>(&text).unwrap(),
            Holder { held }
        );
        let deeper = format!(r#"{{"held":[{deepest}]}}"#);
        assert!(serde_json::from_str::<Holder>(&deeper).is_err());
        // A value is read as a text is.
        let value = json!({"held": [1]});
        let held = json!([1]);
        assert_eq!(
            serde_json::from_value::<Holder>(value).unwrap(),
            Holder { held }
        );
    }
}
