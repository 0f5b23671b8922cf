internal import OpsWire

/// `export`: writes a graph as a trace.
enum ExportVerb {
    static let chrome = Option.flag("chrome", "for Perfetto and Chrome: the Trace Event Format")
    static let otlp = Option.flag("otlp", "for OpenTelemetry: one TracesData object, with the CI/CD conventions")

    static let verb = Verb(
        "export", .looking, "export a graph as a trace", forms: ["GRAPH --chrome", "GRAPH --otlp"],
        about: [
            "A trace has a span for each operation and each of its attempts, and for the time that an operation "
                + "waited after it was ready. It is made from the stored history; of a running graph it contains "
                + "the part so far.",
            "TRACEPARENT in the environment of a process names its span, so spans that the process itself "
                + "reports to OpenTelemetry become part of the same trace.",
        ],
        operands: .one(.graph, "GRAPH"), options: [OptionGroup("Format", [chrome, otlp])],
        examples: [
            .init("For https://ui.perfetto.dev", "opsctl export g7 --chrome > g7.json"),
            .init(
                "To a collector",
                "opsctl export g7 --otlp | curl -H 'Content-Type: application/json' -d @- http://localhost:4318/v1/traces"
            ),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        guard arguments.has(chrome) != arguments.has(otlp) else {
            throw session.refuse("it takes one format", "give --chrome or --otlp")
        }
        let trace = try TraceGraph(session, arguments.operands[0])
        let text = arguments.has(chrome) ? ChromeTrace(trace).text : OTLPTrace(trace).text
        try session.output.line(session.screen.isTerminal ? JSONText.escapingInvisible(text) : text)
        return .done
    }
}
