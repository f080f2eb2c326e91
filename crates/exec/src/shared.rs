//! The memory shared with a traced program: laid out and filled here, mapped read-only, read back with suspicion.

use crate::environment::check_name;
use crate::view::Trace;
use crate::{Capacities, ExecError, system};
use changeling_trace::input::{Argument, Input};
use changeling_trace::layout::{
    ArgumentHeader, COUNTED, COVERAGE_SIZE, EXECUTED, Header, InputHeader, MAGIC, PAGE,
    StreamHeader, VERSION, WATCHED,
};
use changeling_trace::node::MAX_LABEL;
use changeling_trace::{Event, Node};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Memory of a region beyond this is given back before the next run.
const KEPT_BYTES: u64 = 64 << 20;
/// Coverage of more blocks is cleared by giving its memory back instead of writing zeros.
const MANY_BLOCKS: u64 = 64 << 10;

#[derive(Debug)]
pub struct Shared {
    file: File,
    mapping: Mapping,
    /// Where the regions are. The program can overwrite its own copy, never this one.
    layout: Header,
    /// The shape that decided about the size of the input region.
    shape: Input,
    /// The most blocks that any run spoke of: so much coverage has to be cleared.
    blocks: u64,
    /// How the coverage region begins before a run, and before one that counts.
    watched: Vec<u8>,
    counted: Vec<u8>,
    counting: bool,
}

impl Shared {
    pub fn create(shape: &Input, capacities: &Capacities) -> Result<Shared, ExecError> {
        let layout = lay_out(shape, capacities)?;
        let failed =
            |source| ExecError::sandbox("the memory shared with the traced program", source);
        let file = system::memory_file(c"trace", true).map_err(failed)?;
        file.set_len(layout.size).map_err(failed)?;
        system::seal_size(&file).map_err(failed)?;
        let mapping = Mapping::new(&file, layout.size as usize).map_err(failed)?;
        Ok(Shared {
            file,
            mapping,
            layout,
            shape: shape.clone(),
            blocks: 0,
            watched: Vec::new(),
            counted: Vec::new(),
            counting: false,
        })
    }

    /// From the next run on, marks are made whenever one of these blocks begins.
    pub fn watch(&mut self, blocks: &[u32]) {
        self.ask(WATCHED, blocks);
    }

    /// In runs that count, it is counted how often these blocks begin.
    pub fn count(&mut self, blocks: &[u32]) {
        self.ask(COUNTED, blocks);
    }

    pub fn set_counting(&mut self, counting: bool) {
        self.counting = counting;
    }

    fn ask(&mut self, bit: u8, blocks: &[u32]) {
        let room = self.layout.coverage_capacity;
        let known = || {
            let blocks = blocks.iter().map(|&block| u64::from(block));
            blocks.filter(|&block| block < room)
        };
        let end = known().max().map_or(0, |last| last as usize + 1);
        for pattern in [&mut self.watched, &mut self.counted] {
            pattern.iter_mut().for_each(|byte| *byte &= !bit);
        }
        let both = [&mut self.watched, &mut self.counted];
        for pattern in both.into_iter().skip(usize::from(bit == COUNTED)) {
            let length = pattern.len().max(end);
            pattern.resize(length, 0);
            known().for_each(|block| pattern[block as usize] |= bit);
        }
    }

    fn pattern(&self) -> &[u8] {
        match self.counting {
            true => &self.counted,
            false => &self.watched,
        }
    }

