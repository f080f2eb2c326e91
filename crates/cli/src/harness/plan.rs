//! How each parameter of a C or C++ function is made from bytes.

use super::names::{Names, says_end, says_length};
use changeling_program::{Indirection, Record, Signature, SourceType, SourceTypeId};

/// A parameter, or a member of a structure, and how it comes to its value.
pub struct Slot {
    /// The variable or member that holds it.
    pub place: String,
    pub ty: SourceTypeId,
    pub way: Way,
}

pub enum Way {
    /// So many bytes as a number.
    Number {
        bytes: u64,
    },
    /// Bytes as they are: floating point, arrays of numbers.
    Raw {
        bytes: u64,
    },
    Flag,
    /// A structure, by its members.
    Members(Vec<Slot>),
    /// Characters with a zero at the end.
    Text {
        constant: bool,
    },
    /// Elements, with their number in another slot.
    Buffer {
        element: Option<SourceTypeId>,
        constant: bool,
        /// Places of what goes with it.
        length: Option<String>,
        end: Option<String>,
    },
    /// The number of elements, or the end, of the buffer of that place.
    BufferLength,
    BufferEnd,
    /// A pointer or reference to a variable of its own; without contents it is zero before the call.
    Behind {
        target: SourceTypeId,
        constant: bool,
        contents: Option<Box<Slot>>,
    },
    /// `std::string`, `std::string_view` or `std::vector` of numbers.
    Library {
        text: String,
        constant: bool,
    },
    /// Stays zero, for a reason.
    Zero(String),
}

impl Way {
    /// Bytes that are taken from the input before parts of any length.
    pub fn fixed(&self) -> u64 {
        match self {
            Way::Number { bytes } | Way::Raw { bytes } => *bytes,
            Way::Flag => 1,
            Way::Members(slots) => slots.iter().map(|slot| slot.way.fixed()).sum(),
            Way::Behind { contents, .. } => contents.as_ref().map_or(0, |slot| slot.way.fixed()),
            _ => 0,
        }
    }

    /// Parts that may have any length.
    pub fn parts(&self) -> usize {
        match self {
            Way::Text { .. } | Way::Buffer { .. } | Way::Library { .. } => 1,
            Way::Members(slots) => slots.iter().map(|slot| slot.way.parts()).sum(),
            Way::Behind { contents, .. } => contents.as_ref().map_or(0, |slot| slot.way.parts()),
            _ => 0,
        }
    }
}

pub struct Planner<'a> {
    pub signature: &'a Signature,
}

/// Structures in structures, at most this deep.
const DEEPEST: usize = 8;

