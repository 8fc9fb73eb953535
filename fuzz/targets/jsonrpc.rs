#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| roscius_fuzz::jsonrpc::check(data));
