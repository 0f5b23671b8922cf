internal import OpsExecutor
internal import OpsSlurm
internal import OpsWire

extension JobRequest {
    /// Reads the operation's key `slurm`, which opsd has checked, and puts the options of opsd.conf before it.
    init(_ request: LaunchRequest, furtherArguments: [String]) throws(JSONError) {
        self.init()
        timeLimit = request.timeLimit
        niceness = request.niceness
        further = furtherArguments
        guard !request.executorOptions.isEmpty else { return }
        guard case .object(let members) = try JSONValue(Array(request.executorOptions.utf8)) else { return }
        for member in members { set(member.key, to: member.value) }
    }

    private mutating func set(_ key: String, to value: JSONValue) {
        switch (key, value) {
        case ("cpus", .integer(let number)): cpus = number
        case ("memory", .integer(let bytes)): memory = bytes
        case ("gpus", .integer(let number)): gpus = number
        case ("nodes", .integer(let number)): nodes = number
        case ("tasks", .integer(let number)): tasks = number
        case ("partition", .string(let name)): partition = name
        case ("account", .string(let name)): account = name
        case ("qos", .string(let name)): qos = name
        case ("pack", .integer(let number)): pack = number
        case ("constraint", .string(let text)): constraint = text
        case ("args", .array(let words)):
            further += words.compactMap { if case .string(let word) = $0 { word } else { nil } }
        default: break
        }
    }
}
