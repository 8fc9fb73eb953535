//! A schema and its validator, compiled when somebody needs it.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::{Checker, SchemaError, is_plain};

/// A schema with its validator, which is compiled at its first use. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LazyChecker(Arc<Lazy>);

#[derive(Debug)]
struct Lazy {
    schema: Arc<Value>,
    checker: OnceLock<Result<Checker, SchemaError>>,
}

impl LazyChecker {
    /// Keeps a schema.
    #[must_use]
    pub fn new(schema: Value) -> Self {
        Self(Arc::new(Lazy {
            schema: Arc::new(schema),
            checker: OnceLock::new(),
        }))
    }

    /// Gives the schema.
    #[must_use]
    pub fn schema(&self) -> &Arc<Value> {
        &self.0.schema
    }

    /// Makes sure that the schema compiles. Compiles it only where that is not plain to see, for
    /// the validators of fifty tools are most of the time that a server takes to start.
    ///
    /// # Errors
    /// As [`Checker::new`].
    pub fn verify(&self) -> Result<(), SchemaError> {
        if is_plain(self.schema()) {
            return Ok(());
        }
        self.get().map(|_| ()).map_err(Clone::clone)
    }

    /// Gives the validator.
    ///
    /// # Errors
    /// As [`Checker::new`].
    pub fn get(&self) -> Result<&Checker, &SchemaError> {
        let made = self.0.checker.get_or_init(|| Checker::new(&self.0.schema));
        made.as_ref()
    }
}
