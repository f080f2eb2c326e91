#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    println!("{:?}", parse_size::parse_size(data));
});
