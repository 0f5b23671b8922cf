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
        let ref = arguments.operands[0]
        // Added before others are removed: the operation must not become free to start between the two calls.
        for other in added {
            _ = try session.call(
                AddDependencyRequest.with { ($0.ref, $0.on, $0.when) = (ref, other, arguments.text(when)) })
        }
        for other in removed {
            _ = try session.call(RemoveDependencyRequest.with { ($0.ref, $0.on) = (ref, other) })
        }
        try Steering.report(one: "changed the dependencies of", session)
        return .done
    }
}
