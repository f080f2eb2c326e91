//! A fuzz target: decodes the buffer and prints what came out.
#![no_main]

#[no_mangle]
pub extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    let data = unsafe { std::slice::from_raw_parts(data, size) };
    match hex::decode(data) {
        Ok(bytes) => println!("{bytes:?} {}", hex::encode(&bytes)),
        Err(error) => println!("error {error}"),
    }
    0
}
