internal import OpsWire

/// `category`: lists categories with their holders, and sets their capacities.
enum CategoryVerb {
    static let capacity = Option.value(
        "capacity", "n", "N", .text, "number of units; 0 closes the category, none leaves only its rate")
    static let rate = Option.value(
        "rate", "N/TIME", .text, "at most N starts in any interval of this length, such as 60/1m; none: no limit")

    static let units = Option.value(
        "units", "NAMES", .text,
        "names of its units, separated by commas; each holder learns which ones it has; none: one unit without a name")
    static let share = Option.value("share", "N", .integer, "how many operations may hold one unit at once (1)")
    static let export = Option.value(
        "export", "VARIABLE", .text,
        "a second variable for the units, besides OPS_UNITS_<CATEGORY>; none: no second variable")

    static let verb = Verb(
        "category", aliases: ["categories"], .keeping, "list categories and set their capacities",
        forms: ["[ls]", "set NAME [--capacity N|--units NAMES] [--share N] [--export VARIABLE] [--rate N/TIME]"],
        about: [
            "A category has one unit by default: its operations exclude each other, across queues and graphs.",
            "An operation that holds named units finds them in OPS_UNITS_<CATEGORY>. A unit that is removed from the "
                + "list stays with its holders, and nobody else gets it.",
        ],
        examples: [
            .init("Who holds what, and who waits", "opsctl category ls"),
            .init("Three at once", "opsctl category set gpu --capacity 3"),
            .init("60 starts a minute, any number at once", "opsctl category set api --capacity none --rate 60/1m"),
            .init(
                "Four devices, by name", "opsctl category set gpu --units 0,1,2,3 --export CUDA_VISIBLE_DEVICES"),
        ],
        verbs: [
            Verb("ls", aliases: ["list"], .keeping, "list categories", forms: [""], action: list),
            Verb(
                "set", .keeping, "change a category",
                forms: ["NAME [--capacity N|--units NAMES] [--share N] [--export VARIABLE] [--rate N/TIME]"],
                operands: .one(.category, "NAME"),
                options: [OptionGroup("Setting", [capacity, units, share, export, rate])], action: set),
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
                    .init(category.name.printable, .bold), .init(size(category)),
                    .init(list(category.holders), .cyan), .init(list(category.waiting)),
                ], to: session.output)
            for unit in category.units {
                try table.add(
                    [
                        .init("  " + unit.name.printable), .init(unit.draining ? "draining" : ""),
                        .init(list(unit.holders), .cyan), .init(""),
                    ], to: session.output)
            }
        }
        try table.finish(session.output)
        return .done
    }

    private static func size(_ category: CategoryRow) -> String {
        let capacity = category.capacity.map(String.init) ?? "none"
        return category.rate.map { "\(capacity), \($0)" } ?? capacity
    }

    private static func set(_ session: Session) throws(Failure) -> ExitStatus {
        var request = SetCategoryRequest()
        request.name = session.arguments.operands[0]
        let (size, names) = (session.arguments.text(capacity), session.arguments.text(units))
        if size != nil, names != nil {
            throw session.refuse(
                "--capacity and --units cannot be used together", "the capacity of named units is their number")
        }
        // Without names, a category has the capacity of a new one.
        switch names == "none" ? "1" : size {
        case "none": request.unlimited = true
        case let text?:
            guard let number = Int(text) else {
                throw session.refuse("--capacity is a number or none, not \(text)", "see opsctl help category")
            }
            request.capacity = number
        case nil: request.units = names?.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        request.rate = session.arguments.text(rate).map { $0 == "none" ? "" : $0 }
        request.share = session.arguments.integer(share)
        request.export = session.arguments.text(export).map { $0 == "none" ? "" : $0 }
        if size == nil, names == nil, request.share == nil, request.export == nil, request.rate == nil {
            throw session.refuse("there is nothing to set", "give --capacity N, --units NAMES or --rate N/TIME")
        }
        let reply = try session.call(request)
        if session.wantsJSON {
            try session.row(reply.category)
        } else {
            try session.output.line(sentence(about: reply.category))
        }
        return .done
    }

    private static func count(_ units: Int) -> String { units == 1 ? "1 unit" : "\(units) units" }

    private static func sentence(about category: CategoryRow) -> String {
        let name = "category \(category.name.printable)"
        let rate = category.rate.map { ", and at most \($0) starts" } ?? ""
        guard let capacity = category.capacity else { return "\(name) has no capacity\(rate)" }
        if category.share > 1 {
            // Draining units are listed too, but no longer count in the capacity.
            let units = count(capacity / category.share)
            return "\(name) has \(units), for \(category.share) operations each\(rate)"
        }
        return "\(name) has \(count(capacity))\(rate)"
    }
}
