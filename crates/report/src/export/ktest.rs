//! KLEE's `.ktest` files: magic, version, the command line, and named objects;
//! all numbers are 32 bits, big-endian.

use crate::seeds::symbolic_argument;
use changeling_trace::input::{Input, StreamKind};

const MAGIC: &[u8] = b"KTEST";
/// What KLEE wrote before it was called so.
const OLD_MAGIC: &[u8] = b"BOUT\n";
const VERSION: u32 = 3;
/// Size of `struct stat` on x86-64, with the places of mode and size.
const STAT_SIZE: usize = 144;
const STAT_MODE: usize = 24;
const STAT_LENGTH: usize = 48;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KTest {
    pub version: u32,
    /// The command line, the program first.
    pub arguments: Vec<Vec<u8>>,
    pub symbolic_arguments: u32,
    pub symbolic_argument_length: u32,
    pub objects: Vec<Object>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub name: String,
    pub bytes: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KTestError {
    #[error("not a .ktest file: it does not begin with KTEST")]
    Magic,
    #[error("version {0} of the .ktest format is newer than {VERSION}, the newest known")]
    Version(u32),
    #[error("the file ends at byte {at}, in the middle of {what}")]
    Short { at: usize, what: &'static str },
}

impl KTest {
    pub fn read(bytes: &[u8]) -> Result<KTest, KTestError> {
        let rest = bytes
            .strip_prefix(MAGIC)
            .or_else(|| bytes.strip_prefix(OLD_MAGIC));
        let mut reader = Reader {
            bytes,
            at: bytes.len() - rest.ok_or(KTestError::Magic)?.len(),
        };
        let version = reader.number("the version")?;
        if version > VERSION {
            return Err(KTestError::Version(version));
        }
        let mut arguments = Vec::new();
        for _ in 0..reader.number("the number of arguments")? {
            arguments.push(reader.string("an argument")?.to_vec());
        }
        let (mut symbolic_arguments, mut symbolic_argument_length) = (0, 0);
        if version >= 2 {
            symbolic_arguments = reader.number("the number of symbolic arguments")?;
            symbolic_argument_length = reader.number("the length of symbolic arguments")?;
        }
        let mut objects = Vec::new();
        for _ in 0..reader.number("the number of objects")? {
            let name = reader.string("the name of an object")?;
            let name = String::from_utf8_lossy(name).into_owned();
            objects.push(Object {
                name,
                bytes: reader.string("an object")?.to_vec(),
            });
        }
        Ok(KTest {
            version,
            arguments,
            symbolic_arguments,
            symbolic_argument_length,
            objects,
        })
    }

    pub fn write(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let number = |out: &mut Vec<u8>, n: u32| out.extend_from_slice(&n.to_be_bytes());
        let string = |out: &mut Vec<u8>, bytes: &[u8]| {
            number(out, bytes.len() as u32);
            out.extend_from_slice(bytes);
        };
        number(&mut out, VERSION);
        number(&mut out, self.arguments.len() as u32);
        for argument in &self.arguments {
            string(&mut out, argument);
        }
        number(&mut out, self.symbolic_arguments);
        number(&mut out, self.symbolic_argument_length);
        number(&mut out, self.objects.len() as u32);
        for object in &self.objects {
            string(&mut out, object.name.as_bytes());
            string(&mut out, &object.bytes);
        }
        out
    }

    /// As KLEE's POSIX runtime would have named and ordered the objects.
    /// Environment variables, which it does not know, become `env-NAME`.
    pub fn of(input: &Input, program: &str) -> KTest {
        let mut arguments = vec![program.as_bytes().to_vec()];
        let mut objects = Vec::new();
        let mut number = 0;
        for argument in &input.arguments {
            use changeling_trace::input::Argument;
            match argument {
                Argument::Fixed(text) => arguments.push(text.clone()),
                Argument::Symbolic(stream) => {
                    let stream = &input.streams[*stream];
                    arguments.push(b"--sym-arg".to_vec());
                    arguments.push(stream.capacity.to_string().into_bytes());
                    let bytes = padded(&stream.bytes, stream.capacity + 1);
                    objects.push(Object {
                        name: format!("arg{number:02}"),
                        bytes,
                    });
                    number += 1;
                }
            }
        }
        let of_kind = |kind| {
            input
                .streams
                .iter()
                .filter(move |stream| stream.kind == kind)
        };
        let files: Vec<_> = of_kind(StreamKind::File).collect();
        if !files.is_empty() {
            // All of KLEE's symbolic files have one size.
            let size = files.iter().map(|file| file.capacity).max().unwrap_or(0);
            for word in [
                "--sym-files".to_owned(),
                files.len().to_string(),
                size.to_string(),
            ] {
                arguments.push(word.into_bytes());
            }
            for (letter, file) in (b'A'..=b'Z').zip(&files) {
                let name = format!("{}-data", letter as char);
                push_file(&mut objects, &name, &file.bytes, size);
            }
        }
        for stream in of_kind(StreamKind::Stdin) {
            arguments.push(b"--sym-stdin".to_vec());
            arguments.push(stream.capacity.to_string().into_bytes());
            push_file(&mut objects, "stdin", &stream.bytes, stream.capacity);
        }
        for stream in of_kind(StreamKind::Harness) {
            objects.push(Object {
                name: "data".into(),
                bytes: stream.bytes.clone(),
            });
        }
        for stream in of_kind(StreamKind::Environment) {
            let name = format!("env-{}", stream.name);
            objects.push(Object {
                name,
                bytes: stream.bytes.clone(),
            });
        }
        objects.push(Object {
            name: "model_version".into(),
            bytes: vec![1, 0, 0, 0],
        });
        KTest {
            version: VERSION,
            arguments,
            symbolic_arguments: 0,
            symbolic_argument_length: 0,
            objects,
        }
    }

    /// The objects as an input of this shape, and whether some bytes found no
    /// place. Objects that KLEE adds for itself are passed over. An object of
    /// any other name goes to the harness buffer, one after the other.
    pub fn to_input(&self, shape: &Input) -> (Input, bool) {
        let mut input = shape.clone();
        let mut lost = false;
        let mut loose: Option<Vec<u8>> = None;
        for object in &self.objects {
            let name = object.name.replace('_', "-");
            if name == "model-version" || name.ends_with("-stat") || name == "n-args" {
                continue;
            }
            match self.target(&name, &object.name, shape) {
                Some(stream) => input.streams[stream].bytes = self.contents(&name, object),
                None if has_kind(shape, StreamKind::Harness) => {
                    loose
                        .get_or_insert_default()
                        .extend_from_slice(&object.bytes);
                }
                None => lost = true,
            }
        }
        let harness = shape
            .streams
            .iter()
            .position(|s| s.kind == StreamKind::Harness);
        if let (Some(stream), Some(bytes)) = (harness, loose) {
            input.streams[stream].bytes = bytes;
        }
        let before = input.streams.clone();
        input.normalise();
        // Padding behind a string's NUL is not lost input.
        let cut = before
            .iter()
            .zip(&input.streams)
            .any(|(before, after)| until_nul(before) != until_nul(after));
        (input, lost || cut)
    }

    fn target(&self, name: &str, exact: &str, shape: &Input) -> Option<usize> {
        if name == "stdin" {
            return shape
                .streams
                .iter()
                .position(|s| s.kind == StreamKind::Stdin);
        }
        if let Some(number) = name.strip_prefix("arg").and_then(|n| n.parse().ok()) {
            return symbolic_argument(shape, number);
        }
        if let Some(variable) = exact.strip_prefix("env-") {
            let wanted = (StreamKind::Environment, variable);
            return shape
                .streams
                .iter()
                .position(|s| (s.kind, s.name.as_str()) == wanted);
        }
        let letter = name
            .strip_suffix("-data")
            .filter(|rest| rest.len() == 1)?
            .as_bytes()[0];
        let number = usize::from(letter.checked_sub(b'A')?);
        let files = shape.streams.iter().enumerate();
        files
            .filter(|(_, s)| s.kind == StreamKind::File)
            .nth(number)
            .map(|(at, _)| at)
    }

    /// A file's real length is in the object beside it.
    fn contents(&self, name: &str, object: &Object) -> Vec<u8> {
        let stat = self
            .objects
            .iter()
            .find(|o| o.name.replace('_', "-") == format!("{name}-stat"));
        let length = stat.and_then(|stat| {
            let bytes = stat.bytes.get(STAT_LENGTH..STAT_LENGTH + 8)?;
            usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
        });
        match length {
            Some(length) if length < object.bytes.len() => object.bytes[..length].to_vec(),
            _ => object.bytes.clone(),
        }
    }
}

fn has_kind(shape: &Input, kind: StreamKind) -> bool {
    shape.streams.iter().any(|stream| stream.kind == kind)
}

fn until_nul(stream: &changeling_trace::input::Stream) -> &[u8] {
    if stream.kind.has_length() {
        return &stream.bytes;
    }
    stream
        .bytes
        .split(|&byte| byte == 0)
        .next()
        .unwrap_or_default()
}

fn push_file(objects: &mut Vec<Object>, name: &str, bytes: &[u8], size: usize) {
    objects.push(Object {
        name: name.into(),
        bytes: padded(bytes, size),
    });
    let mut stat = vec![0; STAT_SIZE];
    stat[STAT_MODE..STAT_MODE + 4].copy_from_slice(&0o100644u32.to_le_bytes());
    stat[STAT_LENGTH..STAT_LENGTH + 8].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    objects.push(Object {
        name: format!("{name}-stat"),
        bytes: stat,
    });
}

fn padded(bytes: &[u8], size: usize) -> Vec<u8> {
    let mut out = bytes.to_vec();
    out.resize(size.max(bytes.len()), 0);
    out
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], KTestError> {
        let rest = &self.bytes[self.at..];
        let Some(taken) = rest.get(..length) else {
            return Err(KTestError::Short {
                at: self.bytes.len(),
                what,
            });
        };
        self.at += length;
        Ok(taken)
    }

    fn number(&mut self, what: &'static str) -> Result<u32, KTestError> {
        let bytes = self.take(4, what)?;
        Ok(u32::from_be_bytes(
            bytes.try_into().expect("four bytes were taken"),
        ))
    }

    fn string(&mut self, what: &'static str) -> Result<&'a [u8], KTestError> {
        let length = self.number(what)?;
        self.take(length as usize, what)
    }
}
