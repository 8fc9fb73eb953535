//! What the engine asks of the outside, as traits.
