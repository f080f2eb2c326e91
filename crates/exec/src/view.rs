//! A trace, read in place: typed events, strings and tables. Everything in it was written by a hostile program, so
//! every number is checked before it is followed.

use changeling_trace::layout::TableHeader;
use changeling_trace::{Event, EventKind, GuardReason, Header, Label, LossReason, Node, event};

/// What one traced run left behind, borrowed from the shared mapping.
#[derive(Clone, Copy, Debug)]
pub struct Trace<'a> {
    /// As the program left it; offsets and capacities in it must not be used.
    pub header: Header,
    /// False if the counters were out of range: then everything below is empty.
    pub intact: bool,
    pub nodes: &'a [Node],
    pub events: &'a [Event],
    pub tables: &'a [u8],
    pub strings: &'a [u8],
    /// One byte per block: 1 if it was executed.
    pub coverage: &'a [u8],
    /// How often the blocks began that are counted, if this run counted.
    pub counted: Option<u64>,
}

/// One event with its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening<'a> {
    /// `caller`: inside a library model, the site in the user's code that called it.
    Branch {
        site: u32,
        label: Label,
        taken: bool,
        caller: u32,
    },
    /// Branches on the bits of `label` from `low` up to but not including `end`.
    Bits {
        site: u32,
        label: Label,
        low: u32,
        end: u32,
        caller: u32,
    },
    Switch {
        site: u32,
        label: Label,
        value: u64,
        caller: u32,
    },
    Guard {
        site: u32,
        label: Label,
        reason: GuardReason,
    },
    Concretize {
        site: u32,
        label: Label,
        value: u64,
        reason: LossReason,
    },
    OutputByte {
        site: u32,
        descriptor: u8,
        offset: u64,
        label: Label,
    },
    /// A printed number: `length` bytes at `offset`, made from `value` by the C conversion `format`.
    OutputValue {
        site: u32,
        descriptor: u8,
        offset: u64,
        label: Label,
        format: &'a [u8],
        value: u64,
        length: u32,
    },
    Observe {
        site: u32,
        name: &'a [u8],
        label: Option<Label>,
        value: u64,
    },
    Loss {
        site: u32,
        label: Label,
        reason: LossReason,
    },
    Mark {
        site: u32,
        number: u32,
    },
    Probe {
        code: u32,
        label: u32,
        value: u64,
    },
    /// Not an event of this format.
    Invalid(Event),
}

/// Contents of an object that was read through a symbolic index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table<'a> {
    pub contents: &'a [u8],
    /// Shadow cells of the contents, if any of them was symbolic.
    pub cells: Option<&'a [u32]>,
}

impl<'a> Trace<'a> {
    /// Events in order, with their index. The two halves of a printed number are one.
    pub fn happenings(&self) -> impl Iterator<Item = (usize, Happening<'a>)> + use<'a> {
        let trace = *self;
        let mut next = 0;
        std::iter::from_fn(move || {
            let index = next;
            let first = trace.events.get(index)?;
            let second = trace.events.get(index + 1);
            next += 1;
            let happening = trace
                .read(first, second)
                .unwrap_or(Happening::Invalid(*first));
            if matches!(happening, Happening::OutputValue { .. }) {
                next += 1;
            }
            Some((index, happening))
        })
    }

    /// The string that starts at an offset of the string table.
    pub fn string(&self, offset: u32) -> Option<&'a [u8]> {
        let rest = self.strings.get(offset as usize..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        Some(&rest[..end])
    }

    /// The table with this number (the byte offset of its header).
    pub fn table(&self, number: u32) -> Option<Table<'a>> {
        let start = number as usize;
        if !start.is_multiple_of(align_of::<u32>()) {
            return None;
        }
        let header = self.tables.get(start..start + size_of::<TableHeader>())?;
        let word = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (size, labelled) = (word(0) as usize, word(4));
        let body = self.tables.get(start + size_of::<TableHeader>()..)?;
        let contents = body.get(..size)?;
        let cells = match labelled {
            0 => None,
            _ => Some(cells(
                body.get(size.next_multiple_of(4)..)?
                    .get(..size.checked_mul(4)?)?,
            )?),
        };
        Some(Table { contents, cells })
    }

