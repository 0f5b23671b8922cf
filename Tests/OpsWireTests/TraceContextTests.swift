import OpsWire
import Testing

@Suite struct TraceContextTests {
    @Test func `ids have the form of W3C Trace Context and differ`() {
        var spans: Set<String> = []
        var traces: Set<String> = []
        for graph in Int64(1)...100 {
            let trace = TraceContext.trace(instance: "a", graph: graph)
            #expect(trace.utf8.count == 32 && traces.insert(trace).inserted)
            for attempt in 0...3 {
                let span = TraceContext.span(trace: trace, operation: graph, attempt: attempt)
                #expect(span.utf8.count == 16 && spans.insert(span).inserted)
            }
        }
        #expect(TraceContext.trace(instance: "b", graph: 1) != TraceContext.trace(instance: "a", graph: 1))
        #expect(TraceContext.parent(trace: "t", span: "s") == "00-t-s-01")
    }

    /// Processes and exports of different releases must agree.
    @Test func `ids stay the same from release to release`() {
        let trace = TraceContext.trace(instance: "0123456789abcdef", graph: 7)
        #expect(trace == "99229db722b9251a06004e4d393e3f14")
        #expect(TraceContext.span(trace: trace, operation: 12, attempt: 1) == "0f5edcf38dcca259")
    }
}
