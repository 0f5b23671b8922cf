internal import OpsWire

/// Which operations a verb is about, as the command line names them.
struct Selection {
    private(set) var refs: [String]
    let graph: String?
    let queue: String?
    let state: String?
    let outcome: String?
    let labels: [Pair]
    let user: String?
    let all: Bool

    init(_ arguments: Arguments, operands: [String]? = nil) {
        refs = (operands ?? arguments.operands).flatMap { $0.split(separator: ",").map(String.init) }
        graph = arguments.text(.graph)
        queue = arguments.text(.queue)
        state = arguments.text(.state)
        outcome = arguments.text(.outcome)
        labels = arguments.pairs(.label)
        user = arguments.text(.user)
        all = arguments.has(.all)
    }

    init(refs: [String] = [], graph: String? = nil, state: String? = nil) {
        self.refs = refs.flatMap { $0.split(separator: ",").map(String.init) }
        self.graph = graph
        self.state = state
        (queue, outcome, labels, user, all) = (nil, nil, [], nil, false)
    }

    var isEmpty: Bool { !all && !isFiltered && refs.isEmpty }

    private var isFiltered: Bool {
        graph != nil || queue != nil || state != nil || outcome != nil || !labels.isEmpty || user != nil
    }

    /// The operations of it that come after one in the order of ids.
    func after(_ id: Int) -> Selection {
        guard refs.isEmpty else { return self }
        var rest = self
        rest.refs = ["\(id + 1)-\(Int64.max)"]
        return rest
    }

    /// More than one operation named by itself.
    var isBroad: Bool {
        all || isFiltered || refs.count > 1 || refs.contains { Self.isRange($0) }
    }

    /// Operations named one by one, and nothing else.
    var isListOfNames: Bool { !all && !isFiltered && !refs.contains { Self.isRange($0) } }

    /// The graph or queue that is named as a whole, rather than operations in it.
    var level: (kind: String, name: String)? {
        guard refs.isEmpty, !all, state == nil, outcome == nil, labels.isEmpty, user == nil else { return nil }
        if let graph { return queue == nil ? ("graph", graph) : nil }
        return queue.map { ("queue", $0) }
    }

    private static func isRange(_ ref: String) -> Bool {
        let ends = ref.split(separator: "-", omittingEmptySubsequences: false)
        return ends.count == 2 && ends.allSatisfy { Int($0) != nil && !$0.isEmpty }
    }

    func write(to text: inout JSONWriter) {
        text.object {
            if !refs.isEmpty { $0.member("refs", refs) }
            $0.member("graph", graph)
            $0.member("queue", queue)
            $0.member("state", state)
            $0.member("outcome", outcome)
            if !labels.isEmpty { $0.member("labels", labels) }
            $0.member("user", user)
            $0.member("all", all)
        }
    }

    /// As the member `selection`, left out where nothing is selected.
    func member(of text: inout JSONWriter) {
        guard !isEmpty else { return }
        text.key("selection")
        write(to: &text)
    }
}