    /// The node of a label; none for 0 and for labels that were never given out.
    pub fn node(&self, label: Label) -> Option<&'a Node> {
        if label == 0 {
            None
        } else {
            self.nodes.get(label as usize)
        }
    }

    /// Numbers of the blocks that were executed.
    pub fn executed(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.coverage
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte != 0)
            .map(|(block, _)| block)
    }

    fn read(&self, first: &Event, second: Option<&Event>) -> Option<Happening<'a>> {
        let Event {
            flags,
            site,
            label,
            aux,
            value,
            ..
        } = *first;
        Some(match EventKind::from_u8(first.kind)? {
            EventKind::Branch => Happening::Branch {
                site,
                label,
                taken: flags & event::TAKEN != 0,
                caller: aux,
            },
            EventKind::Bits => Happening::Bits {
                site,
                label,
                low: event::bits::low(value),
                end: event::bits::end(value),
                caller: aux,
            },
            EventKind::Switch => Happening::Switch {
                site,
                label,
                value,
                caller: aux,
            },
            EventKind::Guard => Happening::Guard {
                site,
                label,
                reason: GuardReason::from_u32(aux)?,
            },
            EventKind::Concretize => Happening::Concretize {
                site,
                label,
                value,
                reason: LossReason::from_u32(aux)?,
            },
            EventKind::OutputByte => Happening::OutputByte {
                site,
                descriptor: flags,
                offset: value,
                label,
            },
            EventKind::OutputValue => {
                let extent = second.filter(|next| {
                    EventKind::from_u8(next.kind) == Some(EventKind::OutputExtent)
                })?;
                Happening::OutputValue {
                    site,
                    descriptor: flags,
                    offset: value,
                    label,
                    format: self.string(aux)?,
                    value: extent.value,
                    length: extent.aux,
                }
            }
            EventKind::OutputExtent => return None,
            EventKind::Observe => {
                let label = (flags & 1 != 0).then_some(label);
                Happening::Observe {
                    site,
                    name: self.string(aux)?,
                    label,
                    value,
                }
            }
            EventKind::Loss => Happening::Loss {
                site,
                label,
                reason: LossReason::from_u32(aux)?,
            },
            EventKind::Mark => Happening::Mark { site, number: aux },
            EventKind::Probe => Happening::Probe {
                code: aux,
                label,
                value,
            },
        })
    }
}

fn cells(bytes: &[u8]) -> Option<&[u32]> {
    // SAFETY: any bytes are valid integers; `align_to` keeps to the alignment.
    let (before, cells, after) = unsafe { bytes.align_to::<u32>() };
    (before.is_empty() && after.is_empty()).then_some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: u8, flags: u8, label: u32, aux: u32, value: u64) -> Event {
        Event {
            kind,
            flags,
            thread: 0,
            site: 5,
            label,
            aux,
            value,
        }
    }

    fn trace<'a>(events: &'a [Event], tables: &'a [u8], strings: &'a [u8]) -> Trace<'a> {
        Trace {
            header: Header::default(),
            intact: true,
            nodes: &[],
            events,
            tables,
            strings,
            coverage: &[1, 0, 1],
            counted: None,
        }
    }

    #[test]
    fn a_printed_number_is_one_happening() {
        let events = [
            event(6, 1, 9, 1, 4),
            event(7, 0, 0, 2, 42),
            event(1, 1, 3, 0, 0),
        ];
        let trace = trace(&events, &[], b"\0%d\0");
        let found: Vec<_> = trace.happenings().collect();
        let value = Happening::OutputValue {
            site: 5,
            descriptor: 1,
            offset: 4,
            label: 9,
            format: b"%d",
            value: 42,
            length: 2,
        };
        assert_eq!(
            found,
            [
                (0, value),
                (
                    2,
                    Happening::Branch {
                        site: 5,
                        label: 3,
                        taken: true,
                        caller: 0
                    }
                )
            ]
        );
    }

    #[test]
    fn events_that_make_no_sense_are_invalid_and_do_not_hide_others() {
        // Unknown kind, unknown reason, half a number, name beyond the table.
        let events = [
            event(99, 0, 0, 0, 0),
            event(3, 0, 0, 77, 0),
            event(6, 1, 9, 0, 4),
            event(8, 0, 0, 500, 0),
            event(10, 0, 0, 2, 0),
        ];
        let trace = trace(&events, &[], b"\0");
        let found: Vec<_> = trace.happenings().map(|(_, happening)| happening).collect();
        assert_eq!(found.len(), 5);
        assert!(
            found[..4]
                .iter()
                .all(|happening| matches!(happening, Happening::Invalid(_)))
        );
        assert_eq!(found[4], Happening::Mark { site: 5, number: 2 });
    }

    #[test]
    fn tables_and_strings_never_leave_their_region() {
        let mut words = vec![3u32, 1, 0x0063_6261, 7, 8, 9, u32::MAX, 0, 1];
        words.push(u32::MAX);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (_, aligned, _) = unsafe { words.align_to::<u8>() };
        assert_eq!(aligned, bytes);
        let trace = trace(&[], aligned, b"\0open");
        assert_eq!(
            trace.table(0),
            Some(Table {
                contents: b"abc",
                cells: Some(&[7, 8, 9])
            })
        );
        assert_eq!(trace.table(24), None);
        assert_eq!(
            (trace.table(1), trace.table(36), trace.table(u32::MAX - 3)),
            (None, None, None)
        );
        assert_eq!(
            (trace.string(0), trace.string(1), trace.string(99)),
            (Some(&b""[..]), None, None)
        );
        assert_eq!(trace.executed().collect::<Vec<_>>(), [0, 2]);
    }
}
