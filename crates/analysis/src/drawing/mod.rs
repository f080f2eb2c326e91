//! Drawings of graphs, as DOT and as SVG.

mod layout;
mod svg;

use std::fmt::Write;

/// Boxes and arrows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    pub title: String,
    pub boxes: Vec<Shape>,
    pub arrows: Vec<Arrow>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its name in the DOT text.
    pub name: String,
    pub lines: Vec<String>,
    pub look: Look,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Look {
    #[default]
    Plain,
    /// An entry or an exit.
    End,
    Changed,
    /// Where something was deleted.
    Gone,
    Meeting,
    Output,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    pub from: usize,
    pub to: usize,
    pub label: String,
    pub dashed: bool,
}

/// The second line of every text.
const NODES: &str = "  node [shape=box, fontname=\"monospace\"];";

impl Drawing {
    pub fn new(title: &str) -> Drawing {
        Drawing {
            title: title.to_owned(),
            ..Drawing::default()
        }
    }

    /// Returns the number of the box.
    pub fn shape(&mut self, name: &str, lines: Vec<String>, look: Look) -> usize {
        self.boxes.push(Shape {
            name: name.to_owned(),
            lines,
            look,
        });
        self.boxes.len() - 1
    }

    pub fn arrow(&mut self, from: usize, to: usize, label: &str, dashed: bool) {
        self.arrows.push(Arrow {
            from,
            to,
            label: label.to_owned(),
            dashed,
        });
    }

    /// Joins arrows between the same boxes into one with all their labels.
    pub fn join_arrows(&mut self) {
        let mut joined: Vec<Arrow> = Vec::new();
        self.arrows
            .sort_by_key(|arrow| (arrow.from, arrow.to, arrow.dashed));
        for arrow in self.arrows.drain(..) {
            let same = |last: &&mut Arrow| {
                (last.from, last.to, last.dashed) == (arrow.from, arrow.to, arrow.dashed)
            };
            match joined.last_mut().filter(same) {
                Some(last) if arrow.label.is_empty() || last.label == arrow.label => {}
                Some(last) if last.label.is_empty() => last.label = arrow.label,
                Some(last) => {
                    last.label.push_str(", ");
                    last.label.push_str(&arrow.label);
                }
                None => joined.push(arrow),
            }
        }
        self.arrows = joined;
    }

    /// Whether a text is one of these.
    pub fn made(text: &str) -> bool {
        text.starts_with("digraph \"") && text.lines().nth(1) == Some(NODES)
    }

    pub fn dot(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "digraph {} {{\n{NODES}", quoted(&self.title));
        for shape in &self.boxes {
            let mut label = quoted(&shape.lines.join("\n")).replace('\n', "\\l");
            if shape.lines.len() > 1 {
                label.insert_str(label.len() - 1, "\\l");
            }
            let look = match shape.look {
                Look::Plain => "",
                Look::End => ", shape=ellipse",
                Look::Changed => ", style=filled, fillcolor=\"#ffe2b8\"",
                Look::Gone => ", style=\"filled,dashed\", fillcolor=\"#f6d5d5\"",
                Look::Meeting => ", style=filled, fillcolor=\"#d9e8ff\"",
                Look::Output => ", style=filled, fillcolor=\"#dcf2d9\"",
            };
            let _ = writeln!(text, "  {} [label={label}{look}];", shape.name);
        }
        for arrow in &self.arrows {
            let (from, to) = (&self.boxes[arrow.from].name, &self.boxes[arrow.to].name);
            let mut attributes = Vec::new();
            if !arrow.label.is_empty() {
                attributes.push(format!("label={}", quoted(&arrow.label)));
            }
            if arrow.dashed {
                attributes.push("style=dashed".to_owned());
            }
            let _ = match attributes.is_empty() {
                true => writeln!(text, "  {from} -> {to};"),
                false => writeln!(text, "  {from} -> {to} [{}];", attributes.join(", ")),
            };
        }
        text.push_str("}\n");
        text
    }

    /// `None` if the graph is too large for a drawing that anybody could read.
    pub fn svg(&self) -> Option<String> {
        layout::arrange(self).map(|layout| svg::render(self, &layout))
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