    /// Takes the bits of watched blocks away again: what is left says which blocks
    /// were executed.
    pub fn unwatch(&mut self) -> Result<(), ExecError> {
        let asked = self.pattern().len();
        if asked == 0 {
            return Ok(());
        }
        let start = self.layout.coverage as usize;
        let seen = &self.mapping.bytes()[start..start + asked];
        let plain: Vec<u8> = seen.iter().map(|byte| byte & EXECUTED).collect();
        let failed =
            |source| ExecError::sandbox("the memory shared with the traced program", source);
        self.file
            .write_all_at(&plain, self.layout.coverage)
            .map_err(failed)
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn size(&self) -> u64 {
        self.layout.size
    }

    /// Writes header and input for the next run.
    pub fn reset(&mut self, input: &Input, name: &str, directory: &str) -> Result<(), ExecError> {
        check_shape(&self.shape, input)?;
        let failed =
            |source| ExecError::sandbox("the memory shared with the traced program", source);
        self.trim().map_err(failed)?;
        self.clear_coverage().map_err(failed)?;
        self.file
            .write_all_at(bytes_of(&self.layout), 0)
            .map_err(failed)?;
        let region = encode_input(input, name, directory, self.layout.input)?;
        if region.len() as u64 > self.layout.nodes - self.layout.input {
            return Err(ExecError::Shape {
                what: "the input needs more room".to_string(),
            });
        }
        self.file
            .write_all_at(&region, self.layout.input)
            .map_err(failed)?;
        // Behind the first byte of the string table nothing needs to be cleared: it is beyond the counter.
        self.file
            .write_all_at(&[0], self.layout.strings)
            .map_err(failed)?;
        Ok(())
    }

    pub fn trace(&self) -> Trace<'_> {
        let header = self.read_header();
        let layout = &self.layout;
        // Each counter is the program's claim. A claim beyond the room is a lie, and then nothing else is believed.
        let intact = header.magic == MAGIC
            && header.version == VERSION
            && header.node_count <= layout.node_capacity
            && header.event_count <= layout.event_capacity
            && header.table_bytes <= layout.table_capacity
            && header.string_bytes <= layout.string_capacity
            && header.block_count <= layout.coverage_capacity;
        let believed = |count: u64| if intact { count as usize } else { 0 };
        let bytes = self.mapping.bytes();
        let region = |offset: u64, length: usize| &bytes[offset as usize..offset as usize + length];
        let nodes = region(
            layout.nodes,
            believed(header.node_count) * size_of::<Node>(),
        );
        let events = region(
            layout.events,
            believed(header.event_count) * size_of::<Event>(),
        );
        Trace {
            counted: (intact && self.counting).then_some(header.counted),
            header,
            intact,
            nodes: plain_slice(nodes),
            events: plain_slice(events),
            tables: region(layout.tables, believed(header.table_bytes)),
            strings: region(layout.strings, believed(header.string_bytes)),
            coverage: region(layout.coverage, believed(header.block_count)),
        }
    }

    fn read_header(&self) -> Header {
        let mut bytes = [0u8; size_of::<Header>()];
        bytes.copy_from_slice(&self.mapping.bytes()[..size_of::<Header>()]);
        // SAFETY: Header is repr(C) with integer fields only: any bytes are a valid value. The read is unaligned.
        unsafe { bytes.as_ptr().cast::<Header>().read_unaligned() }
    }

    fn clear_coverage(&mut self) -> io::Result<()> {
        let spoken_of = self
            .read_header()
            .block_count
            .min(self.layout.coverage_capacity);
        self.blocks = self.blocks.max(spoken_of);
        if self.blocks > MANY_BLOCKS {
            system::punch(&self.file, self.layout.coverage, self.blocks)?;
        } else {
            let mut fresh = self.pattern().to_vec();
            fresh.resize(fresh.len().max(self.blocks as usize), 0);
            return self.file.write_all_at(&fresh, self.layout.coverage);
        }
        self.file.write_all_at(self.pattern(), self.layout.coverage)
    }

    /// One long run must not keep its memory for ever.
    fn trim(&self) -> io::Result<()> {
        let header = self.read_header();
        let regions = [
            (
                self.layout.nodes,
                header.node_count.min(self.layout.node_capacity) * size_of::<Node>() as u64,
            ),
            (
                self.layout.events,
                header.event_count.min(self.layout.event_capacity) * size_of::<Event>() as u64,
            ),
            (
                self.layout.tables,
                header.table_bytes.min(self.layout.table_capacity),
            ),
        ];
        for (start, used) in regions {
            if used > KEPT_BYTES {
                system::punch(&self.file, start + KEPT_BYTES, used - KEPT_BYTES)?;
            }
        }
        Ok(())
    }
}

