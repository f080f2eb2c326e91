fn main() {
    println!("{}", dep::sum("1 2 3"));
}
