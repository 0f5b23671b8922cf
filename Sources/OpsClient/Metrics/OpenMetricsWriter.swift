internal import OpsWire

/// Writes OpenMetrics text: one family after the other, each with its type, unit and help before its samples.
struct OpenMetricsWriter {
    enum Kind: String { case gauge, counter, histogram }

    private var text = ""

    /// Samples of one family.
    struct Family {
        fileprivate var text = ""
        fileprivate let sampleName: String

        mutating func sample(_ value: Double, _ labels: KeyValuePairs<String, String> = [:]) {
            text += OpenMetricsWriter.line(sampleName, labels.map { ($0.key, $0.value) }, value)
        }

        mutating func sample(_ value: Double, _ labels: [String: String]) {
            text += OpenMetricsWriter.line(sampleName, labels.sorted { $0.key < $1.key }, value)
        }
    }

    /// The complete text, with the line that ends it.
    var finished: String { text + "# EOF\n" }

    /// Writes a family. One without samples is left out.
    mutating func family(
        _ name: String, _ kind: Kind, unit: String? = nil, _ help: String, _ body: (inout Family) -> Void
    ) {
        var family = Family(sampleName: kind == .counter ? name + "_total" : name)
        body(&family)
        if family.text.isEmpty { return }
        head(name, kind, unit, help)
        text += family.text
    }

    /// Writes a family of histograms in seconds.
    mutating func histogram(
        _ name: String, _ help: String, _ histograms: [(labels: [String: String], values: HistogramRow)]
    ) {
        let complete = histograms.filter { $0.values.counts.count == $0.values.bounds.count + 1 }
        if complete.isEmpty { return }
        head(name, .histogram, "seconds", help)
        for (labels, values) in complete {
            let labels = labels.map { ($0.key, $0.value) }
            var total: Int64 = 0
            for (index, count) in values.counts.enumerated() {
                total += count
                let bound = index < values.bounds.count ? "\(values.bounds[index])" : "+Inf"
                text += Self.line(name + "_bucket", labels + [("le", bound)], Double(total))
            }
            text += Self.line(name + "_count", labels, Double(total))
            text += Self.line(name + "_sum", labels, values.sum)
        }
    }

    private mutating func head(_ name: String, _ kind: Kind, _ unit: String?, _ help: String) {
        text += "# TYPE \(name) \(kind.rawValue)\n"
        if let unit { text += "# UNIT \(name) \(unit)\n" }
        text += "# HELP \(name) \(Self.escaped(help))\n"
    }

    fileprivate static func line(_ name: String, _ labels: [(String, String)], _ value: Double) -> String {
        let list = labels.map { "\($0)=\"\(escaped($1))\"" }.joined(separator: ",")
        let whole = Int64(exactly: value).map { "\($0)" } ?? "\(value)"
        return name + (list.isEmpty ? "" : "{\(list)}") + " " + whole + "\n"
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.append(character)
            }
        }
        return escaped
    }
}
