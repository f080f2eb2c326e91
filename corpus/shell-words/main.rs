//! Reads standard input and prints what the crate makes of it.

mod input;

fn main() {
    let Some(text) = input::text() else { return };
    match shell_words::split(&text) {
        Ok(words) => println!("{words:?} {}", shell_words::join(&words)),
        Err(error) => println!("error {error}"),
    }
}
