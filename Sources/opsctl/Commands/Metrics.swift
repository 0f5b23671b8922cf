internal import OpsWire

/// `metrics`: prints figures for monitoring.
enum MetricsVerb {
    static let verb = Verb(
        "metrics", .looking, "print figures for monitoring, as OpenMetrics text", forms: [""],
        about: [
            "Prometheus and others read this text. It has at most 1,000 series: queues, categories and executors "
                + "beyond the first ones are added up. Counters do not go back when the daemon is restarted or "
                + "operations are pruned.",
            "With --json it prints the reply of the method Metrics as one JSON object.",
        ],
        examples: [
            .init("The names of all series", "opsctl metrics | grep TYPE"),
            .init(
                "For the textfile collector of node_exporter",
                "opsctl metrics > /var/lib/prometheus/node-exporter/opsd.prom"),
        ],
        action: { (session) throws(Failure) in
            if session.wantsJSON {
                try session.row(session.call(MetricsRequest()))
            } else {
                try session.output.write(Array(session.metricsText().utf8))
            }
            return .done
        })
}
