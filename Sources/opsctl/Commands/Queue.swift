internal import OpsModel
internal import OpsWire

/// `queue`: lists and changes queues.
enum QueueVerb {
    static let limit = Option.value("limit", "n", "N|none", .text, "number of operations that run at once")
    static let aging = Option.value("aging", "D|off", .text, "one step of priority for every D waited")
    static let executor = Option.value(
        "executor", "NAME|none", .text, "executor of operations that do not name one; none: this machine")
    static let order = Option.value(
        "order", "submission|longestPath", .text, "order of operations of equal priority")
    static let fair = Option.value(
        "fair", "user|none", .text,
        "user: the submitter with the least slot time goes first among operations of equal priority")
    private static let settings = OptionGroup("Setting", [limit, aging, order, fair, executor])

    private static let addForm = "NAME [--limit N|none] [--aging D] [--order O] [--fair user] [--executor NAME]"
    private static let setForm =
        "NAME [--limit N|none] [--aging D|off] [--order O] [--fair user|none] [--executor NAME|none]"

    static let verb = Verb(
        "queue", aliases: ["queues"], .keeping, "list, add, change and remove queues",
        forms: ["[ls]", "add \(addForm)", "set \(setForm)", "rm NAME"],
        about: [
            "Two queues always exist: default, without a limit, and main, which runs one operation at a time.",
            "With a limit of 0 nothing starts. Running operations continue when a limit is lowered.",
            "With --order longestPath the operation with the longest estimated path (its own time and that of the operations after it) "
                + "starts first among those of equal priority. Estimates are made at submission, from the latest successes "
                + "of the same name in graphs of the same name, or else of the same program in the queue; they do not "
                + "change afterwards. Operations without an estimate go first: those submitted before the order was "
                + "set, or in other queues.",
            "With --fair user, among operations of equal priority, those of the user with the least slot time in the queue "
                + "start first. Slot time is the time that processes of the user have run; half of it is forgotten after "
                + "22 minutes, and most of it after an hour.",
        ],
        examples: [
            .init("One backup at a time", "opsctl queue add nightly --limit 1"),
            .init("No limit but the pool", "opsctl queue set nightly --limit none"),
            .init("The longest path first", "opsctl queue set nightly --order longestPath"),
            .init("Turns for all users", "opsctl queue set default --fair user"),
        ],
        verbs: [
            Verb("ls", aliases: ["list"], .keeping, "list queues", forms: [""], action: list),
            Verb(
                "add", .keeping, "add a queue", forms: [addForm], operands: .one(.text, "NAME"), options: [settings],
                action: { (session) throws(Failure) in try set(session, create: true) }),
            Verb(
                "set", .keeping, "change a queue", forms: [setForm], operands: .one(.queue, "NAME"),
                options: [settings],
                action: { (session) throws(Failure) in try set(session, create: false) }),
            Verb(
                "rm", aliases: ["remove"], .keeping, "remove a queue without unfinished operations", forms: ["NAME"],
                operands: .one(.queue, "NAME"), action: remove),
        ], action: list)

    private static func list(_ session: Session) throws(Failure) -> ExitStatus {
        let queues = try session.call(ListQueuesRequest()).queues
        if session.wantsJSON {
            for queue in queues { try session.row(queue) }
        } else {
            try write(queues, session)
        }
        return .done
    }

    static func write(_ queues: [QueueRow], _ session: Session) throws(Failure) {
        // Two columns appear only if they are not all zero, because few queues have held or scheduled operations.
        let apart: [(heading: String, count: (QueueRow) -> Int)] = [
            ("SCHEDULED", { $0.scheduled }), ("HELD", { $0.held }),
        ].filter { column in queues.contains { column.count($0) > 0 } }
        var table = Table(
            [
                .init("QUEUE", elastic: true), .init("LIMIT", right: true), .init("EXECUTING", right: true),
                .init("READY", right: true),
            ] + apart.map { .init($0.heading, right: true) } + [
                .init("PENDING", right: true), .init("AGING", right: true), .init(""),
            ], style: session.style, columns: session.screen.columns)
        for queue in queues {
            try table.add(
                [
                    .init(queue.name.printable, .bold), .init(queue.limit.map(String.init) ?? "none"),
                    .init("\(queue.executing)"), .init("\(queue.ready)"),
                ] + apart.map { .init("\($0.count(queue))") } + [
                    .init("\(queue.pending)"), .init(queue.aging ?? "off"),
                    .init(notes(on: queue), queue.suspended ? .yellow : nil),
                ], to: session.output)
        }
        try table.finish(session.output)
    }

    private static func notes(on queue: QueueRow) -> String {
        let order = QueueOrder(text: queue.order) == .longestPath ? queue.order : ""
        let fair = queue.fair == nil ? "" : "fair"
        return [queue.suspended ? "suspended" : "", order, fair].filter { !$0.isEmpty }.joined(separator: ", ")
    }

    private static func set(_ session: Session, create: Bool) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        let settings = [limit, aging, order, fair, executor]
        guard create || settings.contains(where: { arguments.has($0) }) else {
            throw session.refuse("there is nothing to set", "give --limit, --aging, --order, --fair or --executor")
        }
        var bound: Int?
        if let text = arguments.text(limit) {
            bound = text == "none" ? -1 : Int(text)
            guard let bound, bound >= 0 || text == "none" else {
                throw session.refuse("--limit takes a number or none, not \"\(text)\"", nil)
            }
        }
        if let text = arguments.text(aging), text != "off", Span.parse(text) == nil {
            throw session.refuse("--aging takes a duration such as 10m or off, not \"\(text)\"", nil)
        }
        if let text = arguments.text(order), QueueOrder(text: text) == nil {
            throw session.refuse("--order takes submission or longestPath, not \"\(text)\"", nil)
        }
        if let text = arguments.text(fair), !["user", "none"].contains(text) {
            throw session.refuse("--fair takes user or none, not \"\(text)\"", nil)
        }
        let reply = try session.call(
            SetQueueRequest.with {
                $0.name = arguments.operands[0]
                $0.limit = bound
                $0.aging = arguments.text(aging)
                $0.executor = arguments.text(executor)
                $0.order = arguments.text(order)
                $0.fair = arguments.text(fair)
                $0.create = create
            })
        if session.wantsJSON {
            try session.row(reply.queue)
        } else {
            try session.output.line("\(create ? "added" : "changed") queue \(reply.queue.name.printable)")
        }
        return .done
    }

    private static func remove(_ session: Session) throws(Failure) -> ExitStatus {
        _ = try session.call(RemoveQueueRequest.with { $0.name = session.arguments.operands[0] })
        try Steering.report(one: "removed queue", session)
        return .done
    }
}
