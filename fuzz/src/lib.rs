//! What has to hold for any input. The fuzz targets call these with inputs of their own, the tests
//! of the workspace with the committed seeds.

pub mod headers;
pub mod jsonrpc;
pub mod request_state;
pub mod sse;
pub mod uri_template;

/// Cuts an input into lines, so that seeds can be read and written by hand. What is not there is
/// empty; the last line keeps its line feeds.
fn lines<const N: usize>(data: &[u8]) -> [&[u8]; N] {
    let mut lines = data.splitn(N, |byte| *byte == b'\n');
    std::array::from_fn(|_| lines.next().unwrap_or_default())
}