fn lay_out(shape: &Input, capacities: &Capacities) -> Result<Header, ExecError> {
    let too_large = || ExecError::Input {
        what: "the trace capacities are too large".to_string(),
    };
    if capacities.nodes > u64::from(MAX_LABEL) + 1
        || capacities.events > 1 << 32
        || capacities.table_bytes > 1 << 32
    {
        return Err(too_large());
    }
    if capacities.string_bytes > 1 << 32
        || capacities.blocks > COVERAGE_SIZE
        || capacities.nodes == 0
        || capacities.string_bytes == 0
    {
        return Err(too_large());
    }
    let mut end = 0u64;
    let mut place = |bytes: u64| {
        let start = end;
        end = (start + bytes.max(1)).next_multiple_of(PAGE);
        start
    };
    place(size_of::<Header>() as u64);
    // Room for a longer program name or directory than any we use.
    let input_bytes = encode_input(shape, "", "", 0)?.len() as u64 + 4 * PAGE;
    let input = place(input_bytes);
    let nodes = place(capacities.nodes * size_of::<Node>() as u64);
    let events = place(capacities.events * size_of::<Event>() as u64);
    let tables = place(capacities.table_bytes);
    let strings = place(capacities.string_bytes);
    let coverage = place(capacities.blocks);
    let size = place(0);
    Ok(Header {
        magic: MAGIC,
        version: VERSION,
        size,
        input,
        nodes,
        node_capacity: capacities.nodes,
        events,
        event_capacity: capacities.events,
        tables,
        table_capacity: capacities.table_bytes,
        strings,
        string_capacity: capacities.string_bytes,
        coverage,
        coverage_capacity: capacities.blocks,
        node_count: 1,
        string_bytes: 1,
        ..Header::default()
    })
}

fn check_shape(shape: &Input, input: &Input) -> Result<(), ExecError> {
    let wrong = |what: String| Err(ExecError::Shape { what });
    if shape.streams.len() != input.streams.len() {
        return wrong(format!(
            "{} streams instead of {}",
            input.streams.len(),
            shape.streams.len()
        ));
    }
    for (number, (expected, found)) in shape.streams.iter().zip(&input.streams).enumerate() {
        if (expected.kind, &expected.name, expected.capacity)
            != (found.kind, &found.name, found.capacity)
        {
            return wrong(format!("stream {number} has another kind, name or bound"));
        }
    }
    Ok(())
}

