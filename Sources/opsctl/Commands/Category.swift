internal import OpsWire

/// `category`: the categories, their capacities, who holds and who waits.
enum CategoryVerb {
    static let capacity = Option.value("capacity", "n", "N", .integer, "number of units; 0 closes the category")

    static let verb = Verb(
        "category", aliases: ["categories"], .keeping, "list categories and set their capacities",
        forms: ["[ls]", "set NAME --capacity N"],
        about: [
            "A category has one unit by default: its operations exclude each other, across queues and graphs."
        ],
        examples: [
            .init("Who holds what, and who waits", "opsctl category ls"),
            .init("Three at once", "opsctl category set gpu --capacity 3"),
        ],
        verbs: [
            Verb("ls", aliases: ["list"], .keeping, "list categories", forms: [""], action: list),
            Verb(
                "set", .keeping, "change a capacity", forms: ["NAME --capacity N"], operands: .one(.category, "NAME"),
                options: [OptionGroup("Setting", [capacity])], action: set),
        ], action: list)

    private static func list(_ session: Session) throws(Failure) -> ExitStatus {
        let categories = try session.call(ListCategoriesRequest()).categories
        if session.wantsJSON {
            for category in categories { try session.row(category) }
            return .done
        }
        var table = Table(
            [
                .init("CATEGORY", elastic: true), .init("CAPACITY", right: true), .init("HELD BY", elastic: true),
                .init("WAITING", elastic: true),
            ],
            style: session.style, columns: session.screen.columns)
        for category in categories {
            func list(_ ids: [Int64]) -> String { ids.map(String.init).joined(separator: " ") }
            try table.add(
                [
                    .init(category.name.printable, .bold), .init("\(category.capacity)"),
                    .init(list(category.holders), .cyan), .init(list(category.waiting)),
                ], to: session.output)
        }
        try table.finish(session.output)
        return .done
    }

    private static func set(_ session: Session) throws(Failure) -> ExitStatus {
        guard let units = session.arguments.integer(capacity) else {
            throw session.refuse("there is nothing to set", "give --capacity N")
        }
        guard units >= 0 else { throw session.refuse("--capacity is 0 or more, not \(units)", nil) }
        let name = session.arguments.operands[0]
        let reply = try session.call(SetCategoryRequest.with { ($0.name, $0.capacity) = (name, units) })
        if session.wantsJSON {
            try session.row(reply.category)
        } else {
            try session.output.line("category \(reply.category.name.printable) has \(reply.category.capacity) units")
        }
        return .done
    }
}
