import OpsClient

/// Three stages over a number of parts, as a program that may be killed at any moment: started again with the same key, it
/// finds the operations of the first time and goes on with those that have not finished.
///
///     pipeline KEY PARTS
@main struct Pipeline {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let count = Int(arguments[2]), count > 0 else {
            print("usage: pipeline KEY PARTS")
            return
        }
        let queue = try OpsQueue("pipeline")
        try queue.setMaxConcurrentOperationCount(2)

        let parts = (1...count).map { OpsOperation(shell: "sleep 0.2; echo part \($0)", name: "part\($0)") }
        let join = OpsOperation(shell: "echo joined", name: "join")
        join.queuePriority = .high
        for part in parts { join.addDependency(part, when: .succeeded) }
        join.completionBlock = { print("join has finished") }

        try queue.addOperations(parts + [join], key: arguments[1])
        print("operations \(parts[0].id ?? 0) to \(join.id ?? 0), \(queue.operationCount) left")
        try queue.waitUntilAllOperationsAreFinished()
        print("join \(join.outcome?.rawValue ?? "is lost")")
    }
}
