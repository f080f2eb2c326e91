use std::io::Read;

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("text");
    println!("{} {}", dep::sum(&text), cfg!(debug_assertions));
    if text.starts_with('!') {
        panic!("asked to panic");
    }
}
