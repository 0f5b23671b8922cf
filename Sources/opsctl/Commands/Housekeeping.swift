internal import OpsWire

/// `prune`: deletes old finished operations.
enum PruneVerb {
    private static let olderThan = Option.value(
        "older-than", "D", .duration, "only operations that finished longer ago: 30d, 12h")

    static let verb = Verb(
        "prune", .keeping, "delete old finished operations and their logs",
        forms: ["[SELECTION] [--older-than D]"],
        about: [
            "A graph is deleted when all of it has finished and is selected. Ids are never used again.",
            "opsd itself deletes operations 30 days after their end; keep-for and log-total in opsd.conf change that.",
        ],
        operands: .any(.operation, "OPERATION"),
        options: [OptionGroup("Pruning", [olderThan]), .selection],
        examples: [
            .init("Keep a week", "opsctl prune --older-than 7d"),
            .init("One graph, with its logs", "opsctl prune --graph g7"),
        ],
        action: { (session) throws(Failure) in
            let selection = Selection(session.arguments)
            let age = session.arguments.text(olderThan)
            guard age != nil || !selection.isEmpty else {
                throw session.refuse(
                    "nothing is selected", "give --older-than D, such as 30d, or a selection")
            }
            let reply = try session.call(
                PruneRequest.with { ($0.olderThan, $0.selection) = (age, selection.ifAny) })
            if session.wantsJSON {
                try session.row(reply)
            } else {
                try session.output.line("removed \(SubmitVerb.counted(reply.removed))")
            }
            return .done
        })
}

/// `backup`: writes a consistent copy of the database while the daemon runs.
enum BackupVerb {
    private static let force = Option.flag("force", "replace FILE even if it is not an earlier copy")

    static let verb = Verb(
        "backup", .keeping, "copy the database while the daemon runs",
        forms: ["[--force] FILE"],
        about: ["FILE may be new, or an earlier copy. It may not be inside the state directory."],
        operands: .one(.file, "FILE"), options: [OptionGroup("Backup", [force])],
        examples: [.init("Before an upgrade", "opsctl backup /var/backups/opsd.db")],
        action: { (session) throws(Failure) in
            let path =
                session.host == nil
                ? OperationKeys.absolute(session.arguments.operands[0]) : session.arguments.operands[0]
            let isForced = session.arguments.has(force).ifTrue
            let reply = try session.call(BackupRequest.with { ($0.path, $0.force) = (path, isForced) })
            if session.wantsJSON {
                try session.row(reply)
            } else {
                try session.output.line("\(path)  \(ByteCount.text(reply.bytes))")
            }
            return .done
        })
}

/// `check`: verifies the database.
enum CheckVerb {
    static let verb = Verb(
        "check", .keeping, "verify the database",
        forms: [""],
        about: ["Prints one line per problem. Exit status 1 if there is any."],
        examples: [.init("Is the database intact?", "opsctl check")],
        action: { (session) throws(Failure) in
            let reply = try session.call(CheckRequest())
            if session.wantsJSON {
                try session.row(reply)
            } else if reply.problems.isEmpty {
                try session.output.line("database OK")
            } else {
                for problem in reply.problems { try session.output.line(problem.printable) }
            }
            return reply.problems.isEmpty ? .done : .unsuccessful
        })
}

/// `workers`: shows or sets how many operations run at once.
enum WorkersVerb {
    static let verb = Verb(
        "workers", .keeping, "show or set how many operations run at once",
        forms: ["[N]"], operands: .perhaps(.integer, "N"),
        examples: [.init("Eight at once", "opsctl workers 8")],
        action: { (session) throws(Failure) in
            let wanted = session.arguments.operands.first.flatMap { Int($0) }
            if let wanted {
                _ = try session.call(SetWorkersRequest.with { $0.workers = wanted })
                if !session.wantsJSON {
                    try session.output.line("workers: \(wanted)")
                    return .done
                }
            }
            let workers = try session.call(StatusRequest()).workers
            if session.wantsJSON {
                try session.row(SetWorkersRequest.with { $0.workers = workers })
            } else {
                try session.output.line("\(workers)")
            }
            return .done
        })
}
