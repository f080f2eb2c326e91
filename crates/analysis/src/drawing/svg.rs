//! An arranged drawing as SVG.

use std::fmt::Write;

use super::layout::{LINE, Layout};
use super::{Drawing, Look};

const TITLE: f64 = 28.0;

pub fn render(drawing: &Drawing, layout: &Layout) -> String {
    let title_width = drawing.title.chars().count() as f64 * 9.0 + 20.0;
    let width = layout.width.max(title_width);
    let height = layout.height + TITLE;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"ui-monospace, monospace\" font-size=\"12\">"
    );
    let _ = writeln!(out, "<title>{}</title>", escaped(&drawing.title));
    out.push_str(
        "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" \
         markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#555\"/></marker></defs>\n",
    );
    out.push_str("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    let _ = writeln!(
        out,
        "<text x=\"8\" y=\"18\" font-weight=\"bold\" font-size=\"14\">{}</text>",
        escaped(&drawing.title)
    );
    let _ = writeln!(out, "<g transform=\"translate(0 {TITLE})\">");
    for (arrow, corners) in drawing.arrows.iter().zip(&layout.arrows) {
        let dash = if arrow.dashed {
            " stroke-dasharray=\"5 3\""
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "<path d=\"{}\" fill=\"none\" stroke=\"#555\"{dash} marker-end=\"url(#head)\"/>",
            path(corners)
        );
    }
    for (shape, placed) in drawing.boxes.iter().zip(&layout.boxes) {
        let (fill, stroke, dash) = match shape.look {
            Look::Plain => ("#f8f8f8", "#333", ""),
            Look::End => ("#fff", "#333", ""),
            Look::Changed => ("#ffe2b8", "#b36b00", ""),
            Look::Gone => ("#f6d5d5", "#a33", " stroke-dasharray=\"4 3\""),
            Look::Meeting => ("#d9e8ff", "#2b5ea8", ""),
            Look::Output => ("#dcf2d9", "#2f7d32", ""),
        };
        let round = if shape.look == Look::End { 12 } else { 3 };
        let (left, top) = (
            placed.x - placed.width / 2.0,
            placed.y - placed.height / 2.0,
        );
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{round}\" \
             fill=\"{fill}\" stroke=\"{stroke}\"{dash}/>",
            placed.width, placed.height
        );
        for (n, line) in shape.lines.iter().enumerate() {
            let y = top + 16.0 + n as f64 * LINE;
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{y:.1}\" xml:space=\"preserve\">{}</text>",
                left + 8.0,
                escaped(line)
            );
        }
    }
    // Labels last, with a light border, so that nothing hides them.
    for (arrow, corners) in drawing.arrows.iter().zip(&layout.arrows) {
        if let (false, [first, second, ..]) = (arrow.label.is_empty(), &corners[..]) {
            let down = second.1 > first.1;
            let part = 0.35;
            let x = first.0 + (second.0 - first.0) * part + 3.0;
            let y = first.1 + (second.1 - first.1) * part + if down { 4.0 } else { -2.0 };
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"#8a1c1c\" stroke=\"#fff\" stroke-width=\"3\" \
                 paint-order=\"stroke\" font-size=\"11\">{}</text>",
                escaped(&arrow.label)
            );
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// Straight through layers, curved between them.
fn path(corners: &[(f64, f64)]) -> String {
    let mut path = String::new();
    let Some(&(x, y)) = corners.first() else {
        return path;
    };
    let _ = write!(path, "M{x:.1} {y:.1}");
    for pair in corners.windows(2) {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        if (x0 - x1).abs() < 0.5 || (y0 - y1).abs() < 0.5 {
            let _ = write!(path, " L{x1:.1} {y1:.1}");
        } else {
            let middle = (y0 + y1) / 2.0;
            let _ = write!(
                path,
                " C{x0:.1} {middle:.1} {x1:.1} {middle:.1} {x1:.1} {y1:.1}"
            );
        }
    }
    path
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Not allowed in XML at all.
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
