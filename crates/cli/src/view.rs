//! A trace as the search reads it.

use changeling_exec::{Observation, Trace};
use changeling_explore::runner::{TraceView, TracedRun};

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
        },
    }
}
