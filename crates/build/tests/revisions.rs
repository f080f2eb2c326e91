//! Revisions of git repositories.

mod support;

use changeling_build::{BuildError, Source};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Room, assert_alike, run, text};

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=n",
            "-c",
            "user.email=e@x",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(["-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

fn commit(repo: &Path, text: &str) {
    git(repo, &["add", "-A"]);
    git(repo, &["commit", "-q", "-m", text]);
}

/// A repository with two revisions of a program, and a third in the work tree.
fn repository(room: &Room) -> PathBuf {
    let repo = room.path().join("my repo");
    std::fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "-q"]);
    room.write("my repo/Makefile", "prog: prog.c\n\t$(CC) prog.c -o prog\n");
    room.write("my repo/.gitattributes", "prog.c export-ignore\n");
    room.write("my repo/prog.c", "int main(void) { return 1; }\n");
    commit(&repo, "first");
    git(&repo, &["tag", "v1.0"]);
    room.write("my repo/prog.c", "int main(void) { return 2; }\n");
    commit(&repo, "second");
    room.write("my repo/prog.c", "int main(void) { return 3; }\n");
    room.write("my repo/untracked.c", "");
    repo
}

fn revision(repo: &Path, name: &str) -> Source {
    Source::Revision {
        repo: repo.to_path_buf(),
        revision: name.into(),
        command: None,
        program: None,
    }
}

#[test]
fn revisions_are_built_without_touching_the_work_tree() {
    let room = Room::new();
    let repo = repository(&room);
    let before = (
        git(&repo, &["status", "--porcelain"]),
        git(&repo, &["rev-parse", "HEAD"]),
    );
    let index = std::fs::read(repo.join(".git/index")).unwrap();
    for (name, code) in [("v1.0", 1), ("HEAD", 2), ("main", 2), ("HEAD~1", 1)] {
        let built = room.build(&revision(&repo, name)).unwrap();
        assert_eq!(run(&built.plain, "").status.code(), Some(code), "{name}");
        assert!(built.source_root.join("prog.c").is_file());
        assert!(
            !built.source_root.join("prog").exists(),
            "the sources were built in"
        );
        assert_alike(&built, &room, &[""]);
    }
    assert_eq!(std::fs::read(repo.join(".git/index")).unwrap(), index);
    let after = (
        git(&repo, &["status", "--porcelain"]),
        git(&repo, &["rev-parse", "HEAD"]),
    );
    assert_eq!(before, after);
    room.assert_clean();
}

#[test]
fn a_directory_inside_a_repository() {
    let room = Room::new();
    let repo = room.path().join("r");
    std::fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "-q"]);
    room.write(
        "r/sub/Makefile",
        "prog: ../common.c\n\t$(CC) ../common.c -o prog\n",
    );
    room.write("r/common.c", "int main(void) { return 5; }\n");
    commit(&repo, "all");
    let tree = revision(&repo.join("sub"), "HEAD");
    let error = room.build(&tree).unwrap_err();
    assert_eq!(error.code(), 18, "only the directory is copied: {error:?}");
    let whole = Source::Revision {
        repo: repo.clone(),
        revision: "HEAD".into(),
        command: Some("make -C sub".into()),
        program: Some("sub/prog".into()),
    };
    assert_eq!(
        run(&room.build(&whole).unwrap().plain, "").status.code(),
        Some(5)
    );
}

#[test]
fn a_repository_without_commits_has_no_revisions() {
    let room = Room::new();
    let repo = room.path().join("r");
    std::fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "-q"]);
    let error = room.build(&revision(&repo, "HEAD")).unwrap_err();
    assert_eq!(error.code(), 16);
    assert!(error.help().contains("committed"), "{}", error.help());
}

#[test]
fn unknown_revisions_are_answered_with_near_names() {
    let room = Room::new();
    let repo = repository(&room);
    let error = room.build(&revision(&repo, "v1.1")).unwrap_err();
    assert_eq!(error.code(), 16);
    assert!(error.help().contains("v1.0"), "{}", error.help());
    for name in ["", "--all", "HEAD:prog.c", "mian"] {
        assert_eq!(
            room.build(&revision(&repo, name)).unwrap_err().code(),
            16,
            "{name}"
        );
    }
    let error = room.build(&revision(Path::new("/"), "HEAD")).unwrap_err();
    assert!(matches!(error, BuildError::NotARepository(_)));
    assert_eq!(error.code(), 17);
    room.assert_clean();
}

