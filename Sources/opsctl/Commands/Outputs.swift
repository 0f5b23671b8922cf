internal import OpsWire

/// `outputs`: prints the output directory of an operation.
enum OutputsVerb {
    private static let attempt = Option.value("attempt", "N", .integer, "of this attempt (default: the newest)")

    static let verb = Verb(
        "outputs", .looking, "print the output directory of an operation",
        forms: ["OPERATION [--attempt N]"],
        about: [
            "Each attempt has an empty directory of its own, with its path in $OPS_OUTPUT_DIR. If it leaves files "
                + "there, the operations of the same user (or of root) that depend on it find the path in "
                + "$OPS_OUTPUTS_NAME, where NAME is the name of the operation. Otherwise this variable does not exist. "
                + "The directory is removed together with the log."
        ],
        operands: .one(.operation, "OPERATION"),
        options: [OptionGroup("Choosing", [attempt])],
        examples: [
            .init("The files of a build", "opsctl outputs build"),
            .init("The files of its first attempt", "opsctl outputs build --attempt 1"),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let reply = try session.call(ShowRequest.with { $0.ref = session.arguments.operands.first ?? "" })
        let id = reply.operation.id
        let wanted = session.arguments.integer(attempt)
        let number = wanted ?? reply.operation.attempt
        guard let row = reply.attempts.first(where: { $0.attempt == number }) else {
            let isNamed = wanted != nil || number > 0
            let why = isNamed ? "it has no attempt \(number)" : absence(of: reply.operation)
            throw Failure(.notFound, "\(id)", why, "see opsctl show \(id)")
        }
        guard let path = row.outputs else {
            throw session.named(
                Failure(
                    .notFound, "outputs", "operation \(id) has left no outputs",
                    "commands leave them in $OPS_OUTPUT_DIR"))
        }
        if session.wantsJSON {
            try session.row(OutputsRow(id: id, name: reply.operation.name, attempt: number, path: path))
        } else {
            try session.output.line(path)
        }
        return .done
    }

    /// Returns why an operation has no attempt.
    private static func absence(of row: OperationRow) -> String {
        if row.isGroup { return "it is a group, which has no outputs of its own" }
        return row.state == .finished ? "it has finished without an attempt" : "it has not started"
    }
}

private struct OutputsRow: WireRecord {
    static let typeName = "Outputs"
    private var id: Int64 = 0
    private var name: String?
    private var attempt = 0
    private var path = ""

    init() {}

    init(id: Int64, name: String?, attempt: Int, path: String) {
        (self.id, self.name, self.attempt, self.path) = (id, name, attempt, path)
    }

    mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("id", &id)
        try visitor.field("name", &name)
        try visitor.field("attempt", &attempt)
        try visitor.field("path", &path)
    }
}