impl Planner<'_> {
    /// A slot for each parameter; reasons for those that cannot be made.
    pub fn parameters(&self, names: &mut Names) -> Result<Vec<Slot>, Vec<String>> {
        let mut slots = Vec::new();
        let mut refused = Vec::new();
        for (number, parameter) in self.signature.parameters.iter().enumerate() {
            let shown = match parameter.name.is_empty() {
                true => format!("parameter {}", number + 1),
                false => format!("`{}`", parameter.name),
            };
            let Some(ty) = parameter.ty else {
                refused.push(format!("{shown}: its type is not known"));
                continue;
            };
            let wanted = match parameter.name.is_empty() {
                true => format!("argument{}", number + 1),
                false => parameter.name.clone(),
            };
            let place = names.free(&wanted);
            // In their places, so that a length stays beside its pointer.
            let way = self.way(ty, 0).unwrap_or_else(Way::Zero);
            slots.push((wanted, Slot { place, ty, way }));
        }
        let slots = self.paired(slots);
        for slot in &slots {
            if let Way::Zero(reason) = &slot.way {
                refused.push(format!("`{}`: {reason}", slot.place));
            }
        }
        match refused.is_empty() {
            true => Ok(slots),
            false => Err(refused),
        }
    }

    fn way(&self, ty: SourceTypeId, depth: usize) -> Result<Way, String> {
        Ok(match self.signature.plain(ty) {
            SourceType::Integer { bits, name, .. } if *bits > 64 => {
                return Err(format!("`{name}` is wider than 64 bits"));
            }
            SourceType::Integer { bits, .. }
            | SourceType::Character { bits, .. }
            | SourceType::Enumeration { bits, .. } => Way::Number { bytes: bits / 8 },
            SourceType::Float { bits, .. } => Way::Raw { bytes: bits / 8 },
            SourceType::Boolean => Way::Flag,
            SourceType::Record(record) => {
                self.record(record, self.signature.is_const(ty), depth)?
            }
            SourceType::Array { element, lengths } => self.array(*element, lengths, depth)?,
            SourceType::Indirect { kind, target, .. } => self.indirect(*kind, *target, depth)?,
            SourceType::Function => return Err("it is a function".into()),
            SourceType::Void | SourceType::Qualified { .. } | SourceType::Alias { .. } => {
                return Err("it has no type that can be made".into());
            }
            SourceType::Other { name } => return Err(format!("its type `{name}` is not known")),
        })
    }

    fn record(&self, record: &Record, constant: bool, depth: usize) -> Result<Way, String> {
        if let Some(text) = library_type(record) {
            return Ok(Way::Library { text, constant });
        }
        let shown = match record.name.is_empty() {
            true => "it is a structure without a name that".to_string(),
            false => format!("`{}`", record.name),
        };
        if record.declaration {
            return Err(format!("{shown} is declared but not defined"));
        }
        if !record.plain {
            return Err(format!(
                "{shown} has base classes, virtual functions or a constructor of its own"
            ));
        }
        if depth > DEEPEST {
            return Err(format!("{shown} is nested too deep"));
        }
        if matches!(record.kind, changeling_program::RecordKind::Union) {
            return Ok(Way::Raw {
                bytes: record.bits / 8,
            });
        }
        let mut slots = Vec::new();
        for member in &record.members {
            let Some(ty) = member.ty else { continue };
            let way = if member.name.is_empty() {
                Way::Zero("it has no name".into())
            } else if self.points_to_record(ty) && depth > 0 {
                Way::Zero("a pointer to a structure inside a structure".into())
            } else if member.bit_field {
                Way::Number {
                    bytes: member.bits.div_ceil(8),
                }
            } else {
                self.way(ty, depth + 1).unwrap_or_else(Way::Zero)
            };
            let way = match way {
                // One variable each would be needed, beside the structure.
                Way::Behind { .. } => Way::Zero("a pointer to a single value".into()),
                way => way,
            };
            let place = member.name.clone();
            slots.push((place.clone(), Slot { place, ty, way }));
        }
        Ok(Way::Members(self.paired(slots)))
    }

    fn points_to_record(&self, ty: SourceTypeId) -> bool {
        match self.signature.plain(ty) {
            SourceType::Indirect {
                target: Some(target),
                ..
            } => matches!(self.signature.plain(*target), SourceType::Record(_)),
            _ => false,
        }
    }

    fn array(
        &self,
        element: SourceTypeId,
        lengths: &[Option<u64>],
        depth: usize,
    ) -> Result<Way, String> {
        let count = lengths.iter().try_fold(1u64, |product, length| {
            length.and_then(|length| product.checked_mul(length))
        });
        let Some(count) = count.filter(|count| *count <= 4096) else {
            return Ok(Way::Zero("an array of unknown or great length".into()));
        };
        Ok(match self.way(element, depth + 1)? {
            Way::Number { bytes } | Way::Raw { bytes } => Way::Raw {
                bytes: bytes * count,
            },
            _ => Way::Zero("an array of something else than numbers".into()),
        })
    }

    fn indirect(
        &self,
        kind: Indirection,
        target: Option<SourceTypeId>,
        depth: usize,
    ) -> Result<Way, String> {
        let Some(target) = target else {
            // Needs a length beside it; `paired` finds out.
            return Ok(Way::Buffer {
                element: None,
                constant: false,
                length: None,
                end: None,
            });
        };
        let constant = self.signature.is_const(target);
        let reference = kind != Indirection::Pointer;
        match self.signature.plain(target) {
            SourceType::Void => Ok(Way::Buffer {
                element: None,
                constant,
                length: None,
                end: None,
            }),
            SourceType::Character { bits: 8, .. } if !reference => Ok(Way::Text { constant }),
            SourceType::Function => Err("it is a pointer to a function".into()),
            SourceType::Indirect { .. } => Err("it is a pointer to a pointer".into()),
            SourceType::Record(record) if library_type(record).is_some() => {
                match (reference, self.record(record, constant, depth)?) {
                    (true, way) => Ok(way),
                    (false, _) => Err(format!("it is a pointer to `{}`", record.name)),
                }
            }
            SourceType::Record(record) if record.declaration => Err(format!(
                "it is a pointer to `{}`, which is declared but not defined",
                record.name
            )),
            _ => {
                let way = self.way(target, depth + 1)?;
                let contents = constant.then(|| {
                    Box::new(Slot {
                        place: String::new(),
                        ty: target,
                        way,
                    })
                });
                Ok(Way::Behind {
                    target,
                    constant,
                    contents,
                })
            }
        }
    }

    /// Finds out which numbers are lengths of which pointers.
    fn paired(&self, slots: Vec<(String, Slot)>) -> Vec<Slot> {
        let names: Vec<String> = slots.iter().map(|(name, _)| name.clone()).collect();
        let mut slots: Vec<Slot> = slots.into_iter().map(|(_, slot)| slot).collect();
        for at in 0..slots.len() {
            let Some((element, constant, bytes)) = self.elements(&slots[at]) else {
                continue;
            };
            let is_number = |slots: &[Slot], at: usize| {
                slots.get(at).is_some_and(|slot| {
                    matches!(slot.way, Way::Number { .. })
                        && matches!(self.signature.plain(slot.ty), SourceType::Integer { .. })
                })
            };
            let wide =
                |slots: &[Slot], at: usize| matches!(slots[at].way, Way::Number { bytes: 4.. });
            let length_of =
                |name: &str, buffer: &str| says_length(name) || *name == format!("n{buffer}");
            let next = at + 1;
            let after = is_number(&slots, next)
                && (length_of(&names[next], &names[at]) || bytes && wide(&slots, next));
            let before =
                at > 0 && is_number(&slots, at - 1) && length_of(&names[at - 1], &names[at]);
            let length = match (after, before) {
                (true, _) => Some(next),
                (false, true) => Some(at - 1),
                _ => None,
            };
            let same = |slots: &[Slot]| {
                self.elements(&slots[next]).map(|(element, ..)| element) == Some(element)
            };
            let end =
                (next < slots.len() && says_end(&names[next]) && same(&slots)).then_some(next);
            if length.is_none() && end.is_none() {
                continue;
            }
            if let Some(length) = length {
                slots[length].way = Way::BufferLength;
            } else if let Some(end) = end {
                slots[end].way = Way::BufferEnd;
            }
            let place = |at: Option<usize>| at.map(|at| slots[at].place.clone());
            slots[at].way = Way::Buffer {
                element,
                constant,
                length: place(length),
                end: place(end.filter(|_| length.is_none())),
            };
        }
        for slot in &mut slots {
            if let Way::Buffer {
                length: None,
                end: None,
                ..
            } = slot.way
            {
                slot.way = Way::Zero("its size is not known".into());
            }
        }
        slots
    }

    /// What a pointer could point to several of: the type, whether it is constant, and whether
    /// a length is more likely than not.
    fn elements(&self, slot: &Slot) -> Option<(Option<SourceTypeId>, bool, bool)> {
        let SourceType::Indirect {
            kind: Indirection::Pointer,
            target,
            ..
        } = self.signature.plain(slot.ty)
        else {
            return None;
        };
        match &slot.way {
            Way::Text { constant } => Some((*target, *constant, true)),
            Way::Buffer { constant, .. } => Some((None, *constant, true)),
            Way::Behind {
                target, constant, ..
            } => match self.signature.plain(*target) {
                SourceType::Integer { bits, .. } => Some((Some(*target), *constant, *bits == 8)),
                SourceType::Float { .. } | SourceType::Character { .. } => {
                    Some((Some(*target), *constant, false))
                }
                SourceType::Record(_) => self
                    .way(*target, 0)
                    .is_ok_and(|way| is_raw(&way))
                    .then_some((Some(*target), *constant, false)),
                _ => None,
            },
            // A pointer to a single value in a structure, so far.
            Way::Zero(_) => match self.signature.plain((*target)?) {
                SourceType::Integer { bits, .. } => {
                    Some((*target, self.signature.is_const((*target)?), *bits == 8))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whether any bytes will do for it.
fn is_raw(way: &Way) -> bool {
    match way {
        Way::Number { .. } | Way::Raw { .. } => true,
        Way::Members(slots) => slots.iter().all(|slot| is_raw(&slot.way)),
        _ => false,
    }
}

/// How a harness writes a type of the C++ library that it can make.
pub fn library_type(record: &Record) -> Option<String> {
    if record.scope.first().is_none_or(|scope| scope.name != "std") {
        return None;
    }
    let inside = |start: &str| record.name.strip_prefix(start);
    if inside("basic_string<char,").is_some() {
        return Some("std::string".into());
    }
    if inside("basic_string_view<char,").is_some() {
        return Some("std::string_view".into());
    }
    let element = inside("vector<")?.split(", std::allocator<").next()?;
    const NUMBERS: [&str; 11] = [
        "char",
        "signed char",
        "unsigned char",
        "short",
        "unsigned short",
        "int",
        "unsigned int",
        "long",
        "unsigned long",
        "long long",
        "unsigned long long",
    ];
    NUMBERS
        .contains(&element)
        .then(|| format!("std::vector<{element}>"))
}
