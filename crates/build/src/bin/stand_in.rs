//! The compiler stand-in by itself: `changeling-stand-in cc …`.

fn main() -> std::process::ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    match changeling_build::stand_in::run(&arguments) {
        Some(code) => code.into(),
        None => {
            eprintln!("usage: changeling-stand-in cc|c++ ARGUMENTS OF THE COMPILER");
            2.into()
        }
    }
}