#[test]
fn shallow_clones_say_so() {
    let room = Room::new();
    let repo = repository(&room);
    let clone = room.path().join("clone");
    git(
        room.path(),
        &[
            "clone",
            "-q",
            "--depth=1",
            &format!("file://{}", repo.display()),
            "clone",
        ],
    );
    assert_eq!(
        run(&room.build(&revision(&clone, "HEAD")).unwrap().plain, "")
            .status
            .code(),
        Some(2)
    );
    let error = room.build(&revision(&clone, "HEAD~1")).unwrap_err();
    assert_eq!(error.code(), 16);
    assert!(
        error.help().contains("git fetch --unshallow"),
        "{}",
        error.help()
    );
}

#[test]
fn submodules_are_used_if_they_are_here_and_named_if_not() {
    let room = Room::new();
    let part = room.path().join("part");
    std::fs::create_dir(&part).unwrap();
    git(&part, &["init", "-q"]);
    room.write("part/part.c", "int part(void) { return 6; }\n");
    commit(&part, "part");
    let repo = room.path().join("whole");
    std::fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "-q"]);
    room.write(
        "whole/Makefile",
        "prog: main.c\n\t$(CC) main.c sub/part.c -o prog\n",
    );
    room.write(
        "whole/main.c",
        "int part(void); int main(void) { return part(); }\n",
    );
    git(
        &repo,
        &[
            "submodule",
            "--quiet",
            "add",
            &part.display().to_string(),
            "sub",
        ],
    );
    commit(&repo, "whole");
    let built = room.build(&revision(&repo, "HEAD")).unwrap();
    assert_eq!(run(&built.plain, "").status.code(), Some(6));
    git(
        room.path(),
        &["clone", "-q", &repo.display().to_string(), "bare of parts"],
    );
    let error = room
        .build(&revision(&room.path().join("bare of parts"), "HEAD"))
        .unwrap_err();
    assert!(
        matches!(&error, BuildError::Submodules { paths, .. } if paths == &["sub"]),
        "{error:?}"
    );
}

#[test]
fn revisions_of_cargo_packages() {
    let room = Room::new();
    let repo = room.path().join("pkg");
    std::fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "-q"]);
    room.write(
        "pkg/Cargo.toml",
        "[package]\nname = \"pkg\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    room.write("pkg/src/main.rs", "fn main() { println!(\"one\"); }\n");
    commit(&repo, "one");
    room.write("pkg/src/main.rs", "fn main() { println!(\"two\"); }\n");
    commit(&repo, "two");
    for (name, expected) in [("HEAD~1", "one\n"), ("HEAD", "two\n"), ("HEAD~1", "one\n")] {
        let built = room.build(&revision(&repo, name)).unwrap();
        assert_eq!(text(&run(&built.plain, "")), expected);
        assert!(built.source_root.join("src/main.rs").is_file());
        assert_alike(&built, &room, &[""]);
    }
}

#[test]
fn messages_name_the_revision_and_not_the_place_it_is_built_in() {
    let room = Room::new();
    let repo = room.path().join("r");
    std::fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "-q"]);
    room.write("r/README", "nothing to build\n");
    room.write(
        "r/lib/Cargo.toml",
        "[package]\nname = \"lib\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    room.write("r/lib/src/lib.rs", "pub fn f() {}\n");
    room.write("r/odd/Cargo.toml", "[package\n");
    commit(&repo, "all");
    let repo = repo.canonicalize().unwrap();
    for (directory, code) in [("", 19), ("lib", 23), ("odd", 24)] {
        let directory = repo.join(directory).canonicalize().unwrap();
        let error = room.build(&revision(&directory, "HEAD")).unwrap_err();
        assert_eq!(error.code(), code, "{error:?}");
        let said = format!("{error} {}", error.place().unwrap_or_default());
        assert!(
            said.contains(&format!("{} at HEAD", directory.display())),
            "{said}"
        );
        assert!(!said.contains("the cache"), "{said}");
    }
}
