internal import OpsWire

/// One run of opsctl: what was asked, where answers go, and the daemon that is asked.
final class Session {
    let arguments: Arguments
    let output: StandardOutput
    let screen: Screen
    private var connection: Connection?
    private(set) lazy var socketPath = SocketPath.chosen(arguments.text(.socket))

    init(_ arguments: Arguments) {
        self.arguments = arguments
        screen = Screen(descriptor: 1, colour: arguments.text(.color))
        output = StandardOutput(escapesInvisible: arguments.has(.json) && screen.isTerminal)
    }

    var style: Style { screen.style }
    var wantsJSON: Bool { arguments.has(.json) }

    /// The connection that calls share; made when first needed.
    func daemon() throws(Failure) -> Connection {
        if let connection { return connection }
        let fresh = try connect()
        connection = fresh
        return fresh
    }

    /// A connection of its own, for a stream beside others.
    func connect() throws(Failure) -> Connection {
        try Connection(path: socketPath)
    }

    /// How long a daemon that is restarted or upgraded may be away.
    private static let patience = Span(milliseconds: 10_000)
    private static let pause: Int32 = 50

    /// Waits for a daemon that went away in the middle of `failure`; anything else is thrown on.
    func awaitReturn(after failure: Failure) throws(Failure) {
        guard failure.isLoss else { throw failure }
        connection = nil
        let end = Instant.now + Self.patience
        while true {
            do throws(Failure) {
                let fresh = try connect()
                // One that is dying may still take calls; only one that lives answers them.
                _ = try fresh.call("Status") { _ in }
                connection = fresh
                return
            } catch {
                guard Instant.now < end else { throw failure }
                _ = Readable.among([], milliseconds: Self.pause)
            }
        }
    }

    /// Asks once; errors bear the verb's name.
    func call(_ method: StaticString, _ fill: (inout JSONWriter) -> Void = { _ in }) throws(Failure) -> JSONView {
        do throws(Failure) {
            return try daemon().call(method, fill)
        } catch {
            throw named(error)
        }
    }

    /// Asks again while the daemon is restarted: for what may be asked twice.
    func callUntilAnswered(_ method: StaticString, _ fill: (inout JSONWriter) -> Void) throws(Failure) {
        while true {
            do throws(Failure) {
                _ = try call(method, fill)
                return
            } catch {
                try awaitReturn(after: error)
            }
        }
    }

    func stream(
        _ method: StaticString, _ fill: (inout JSONWriter) -> Void = { _ in },
        each: (JSONView) throws(Failure) -> Bool
    ) throws(Failure) {
        do throws(Failure) {
            try daemon().stream(method, fill, each: each)
        } catch {
            throw named(error)
        }
    }

    /// The operations of a selection, in the order of ids.
    func rows(of selection: Selection, limit: Int? = nil, newest: Bool = false) throws(Failure) -> [OperationRow] {
        var rows: [OperationRow] = []
        try stream("List") {
            selection.member(of: &$0)
            $0.member("limit", limit)
            $0.member("newest", newest)
        } each: { (reply) throws(Failure) in
            rows += (reply["operations"]?.elements ?? []).map { OperationRow($0) }
            return true
        }
        return rows
    }

    /// What is written next stands in place of what is on the screen, where that can be.
    func clear() throws(Failure) {
        if screen.isCapable && !wantsJSON { try output.write("\u{1b}[H\u{1b}[2J") }
    }

    /// The failure with the verb it befell, where it names nothing better.
    func named(_ failure: Failure) -> Failure {
        guard failure.what.isEmpty else { return failure }
        var failure = failure
        failure.what = arguments.path
        return failure
    }

    func refuse(_ why: String, _ advice: String?) -> Failure {
        .usage(arguments.path, why, advice)
    }

    /// One row for a program: the text of an object as it came.
    func row(_ view: JSONView) throws(Failure) {
        try output.line(view.raw)
    }

    func row(_ fill: (inout JSONWriter) -> Void) throws(Failure) {
        try output.line(JSONWriter.object(fill))
    }
}
