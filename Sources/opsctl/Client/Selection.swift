internal import OpsWire

/// Builds the selection of operations that a command line describes.
extension Selection {
    init(_ arguments: Arguments) {
        self.init(refs: arguments.operands)
        graph = arguments.text(.graph)
        queue = arguments.text(.queue)
        let states = arguments.has(.active) ? ["active"] : arguments.texts(.state)
        state = states.isEmpty ? nil : states.joined(separator: ",")
        let outcomes = arguments.texts(.outcome)
        outcome = outcomes.isEmpty ? nil : outcomes.joined(separator: ",")
        let pairs = arguments.pairs(.label)
        labels = pairs.isEmpty ? nil : StringMap(pairs)
        user = arguments.text(.user)
        all = arguments.has(.all).ifTrue
    }

    init(refs: [String]) {
        self.init()
        // A comma beside a space belongs to the name of a graph.
        let refs = refs.flatMap { $0.contains(" ") ? [$0] : $0.split(separator: ",").map(String.init) }
        self.refs = refs.isEmpty ? nil : refs
    }

    init(_ id: Int64) {
        self.init()
        refs = ["\(id)"]
    }

    init(graph: String) {
        self.init()
        self.graph = graph
    }

    init(_ state: StateName) {
        self.init()
        self.state = state.rawValue
    }

    var isEmpty: Bool { self == Selection() }

    /// Returns the operations that the operands name, one by one; lists and ranges are expanded.
    static func references(_ session: Session) throws(Failure) -> [String] {
        var references: [String] = []
        for operand in session.arguments.operands {
            let selection = Selection(refs: [operand])
            guard !selection.isListOfNames else {
                references += selection.refs ?? []
                continue
            }
            let rows = try session.rows(of: selection)
            guard !rows.isEmpty else {
                throw Failure(
                    .notFound, session.arguments.path, "no operation in \(operand)", "see opsctl ls -a")
            }
            references += rows.map { "\($0.id)" }
        }
        return references
    }

    /// The selection, or nil if it is empty.
    var ifAny: Selection? { isEmpty ? nil : self }

    /// Returns the part of the selection with ids greater than this one.
    func after(_ id: Int64) -> Selection {
        guard refs == nil else { return self }
        var rest = self
        rest.refs = ["\(id + 1)-\(Int64.max)"]
        return rest
    }

    /// True if operations are named one by one, and there is no other filter.
    var isListOfNames: Bool { self == Selection(refs: refs ?? []) && !(refs ?? []).contains(where: Self.isRange) }

    /// True if it may select more than one operation.
    var isBroad: Bool { !isEmpty && (!isListOfNames || (refs ?? []).count > 1) }

    /// The graph or queue that is named as a whole.
    var level: (kind: String, name: String)? {
        if let graph, self == Selection(graph: graph) { return ("graph", graph) }
        guard let queue, self == .with({ $0.queue = queue }) else { return nil }
        return ("queue", queue)
    }

    private static func isRange(_ ref: String) -> Bool {
        let ends = ref.split(separator: "-", omittingEmptySubsequences: false)
        return ends.count == 2 && ends.allSatisfy { Int($0) != nil && !$0.isEmpty }
    }
}

extension StringMap {
    init(_ pairs: [Pair]) { self.init(pairs.map { ($0.key, $0.value) }) }
}
