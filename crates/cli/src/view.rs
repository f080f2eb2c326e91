//! A trace as the search reads it.

use changeling_exec::{Observation, Trace};
use changeling_explore::runner::{Branches, TraceView, TracedRun};
use changeling_trace::{Event, EventKind};
use std::collections::HashSet;

/// How many branches a run came by, if it counted them; `sites` are those of all branches.
pub fn branches(trace: &Trace<'_>, sites: &HashSet<u32>) -> Option<Branches> {
    let kinds = [EventKind::Branch, EventKind::Switch].map(|kind| kind as u8);
    let decides = |event: &&Event| kinds.contains(&event.kind) && sites.contains(&event.site);
    trace.counted.map(|executed| Branches {
        executed,
        symbolic: trace.events.iter().filter(decides).count() as u64,
    })
}

pub fn traced_run(observation: Observation, trace: Trace<'_>) -> TracedRun<'_> {
    let header = trace.header;
    TracedRun {
        observation,
        trace: TraceView {
            nodes: trace.nodes,
            events: trace.events,
            tables: trace.tables,
            strings: trace.strings,
            coverage: trace.coverage,
            run_flags: header.run_flags,
            intact: trace.intact,
            refused: header.nodes_refused.saturating_add(header.events_refused),
            output_totals: header.output_totals,
            branches: None,
        },
    }
}
