//! Values of the application that tools reach by their type.

use std::{
    any::{Any, TypeId, type_name},
    collections::HashMap,
    fmt,
    sync::Arc,
};

/// A map from a type to one value of it, for the extractor `Ctx<T>`.
#[derive(Clone, Default)]
pub struct Context {
    values: HashMap<TypeId, (&'static str, Arc<dyn Any + Send + Sync>)>,
    /// Types whose values come with each request.
    promised: Vec<TypeId>,
}

impl Context {
    /// Makes an empty context.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value; it takes the place of one of the same type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.insert_arc(Arc::new(value));
    }

    /// Adds a shared value; it takes the place of one of the same type.
    pub fn insert_arc<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.values
            .insert(TypeId::of::<T>(), (type_name::<T>(), value));
    }

    /// Adds a value and gives the context back.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.insert(value);
        self
    }

    /// Gives the value of a type.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let (_, value) = self.values.get(&TypeId::of::<T>())?;
        Arc::clone(value).downcast().ok()
    }

    /// Tells whether there is a value of a type, or will be in every request.
    #[must_use]
    pub fn contains<T: 'static>(&self) -> bool {
        let id = TypeId::of::<T>();
        self.values.contains_key(&id) || self.promised.contains(&id)
    }

    /// Promises that every request brings a value of a type.
    pub(crate) fn promise<T: 'static>(&mut self) {
        self.promised.push(TypeId::of::<T>());
    }

    /// Tells whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds all values of another context; they take the place of those of the same type.
    pub fn extend(&mut self, other: &Self) {
        for (id, value) in &other.values {
            self.values.insert(*id, value.clone());
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set()
            .entries(self.values.values().map(|(name, _)| name))
            .finish()
    }
}
