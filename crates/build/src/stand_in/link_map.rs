//! Which files went into an executable, from the map that linkers write.

use std::path::PathBuf;

/// A file that was linked, or a member of an archive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Linked {
    pub file: PathBuf,
    pub member: Option<String>,
}

/// Reads maps of GNU ld (also gold's member list) and of lld.
pub fn linked(map: &str) -> Vec<Linked> {
    let mut found =
        if map.contains("Archive member included") || map.lines().any(|l| l.starts_with("LOAD ")) {
            of_gnu(map)
        } else {
            of_lld(map)
        };
    found.sort();
    found.dedup();
    found
}

fn of_gnu(map: &str) -> Vec<Linked> {
    let mut found = Vec::new();
    let mut in_members = false;
    for line in map.lines() {
        if line.starts_with("Archive member included") {
            in_members = true;
        } else if in_members
            && !line.is_empty()
            && !line.starts_with([' ', '\t'])
            && !line.contains('(')
        {
            // The heading of the next part.
            in_members = false;
        } else if in_members && !line.starts_with([' ', '\t']) {
            // `lib.a(member.o)` and, perhaps on the next line, who asked for it.
            found.extend(line.find(')').and_then(|end| member(&line[..=end])));
        }
        if let Some(file) = line
            .strip_prefix("LOAD ")
            .filter(|file| *file != "linker stubs")
        {
            found.push(Linked {
                file: file.into(),
                member: None,
            });
        }
    }
    found
}

fn of_lld(map: &str) -> Vec<Linked> {
    let mut found = Vec::new();
    for line in map.lines() {
        let Some((before, _)) = line.rsplit_once(":(") else {
            continue;
        };
        // Four columns of numbers stand before the name.
        let mut name = before.trim_start();
        for _ in 0..4 {
            name = name
                .split_once(' ')
                .map_or("", |(_, rest)| rest.trim_start());
        }
        if name.is_empty() || name.starts_with('<') {
            continue;
        }
        found.push(member(name).unwrap_or(Linked {
            file: name.into(),
            member: None,
        }));
    }
    found
}

fn member(text: &str) -> Option<Linked> {
    let (archive, rest) = text.rsplit_once('(')?;
    let member = rest.strip_suffix(')')?;
    Some(Linked {
        file: archive.into(),
        member: Some(member.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> Linked {
        Linked {
            file: name.into(),
            member: None,
        }
    }

    fn part(archive: &str, name: &str) -> Linked {
        Linked {
            file: archive.into(),
            member: Some(name.into()),
        }
    }

    #[test]
    fn gnu_maps_are_read() {
        let map = "Archive member included to satisfy reference by file (symbol)\n\nlib x.a(y.o)     main.o (foo)\n/long/libz.a(z.o)\n                              main.o (z)\n\nDiscarded input sections\n\n .a(b)\nLOAD /usr/lib/Scrt1.o\nLOAD main.o\nLOAD linker stubs\nLOAD lib x.a\n";
        assert_eq!(
            linked(map),
            [
                part("/long/libz.a", "z.o"),
                file("/usr/lib/Scrt1.o"),
                file("lib x.a"),
                part("lib x.a", "y.o"),
                file("main.o")
            ]
        );
    }

    #[test]
    fn lld_maps_are_read() {
        let map = "             VMA              LMA     Size Align Out     In      Symbol\n             2a8              2a8       1c     1 .interp\n             2a8              2a8       1c     1         <internal>:(.interp)\n            1680             1680       2b    16         /usr/lib/Scrt1.o:(.text)\n            16b0             16b0       10    16         a b.o:(.text)\n            16c0             16c0       10    16         libx.a(y.o):(.text)\n            16c0             16c0       10     1                 foo\n";
        assert_eq!(
            linked(map),
            [
                file("/usr/lib/Scrt1.o"),
                file("a b.o"),
                part("libx.a", "y.o")
            ]
        );
    }
}
