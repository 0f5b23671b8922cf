internal import OpsWire

/// `depend`: adds and removes dependencies of a waiting operation.
enum DependVerb {
    private static let on = Option.value("on", "OPS", .operation, "operations to wait for")
    private static let when = Option.value(
        "when", "WHEN", .choice(EdgeCondition.allCases.map(\.rawValue)), "event to wait for (succeeded)")
    private static let remove = Option.value("remove", "OPS", .operation, "operations to wait for no longer")

    static let verb = Verb(
        "depend", .steering, "add and remove dependencies of a waiting operation",
        forms: ["OPERATION --on OPERATION [--when WHEN]", "OPERATION --remove OPERATION"],
        about: ["Cycles are refused. A ready operation that gets an unmet dependency becomes pending again."],
        operands: .one(.operation, "OPERATION"), options: [OptionGroup("Editing", [on, when, remove])],
        examples: [
            .init("Deploy only after the backup", "opsctl depend deploy --on backup"),
            .init("Do not wait for 12", "opsctl depend deploy --remove 12"),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        let added = OperationKeys.list(arguments.texts(on))
        let removed = OperationKeys.list(arguments.texts(remove))
        guard !added.isEmpty || !removed.isEmpty else {
            throw session.refuse("there is nothing to change", "give --on OPERATION or --remove OPERATION")
        }
        func id(_ ref: String) throws(Failure) -> String {
            let row = try session.call(ShowRequest.with { $0.ref = ref }).operation
            return "\(row.id)"
        }
        // Resolved before the first change, so that an unknown name changes nothing.
        let ref = try id(arguments.operands[0])
        let addedIDs = try added.map { (ref) throws(Failure) in try id(ref) }
        let removedIDs = try removed.map { (ref) throws(Failure) in try id(ref) }
        var changes: [String] = []
        do throws(Failure) {
            // Added before others are removed: the operation must not become free to start between the two calls.
            for other in addedIDs {
                _ = try session.call(
                    AddDependencyRequest.with { ($0.ref, $0.on, $0.when) = (ref, other, arguments.text(when)) })
                changes.append("added \(other)")
            }
            for other in removedIDs {
                _ = try session.call(RemoveDependencyRequest.with { ($0.ref, $0.on) = (ref, other) })
                changes.append("removed \(other)")
            }
        } catch {
            guard !changes.isEmpty else { throw error }
            var failure = error
            failure.why = changes.joined(separator: ", ") + ", then: " + failure.why
            throw failure
        }
        try Steering.report(one: "changed the dependencies of", session)
        return .done
    }
}