/// The input region as it will lie at offset `base` of the mapping.
fn encode_input(
    input: &Input,
    name: &str,
    directory: &str,
    base: u64,
) -> Result<Vec<u8>, ExecError> {
    let wrong = |what: String| ExecError::Input { what };
    let streams_at = size_of::<InputHeader>();
    let arguments_at = streams_at + input.streams.len() * size_of::<StreamHeader>();
    let mut data = vec![0u8; arguments_at + input.arguments.len() * size_of::<ArgumentHeader>()];
    let mut append = |bytes: &[u8], room: usize| {
        let at = base + data.len() as u64;
        data.extend_from_slice(bytes);
        data.resize((at - base) as usize + room + 1, 0);
        // Streams of wider values than bytes may be read at once.
        data.resize(data.len().next_multiple_of(8), 0);
        at
    };
    let program_name = append(name.as_bytes(), name.len());
    let directory = if directory.is_empty() {
        0
    } else {
        append(directory.as_bytes(), directory.len())
    };
    let mut stream_headers = Vec::new();
    for (number, stream) in input.streams.iter().enumerate() {
        if stream.bytes.len() > stream.capacity {
            return Err(wrong(format!(
                "stream {number} has {} bytes, its bound is {}",
                stream.bytes.len(),
                stream.capacity
            )));
        }
        if stream.name.contains('\0') {
            return Err(wrong(format!(
                "the name of stream {number} contains a NUL byte"
            )));
        }
        if stream.kind == changeling_trace::layout::StreamKind::Environment {
            check_name(&stream.name)?;
        }
        stream_headers.push(StreamHeader {
            kind: stream.kind as u32,
            reserved: 0,
            length: stream.bytes.len() as u64,
            capacity: stream.capacity as u64,
            data: append(&stream.bytes, stream.capacity),
            name: append(stream.name.as_bytes(), stream.name.len()),
        });
    }
    let mut argument_headers = Vec::new();
    for (number, argument) in input.arguments.iter().enumerate() {
        argument_headers.push(match argument {
            Argument::Fixed(text) => ArgumentHeader {
                stream: u32::MAX,
                reserved: 0,
                text: append(text, text.len()),
            },
            Argument::Symbolic(stream) if *stream < input.streams.len() => ArgumentHeader {
                stream: *stream as u32,
                reserved: 0,
                text: 0,
            },
            Argument::Symbolic(stream) => {
                return Err(wrong(format!(
                    "argument {number} refers to stream {stream}, which does not exist"
                )));
            }
        });
    }
    let header = InputHeader {
        stream_count: input.streams.len() as u32,
        argument_count: input.arguments.len() as u32,
        arguments: base + arguments_at as u64,
        program_name,
        directory,
    };
    let mut put = |at: usize, bytes: &[u8]| data[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, bytes_of(&header));
    for (index, header) in stream_headers.iter().enumerate() {
        put(
            streams_at + index * size_of::<StreamHeader>(),
            bytes_of(header),
        );
    }
    for (index, header) in argument_headers.iter().enumerate() {
        put(
            arguments_at + index * size_of::<ArgumentHeader>(),
            bytes_of(header),
        );
    }
    Ok(data)
}

/// Types of the layout: repr(C), integers only, no padding.
trait Layout: Copy {}
impl Layout for Header {}
impl Layout for InputHeader {}
impl Layout for StreamHeader {}
impl Layout for ArgumentHeader {}
impl Layout for Node {}
impl Layout for Event {}

// Two adjacent 32-bit words, all others 64-bit: nothing between them.
const _: () =
    assert!(size_of::<Header>().is_multiple_of(8) && std::mem::offset_of!(Header, size) == 16);
const _: () = assert!(size_of::<InputHeader>() == 32);
const _: () = assert!(size_of::<StreamHeader>() == 40);
const _: () = assert!(size_of::<ArgumentHeader>() == 16);

fn bytes_of<T: Layout>(value: &T) -> &[u8] {
    // SAFETY: `Layout` types have no padding, so every byte is initialised.
    unsafe { std::slice::from_raw_parts((value as *const T).cast(), size_of::<T>()) }
}

/// A region of the mapping as records. Regions start on pages, so they are aligned for every record.
fn plain_slice<T: Layout>(bytes: &[u8]) -> &[T] {
    assert!(bytes.as_ptr().cast::<T>().is_aligned());
    // SAFETY: aligned, inside the slice by division, and any bytes are a valid `Layout` value.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) }
}

/// The whole file, read-only in this process.
#[derive(Debug)]
struct Mapping {
    start: *const u8,
    size: usize,
}

