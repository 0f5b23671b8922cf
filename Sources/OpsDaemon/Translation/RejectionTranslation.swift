internal import OpsCore
internal import OpsWire

extension Turns {
    /// Translates a rejection of the core to an error of the interface. `names`: names of the operations in the present
    /// submission.
    func translate(_ rejection: Rejection, names: (Int32) -> String? = { _ in nil }) -> ControlError {
        switch rejection {
        case .unknownOperation(let id): return .notFound(kind: "operation", name: "\(id.rawValue)", nearest: nil)
        case .unknownQueue(let name):
            return .notFound(kind: "queue", name: name, nearest: nearestQueue(to: name))
        case .queueExists(let name): return .wrongState(id: nil, message: "queue \(name) exists already")
        case .queueNotEmpty(let name, let unfinished):
            let operations = Self.text(unfinished: unfinished)
            let them = unfinished == 1 ? "it" : "them"
            return .wrongState(id: nil, message: "queue \(name) has \(operations); cancel or move \(them) first")
        case .builtInQueue("main"):
            return .wrongState(
                id: nil,
                message: "queue main always runs one operation at a time and cannot be removed; add another queue")
        case .builtInQueue(let name):
            return .wrongState(id: nil, message: "queue \(name) is built in and cannot be removed")
        case .unknownGraph(let graph): return .notFound(kind: "graph", name: graph.reference, nearest: nil)
        case .cycle(let path): return .cycle(path.map { text($0, names) }, category: nil)
        case .deadlock(let path, let category): return .cycle(path.map { text($0, names) }, category: category)
        case .unitsExceedCapacity(let use, let operation, let capacity):
            let message =
                "\(use.units) units of category \(use.name), which has a capacity of \(capacity); take fewer, or "
                + "raise it first with opsctl category set \(use.name) --capacity \(use.units) (or --units NAME,NAME...)"
            return categoryRefusal(operation, names, message)
        case .unitsExceedShare(let use, let operation, let share):
            return categoryRefusal(operation, names, Self.text(of: use, besides: share))
        case .alreadyFinished(let id): return wrongState(id, "has finished already")
        case .notFinished(let id): return wrongState(id, "has not finished; cancel it first, or wait for it")
        case .notExecuting(let id): return wrongState(id, "is not executing")
        case .hasNoProcess(let id): return wrongState(id, "has no process at the moment")
        case .ownPartEnded(let id): return wrongState(id, "has ended its own part and waits for its children")
        case .endsByItsExit(let id):
            return wrongState(id, "ends when its process does (completion: exit); cancel ends it early")
        case .endsWithItsChildren(let id): return wrongState(id, "is a group and ends with its children")
        case .isEnding(let id):
            return wrongState(id, "is being ended already; opsctl show prints its cause once it has finished")
        case .alreadyStarted(let id):
            return wrongState(id, "has started already; only waiting operations can be changed")
        case .producerClosed(let id): return wrongState(id, "is ending and takes no more children")
        case .waitsForOwnProducer(let id): return wrongState(id, "would wait for its own child, and the child for it")
        case .needsFreeze(let id): return wrongState(id, "is executing; --freeze stops its processes")
        case .noSuchEdge(let id, let on):
            return .notFound(kind: "dependency", name: "\(id.rawValue) on \(on.rawValue)", nearest: nil)
        case .tooMany(let what, let limit): return .tooLarge(what: "the number of \(what)", limit: limit)
        case .tooManyEdgesOfUser(let user, let limit):
            return .busy(
                "the unfinished operations of user \(user) would have more than \(limit) dependencies; "
                    + "wait until some have finished, or cancel some")
        case .tooManyCategoriesOfUser(let user, let limit):
            return .busy(
                "the unfinished operations of user \(user) would have more than \(limit) different categories; "
                    + "wait until some have finished, or cancel some")
        case .tooManyOfUser(let user, let unfinished, let more, let limit):
            let operations = Self.text(unfinished: unfinished)
            return .busy(
                "user \(user) has \(operations), and \(more) more would exceed the limit of \(limit); "
                    + "wait until some have finished, cancel some, or raise operations-per-user in opsd.conf")
        }
    }

    private static func text(unfinished count: Int) -> String {
        count == 1 ? "1 unfinished operation" : "\(count) unfinished operations"
    }

    func nearestQueue(to name: String) -> String? {
        Nearest.name(to: name, among: queueNames)
    }

    private func categoryRefusal(
        _ operation: DraftEdge.Target, _ names: (Int32) -> String?, _ message: String
    ) -> ControlError {
        .invalidOperation([
            .with {
                switch operation {
                case .local(let index):
                    $0.index = Int(index)
                    $0.name = names(index)
                case .existing(let id): $0.name = label(id)
                }
                $0.key = "categories"
                $0.message = message
            }
        ])
    }

    private static func text(of use: CategoryUse, besides share: CategoryUse) -> String {
        share.mode == .shared
            ? "the group around it takes category \(share.name) shared, so what is inside can only share it; take it "
                + "shared here, or exclusive there"
            : "\(use.units) units of category \(share.name), of which the group around it takes \(share.units); "
                + "take fewer here, or more there"
    }

    private func wrongState(_ id: OperationID, _ what: String) -> ControlError {
        .wrongState(id: id.rawValue, message: "operation \(label(id)) \(what)")
    }

    private func text(_ target: DraftEdge.Target, _ names: (Int32) -> String?) -> String {
        switch target {
        case .local(let index): names(index) ?? "#\(index + 1)"
        case .existing(let id): label(id)
        }
    }
}
