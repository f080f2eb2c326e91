/// Adds up the numbers in a text; overflow wraps in release builds and panics in debug builds.
pub fn sum(text: &str) -> u8 {
    text.split_whitespace().filter_map(|word| word.parse::<u8>().ok()).fold(0, |sum, n| sum + n)
}