// SAFETY: the mapping belongs to the value and is only read.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: &File, size: usize) -> io::Result<Mapping> {
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing of ours.
        let start = unsafe {
            let (protection, flags) = (libc::PROT_READ, libc::MAP_SHARED | libc::MAP_NORESERVE);
            libc::mmap(
                std::ptr::null_mut(),
                size,
                protection,
                flags,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapping {
            start: start.cast(),
            size,
        })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the file's size is sealed, so all of the mapping can be read as long as `self` lives. Between runs
        // nobody writes to it: the supervisor has ended every process of the run, and the fork server waits. Should a
        // hostile server write all the same, values change but any bytes are valid values of all types read here.
        unsafe { std::slice::from_raw_parts(self.start, self.size) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made by `mmap` with this size; every borrow of it has ended.
        unsafe { libc::munmap(self.start.cast_mut().cast(), self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_trace::input::{Stream, StreamKind};
    use std::mem::offset_of;

    fn shape() -> Input {
        let stream = |kind, name: &str, bytes: &[u8]| Stream {
            kind,
            name: name.into(),
            capacity: 9,
            bytes: bytes.to_vec(),
        };
        Input {
            streams: vec![
                stream(StreamKind::Stdin, "", b"abc"),
                stream(StreamKind::Argument, "", b"x"),
            ],
            arguments: vec![Argument::Fixed(b"-v".to_vec()), Argument::Symbolic(1)],
        }
    }

    fn small() -> Capacities {
        Capacities {
            nodes: 100,
            events: 100,
            table_bytes: 100,
            string_bytes: 100,
            blocks: 100,
        }
    }

    fn word(bytes: &[u8], at: u64) -> u64 {
        u64::from_le_bytes(bytes[at as usize..at as usize + 8].try_into().unwrap())
    }

    #[test]
    fn the_input_lies_where_its_headers_say() {
        let mut shared = Shared::create(&shape(), &small()).unwrap();
        shared.reset(&shape(), "prog", "/w").unwrap();
        let bytes = shared.mapping.bytes();
        let input = shared.layout.input;
        let text = |at: u64| {
            bytes[at as usize..]
                .split(|&byte| byte == 0)
                .next()
                .unwrap()
        };
        assert_eq!(text(word(bytes, input + 16)), b"prog");
        assert_eq!(text(word(bytes, input + 24)), b"/w");
        let first = input + 32;
        assert_eq!((word(bytes, first + 8), word(bytes, first + 16)), (3, 9));
        assert_eq!(text(word(bytes, first + 24)), b"abc");
        let arguments = word(bytes, input + 8);
        assert_eq!(text(word(bytes, arguments + 8)), b"-v");
        assert_eq!(word(bytes, arguments + 16) as u32, 1);
    }

    #[test]
    fn another_shape_is_refused() {
        let mut shared = Shared::create(&shape(), &small()).unwrap();
        let mut other = shape();
        other.streams[0].capacity = 10;
        assert!(matches!(
            shared.reset(&other, "p", "/w"),
            Err(ExecError::Shape { .. })
        ));
        other = shape();
        other.streams[0].bytes = vec![0; 10];
        assert!(matches!(
            shared.reset(&other, "p", "/w"),
            Err(ExecError::Input { .. })
        ));
        other = shape();
        other.arguments[1] = Argument::Symbolic(7);
        assert!(matches!(
            shared.reset(&other, "p", "/w"),
            Err(ExecError::Input { .. })
        ));
    }

    #[test]
    fn false_counters_give_an_empty_trace() {
        let mut shared = Shared::create(&shape(), &small()).unwrap();
        shared.reset(&shape(), "p", "/w").unwrap();
        assert!(shared.trace().intact && shared.trace().nodes.len() == 1);
        let counters = [
            offset_of!(Header, node_count),
            offset_of!(Header, event_count),
            offset_of!(Header, table_bytes),
            offset_of!(Header, string_bytes),
            offset_of!(Header, block_count),
        ];
        for offset in counters.map(|offset| offset as u64) {
            shared.reset(&shape(), "p", "/w").unwrap();
            shared
                .file
                .write_all_at(&u64::MAX.to_le_bytes(), offset)
                .unwrap();
            let trace = shared.trace();
            assert!(
                !trace.intact && trace.nodes.is_empty() && trace.coverage.is_empty(),
                "offset {offset}"
            );
        }
    }

    #[test]
    fn absurd_capacities_are_refused() {
        let capacities = Capacities {
            nodes: u64::MAX,
            ..small()
        };
        assert!(Shared::create(&shape(), &capacities).is_err());
    }
}
