//! S-expressions, kept flat so that deep nesting costs no stack.

use super::read::ReadError;

/// Index of a node in [`Sexps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id(usize);

#[derive(Debug)]
pub(crate) enum Sexp {
    /// A word, number, keyword or literal, as written.
    Atom(String),
    /// A quoted text without its quotes.
    Text(String),
    List(Vec<Id>),
}

pub(crate) struct Sexps {
    nodes: Vec<(Sexp, u32)>,
    pub top: Vec<Id>,
}

impl Sexps {
    pub fn parse(text: &str) -> Result<Sexps, ReadError> {
        let mut sexps = Sexps {
            nodes: Vec::new(),
            top: Vec::new(),
        };
        let mut open: Vec<(Vec<Id>, u32)> = Vec::new();
        let mut line = 1u32;
        let mut chars = text.char_indices().peekable();
        while let Some((start, c)) = chars.next() {
            let node = match c {
                '\n' => {
                    line += 1;
                    continue;
                }
                c if c.is_whitespace() => continue,
                ';' => {
                    while chars.next_if(|&(_, c)| c != '\n').is_some() {}
                    continue;
                }
                '(' => {
                    open.push((Vec::new(), line));
                    continue;
                }
                ')' => {
                    let Some((children, at)) = open.pop() else {
                        return Err(ReadError::new(line, "`)` without its `(`"));
                    };
                    (Sexp::List(children), at)
                }
                '"' | '|' => {
                    let begin = line;
                    let mut content = String::new();
                    loop {
                        match chars.next() {
                            None => return Err(ReadError::new(begin, "a quote is not closed")),
                            Some((_, next)) if next == c => break,
                            Some((_, next)) => {
                                line += u32::from(next == '\n');
                                content.push(next);
                            }
                        }
                    }
                    (
                        if c == '"' {
                            Sexp::Text(content)
                        } else {
                            Sexp::Atom(content)
                        },
                        begin,
                    )
                }
                _ => {
                    let mut end = start + c.len_utf8();
                    while let Some((at, c)) =
                        chars.next_if(|&(_, c)| !c.is_whitespace() && !"();\"|".contains(c))
                    {
                        end = at + c.len_utf8();
                    }
                    (Sexp::Atom(text[start..end].to_string()), line)
                }
            };
            let id = Id(sexps.nodes.len());
            sexps.nodes.push(node);
            match open.last_mut() {
                Some((children, _)) => children.push(id),
                None => sexps.top.push(id),
            }
        }
        match open.pop() {
            Some((_, at)) => Err(ReadError::new(at, "`(` is not closed")),
            None => Ok(sexps),
        }
    }

    pub fn line(&self, id: Id) -> u32 {
        self.nodes[id.0].1
    }

    pub fn atom(&self, id: Id) -> Option<&str> {
        match &self.nodes[id.0].0 {
            Sexp::Atom(text) => Some(text),
            _ => None,
        }
    }

    pub fn text(&self, id: Id) -> Option<&str> {
        match &self.nodes[id.0].0 {
            Sexp::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn list(&self, id: Id) -> Option<&[Id]> {
        match &self.nodes[id.0].0 {
            Sexp::List(children) => Some(children),
            _ => None,
        }
    }

    /// A list that begins with a word.
    pub fn form(&self, id: Id) -> Option<(&str, &[Id])> {
        let (&head, rest) = self.list(id)?.split_first()?;
        Some((self.atom(head)?, rest))
    }
}
