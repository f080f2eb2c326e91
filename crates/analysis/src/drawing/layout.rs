//! A layered arrangement: arrows go down where they can, boxes of a layer stand
//! side by side, long arrows pass between the boxes of the layers they cross.

use super::Drawing;
use crate::{Graph, Node};

/// Larger graphs are not drawn.
const BOXES: usize = 1_500;
/// Boxes and bends of arrows together.
const PLACES: usize = 12_000;

pub const CHARACTER: f64 = 7.3;
pub const LINE: f64 = 16.0;
const MARGIN: f64 = 8.0;
const GAP: f64 = 26.0;
const BEND_GAP: f64 = 12.0;
const LAYER_GAP: f64 = 46.0;
const SWEEPS: usize = 12;

pub struct Layout {
    pub width: f64,
    pub height: f64,
    /// Per box: centre and size.
    pub boxes: Vec<Placed>,
    /// Per arrow: its corners, from the start to the head.
    pub arrows: Vec<Vec<(f64, f64)>>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Placed {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

pub fn arrange(drawing: &Drawing) -> Option<Layout> {
    if drawing.boxes.is_empty() || drawing.boxes.len() > BOXES {
        return None;
    }
    let backward = back_arrows(drawing);
    let layer = layers(drawing, &backward);
    let mut grid = Grid::new(drawing, &backward, &layer)?;
    grid.order();
    grid.place();
    Some(grid.layout(drawing, &backward))
}

/// Arrows against the direction of a walk from the first box: reversed, the
/// others and these have no cycle.
fn back_arrows(drawing: &Drawing) -> Vec<bool> {
    let edges: Vec<_> = drawing
        .arrows
        .iter()
        .map(|arrow| (Node::new(arrow.from), Node::new(arrow.to)))
        .collect();
    let graph = Graph::new(drawing.boxes.len(), &edges);
    // A number for each box: ends of walks first.
    let mut finished = vec![usize::MAX; drawing.boxes.len()];
    let mut next = 0;
    for root in graph.nodes() {
        if finished[root.index()] != usize::MAX {
            continue;
        }
        for node in graph.postorder(root) {
            if finished[node.index()] == usize::MAX {
                finished[node.index()] = next;
                next += 1;
            }
        }
    }
    drawing
        .arrows
        .iter()
        .map(|arrow| finished[arrow.from] <= finished[arrow.to])
        .collect()
}

fn ends(drawing: &Drawing, backward: &[bool], arrow: usize) -> (usize, usize) {
    let own = &drawing.arrows[arrow];
    match backward[arrow] {
        true => (own.to, own.from),
        false => (own.from, own.to),
    }
}

/// The longest way from a start.
fn layers(drawing: &Drawing, backward: &[bool]) -> Vec<usize> {
    let count = drawing.boxes.len();
    let edges: Vec<_> = (0..drawing.arrows.len())
        .map(|arrow| ends(drawing, backward, arrow))
        .filter(|(from, to)| from != to)
        .map(|(from, to)| (Node::new(from), Node::new(to)))
        .collect();
    let graph = Graph::new(count, &edges);
    let mut waiting: Vec<usize> = graph.nodes().map(|n| graph.predecessors(n).len()).collect();
    let mut layer = vec![0usize; count];
    let mut work: Vec<Node> = graph.nodes().filter(|n| waiting[n.index()] == 0).collect();
    while let Some(node) = work.pop() {
        for &next in graph.successors(node) {
            layer[next.index()] = layer[next.index()].max(layer[node.index()] + 1);
            waiting[next.index()] -= 1;
            if waiting[next.index()] == 0 {
                work.push(next);
            }
        }
    }
    // Starts that others do not wait for move down to what they lead to.
    for node in graph.nodes().filter(|&n| graph.predecessors(n).is_empty()) {
        let below = graph
            .successors(node)
            .iter()
            .map(|n| layer[n.index()])
            .min();
        if let Some(below) = below.filter(|_| node.0 != 0) {
            layer[node.index()] = below.saturating_sub(1);
        }
    }
    layer
}

/// Boxes and bends, by layer.
struct Grid {
    layers: Vec<Vec<usize>>,
    layer_of: Vec<usize>,
    width: Vec<f64>,
    height: Vec<f64>,
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    /// Per arrow: the bends it passes, from the upper end to the lower.
    bends: Vec<Vec<usize>>,
    boxes: usize,
    x: Vec<f64>,
}

impl Grid {
    fn new(drawing: &Drawing, backward: &[bool], layer: &[usize]) -> Option<Grid> {
        let boxes = drawing.boxes.len();
        let depth = layer.iter().max().map_or(1, |deepest| deepest + 1);
        let mut grid = Grid {
            layers: vec![Vec::new(); depth],
            layer_of: layer.to_vec(),
            width: Vec::new(),
            height: Vec::new(),
            above: vec![Vec::new(); boxes],
            below: vec![Vec::new(); boxes],
            bends: Vec::new(),
            boxes,
            x: Vec::new(),
        };
        for shape in &drawing.boxes {
            let columns = shape.lines.iter().map(|line| line.chars().count()).max();
            grid.width
                .push(columns.unwrap_or(0) as f64 * CHARACTER + 2.0 * MARGIN);
            let lines = shape.lines.len().max(1) as f64;
            grid.height.push(lines * LINE + MARGIN);
        }
        for arrow in 0..drawing.arrows.len() {
            let (from, to) = ends(drawing, backward, arrow);
            let mut bends = Vec::new();
            let mut last = from;
            for between in layer[from] + 1..layer[to].max(layer[from] + 1) {
                if grid.width.len() >= PLACES {
                    return None;
                }
                let bend = grid.bend(between);
                grid.link(last, bend);
                bends.push(bend);
                last = bend;
            }
            if from != to {
                grid.link(last, to);
            }
            grid.bends.push(bends);
        }
        for place in 0..grid.width.len() {
            let layer = grid.layer_of[place];
            grid.layers[layer].push(place);
        }
        Some(grid)
    }

    fn bend(&mut self, layer: usize) -> usize {
        self.layer_of.push(layer);
        self.width.push(0.0);
        self.height.push(0.0);
        self.above.push(Vec::new());
        self.below.push(Vec::new());
        self.width.len() - 1
    }

    fn link(&mut self, upper: usize, lower: usize) {
        self.below[upper].push(lower);
        self.above[lower].push(upper);
    }

    /// Neighbours of neighbours stand near one another, so that arrows cross
    /// little.
    fn order(&mut self) {
        let mut position = vec![0.0; self.width.len()];
        for layer in &self.layers {
            for (n, &place) in layer.iter().enumerate() {
                position[place] = n as f64;
            }
        }
        for sweep in 0..SWEEPS {
            let down = sweep % 2 == 0;
            let depth = self.layers.len();
            for step in 1..depth {
                let layer = if down { step } else { depth - 1 - step };
                let near = if down { &self.above } else { &self.below };
                let mut ranked: Vec<(f64, usize)> = self.layers[layer]
                    .iter()
                    .map(|&place| {
                        let around = &near[place];
                        let sum: f64 = around.iter().map(|&other| position[other]).sum();
                        match around.is_empty() {
                            true => (position[place], place),
                            false => (sum / around.len() as f64, place),
                        }
                    })
                    .collect();
                ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
                for (n, &(_, place)) in ranked.iter().enumerate() {
                    position[place] = n as f64;
                }
                self.layers[layer] = ranked.into_iter().map(|(_, place)| place).collect();
            }
        }
    }

    fn gap(&self, left: usize, right: usize) -> f64 {
        let between = match left >= self.boxes || right >= self.boxes {
            true => BEND_GAP,
            false => GAP,
        };
        self.width[left] / 2.0 + between + self.width[right] / 2.0
    }

    /// Every place wants to be in the middle of its neighbours, without
    /// touching those beside it.
    fn place(&mut self) {
        self.x = vec![0.0; self.width.len()];
        for layer in &self.layers {
            for pair in layer.windows(2) {
                self.x[pair[1]] = self.x[pair[0]] + self.gap(pair[0], pair[1]);
            }
        }
        for sweep in 0..2 * SWEEPS {
            let down = sweep % 2 == 0;
            let depth = self.layers.len();
            for step in 0..depth {
                let layer = if down { step } else { depth - 1 - step };
                self.settle(layer, sweep, down);
            }
        }
    }

    fn settle(&mut self, layer: usize, sweep: usize, down: bool) {
        let places = self.layers[layer].clone();
        let mut wanted: Vec<f64> = places
            .iter()
            .map(|&place| {
                let near: Vec<usize> = match (down, sweep + 2 >= 2 * SWEEPS) {
                    (_, true) => [&self.above[place][..], &self.below[place]].concat(),
                    (true, _) => self.above[place].clone(),
                    (false, _) => self.below[place].clone(),
                };
                let sum: f64 = near.iter().map(|&other| self.x[other]).sum();
                match near.is_empty() {
                    true => self.x[place],
                    false => sum / near.len() as f64,
                }
            })
            .collect();
        // Places that would overlap form a row around the mean of their wishes.
        let mut rows: Vec<(usize, f64, f64)> = Vec::new();
        let mut offset = vec![0.0; places.len()];
        for n in 0..places.len() {
            if n > 0 {
                offset[n] = offset[n - 1] + self.gap(places[n - 1], places[n]);
            }
            wanted[n] -= offset[n];
            rows.push((n, wanted[n], 1.0));
            while let [.., (first, left, many), (_, right, more)] = rows[..] {
                if left <= right {
                    break;
                }
                rows.truncate(rows.len() - 2);
                rows.push((
                    first,
                    (left * many + right * more) / (many + more),
                    many + more,
                ));
            }
        }
        for (n, row) in rows.iter().enumerate() {
            let end = rows.get(n + 1).map_or(places.len(), |next| next.0);
            for at in row.0..end {
                self.x[places[at]] = row.1 + offset[at];
            }
        }
    }

    fn layout(&self, drawing: &Drawing, backward: &[bool]) -> Layout {
        let mut top = MARGIN;
        let mut middle = Vec::with_capacity(self.layers.len());
        let mut half = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            let height = layer.iter().map(|&place| self.height[place]);
            let height = height.fold(LINE, f64::max);
            middle.push(top + height / 2.0);
            half.push(height / 2.0);
            top += height + LAYER_GAP;
        }
        let edge = |sign: f64| {
            let ends = (0..self.width.len()).map(|n| sign * self.x[n] + self.width[n] / 2.0);
            ends.fold(f64::MIN, f64::max)
        };
        let left = edge(-1.0) + MARGIN;
        // Arrows from a box to itself stand out to the right.
        let width = edge(1.0) + left + 60.0;
        let at = |place: usize| (self.x[place] + left, middle[self.layer_of[place]]);
        let boxes = (0..self.boxes).map(|n| Placed {
            x: at(n).0,
            y: at(n).1,
            width: self.width[n],
            height: self.height[n],
        });
        let boxes: Vec<Placed> = boxes.collect();
        let ports = self.ports(drawing, backward);
        let arrows = (0..drawing.arrows.len()).map(|arrow| {
            let (from, to) = ends(drawing, backward, arrow);
            let (upper, lower) = (boxes[from], boxes[to]);
            if from == to {
                let right = upper.x + upper.width / 2.0;
                let reach = right + 24.0;
                return vec![
                    (right, upper.y + upper.height / 4.0),
                    (reach, upper.y + upper.height / 4.0),
                    (reach, upper.y - upper.height / 4.0),
                    (right, upper.y - upper.height / 4.0),
                ];
            }
            let (start, end) = ports[arrow];
            let mut corners = vec![(upper.x + start, upper.y + upper.height / 2.0)];
            for &bend in &self.bends[arrow] {
                let (x, y) = at(bend);
                let half = half[self.layer_of[bend]];
                corners.extend([(x, y - half), (x, y + half)]);
            }
            corners.push((lower.x + end, lower.y - lower.height / 2.0));
            if backward[arrow] {
                corners.reverse();
            }
            corners
        });
        let arrows = arrows.collect();
        Layout {
            width,
            height: top - LAYER_GAP + MARGIN,
            boxes,
            arrows,
        }
    }

    /// Where each arrow leaves its upper box and enters its lower one, from the
    /// middle: those of one box side by side, in the order of where they go.
    fn ports(&self, drawing: &Drawing, backward: &[bool]) -> Vec<(f64, f64)> {
        let mut ports = vec![(0.0, 0.0); drawing.arrows.len()];
        let mut leaving: Vec<Vec<(f64, usize)>> = vec![Vec::new(); self.boxes];
        let mut entering: Vec<Vec<(f64, usize)>> = vec![Vec::new(); self.boxes];
        for arrow in 0..drawing.arrows.len() {
            let (from, to) = ends(drawing, backward, arrow);
            if from != to {
                let below = self.bends[arrow].first().copied().unwrap_or(to);
                let above = self.bends[arrow].last().copied().unwrap_or(from);
                leaving[from].push((self.x[below], arrow));
                entering[to].push((self.x[above], arrow));
            }
        }
        for n in 0..self.boxes {
            let room = (self.width[n] - 2.0 * MARGIN).max(0.0);
            for (list, upper) in [(&mut leaving[n], true), (&mut entering[n], false)] {
                list.sort_by(|a, b| a.0.total_cmp(&b.0));
                let step = (room / list.len() as f64).min(GAP);
                let first = -step * (list.len() as f64 - 1.0) / 2.0;
                for (place, &(_, arrow)) in list.iter().enumerate() {
                    let offset = first + step * place as f64;
                    match upper {
                        true => ports[arrow].0 = offset,
                        false => ports[arrow].1 = offset,
                    }
                }
            }
        }
        ports
    }
}
