/// Writes SVG. The colours follow the light or dark mode of the viewer.
struct SVGWriter {
    private(set) var text = ""
    private let reader: GraphSVG.Reader

    init(width: Double, height: Double, title: String, _ reader: GraphSVG.Reader = .viewer) {
        self.reader = reader
        let size = "width=\"\(Self.number(width))\" height=\"\(Self.number(height))\""
        line(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" \(size) viewBox=\"0 0 \(Self.number(width)) \(Self.number(height))\" "
                + "role=\"img\">")
        line("<title>\(Self.escaped(title))</title>")
        guard reader == .viewer else { return }
        line("<style>\(Self.style)</style>")
        line("<rect class=\"paper\" width=\"100%\" height=\"100%\"/>")
    }

    mutating func line(_ line: String) { text += line + "\n" }

    /// Adds a text. The anchor is "start", "middle" or "end".
    mutating func words(_ words: String, x: Double, y: Double, _ classes: String, anchor: String = "start") {
        let alignment = anchor == "start" ? "" : " text-anchor=\"\(anchor)\""
        line(
            "<text x=\"\(Self.number(x))\" y=\"\(Self.number(y))\"\(alignment) class=\"\(classes)\">"
                + "\(Self.escaped(words))</text>")
    }

    /// Adds a rectangle.
    mutating func box(
        x: Double, y: Double, width: Double, height: Double, radius: Double = 4, _ classes: String
    ) {
        line(
            "<rect x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" width=\"\(Self.number(width))\" "
                + "height=\"\(Self.number(height))\" rx=\"\(Self.number(radius))\" class=\"\(classes)\"/>")
    }

    mutating func path(_ path: String, _ classes: String) {
        line("<path d=\"\(path)\" class=\"\(classes)\"/>")
    }

    /// Adds the content that `body` writes, with a tooltip.
    ///
    /// - Parameter ids: Operations in the content, for a page.
    mutating func group(title: String, ids: [Int] = [], _ body: (inout SVGWriter) -> Void) {
        let isNamed = reader == .page && !ids.isEmpty
        let mark = isNamed ? " data-ids=\"\(ids.map(String.init).joined(separator: ","))\"" : ""
        line("<g\(mark)><title>\(Self.escaped(title))</title>")
        body(&self)
        line("</g>")
    }

    mutating func end() { line("</svg>") }

    /// Returns a number with at most one decimal place.
    static func number(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        let sign = tenths < 0 ? "-" : ""
        let size = abs(tenths)
        return size % 10 == 0 ? "\(sign)\(size / 10)" : "\(sign)\(size / 10).\(size % 10)"
    }

    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            // Characters that XML does not allow.
            case _ where scalar.value < 0x20 || scalar.value == 0xfffe || scalar.value == 0xffff: escaped += "?"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    // MARK: Style

    private static let style: String = {
        var style = """
            text{font-family:system-ui,"DejaVu Sans",sans-serif;font-size:11px}\
            .title{font-size:15px;font-weight:600}.name{font-size:13px;font-weight:600}\
            .line{fill:none;stroke-width:1.5}.critical{stroke-width:3}.dashed{stroke-dasharray:6 3}\
            .waitingbar{opacity:.3}
            """
        style += rules(Palette.light)
        style += "@media (prefers-color-scheme:dark){\(rules(Palette.dark))}"
        return style
    }()

    private static func rules(_ palette: Palette) -> String {
        var rules =
            ".paper{fill:\(palette.paper)}.panel{fill:\(palette.panel);stroke:\(palette.line)}.rule{stroke:\(palette.line)}"
            + "text{fill:\(palette.text)}.muted{fill:\(palette.muted)}.line{stroke:\(palette.muted)}"
            + ".arrow{fill:\(palette.muted)}.critical{stroke:\(palette.text)}"
            + ".track{fill:\(palette.line)}"
        for tone in Tone.allCases {
            let colour = palette[tone]
            rules += ".\(tone.name){fill:\(palette.tint(tone));stroke:\(colour)}.\(tone.name)text{fill:\(colour)}"
            rules += ".\(tone.name)bar{fill:\(colour)}"
        }
        return rules
    }
}

/// Colours of one mode. All state colours have a contrast of at least 4.5 to 1 on paper and panel.
struct Palette {
    var paper: String
    var panel: String
    var line: String
    var text: String
    var muted: String
    private var tones: [String]

    /// Returns the colour of a tone.
    subscript(_ tone: Tone) -> String { tones[tone.rawValue] }

    /// Returns the fill of a box: the tone at one twelfth, on the colour of paper.
    func tint(_ tone: Tone) -> String {
        func parts(_ colour: String) -> [Int] {
            let digits = Int(colour.dropFirst(), radix: 16) ?? 0
            return [digits >> 16, digits >> 8 & 255, digits & 255]
        }
        let mixed = zip(parts(paper), parts(self[tone])).reduce(0) { $0 << 8 + ($1.0 * 11 + $1.1) / 12 }
        let digits = String(mixed, radix: 16)
        return "#" + String(repeating: "0", count: 6 - digits.count) + digits
    }

    static let light = Palette(
        paper: "#ffffff", panel: "#f6f7f8", line: "#d9dde2", text: "#1a1d21", muted: "#59616b",
        tones: [
            "#1a6f37", "#b42318", "#a23b00", "#9c2a6b", "#6b4a9e", "#0b5fbd", "#7a5c00", "#5c5340", "#59616b",
        ])
    static let dark = Palette(
        paper: "#14171a", panel: "#1c2024", line: "#30363d", text: "#e6e9ec", muted: "#9aa4af",
        tones: [
            "#5fcf85", "#ff8a7a", "#ffa15e", "#f59ac8", "#c4a5f5", "#6cb2ff", "#e2b93b", "#cbbd9a", "#9aa4af",
        ])
}
