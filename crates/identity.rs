// Part of build scripts, by `include!`.

/// A number that changes with the contents of all files at these places: what is kept from one run to the next is keyed
/// by what made it.
fn identity(root: &std::path::Path, places: &[&str]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for place in places {
        let path = root.join(place);
        println!("cargo::rerun-if-changed={}", path.display());
        let mut files = Vec::new();
        collect(path, &mut files);
        files.sort();
        for file in files {
            for byte in std::fs::read(&file).expect("a file of the repository") {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
    format!("{hash:016x}")
}

/// The file itself, or all files below the directory.
fn collect(path: std::path::PathBuf, files: &mut Vec<std::path::PathBuf>) {
    if !path.is_dir() {
        return files.push(path);
    }
    for entry in std::fs::read_dir(path).expect("a directory of the repository") {
        collect(entry.expect("an entry of a directory").path(), files);
    }
}
