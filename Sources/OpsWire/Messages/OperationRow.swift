// Types of the interface file for one operation and its parts. The file describes each member.

public struct OperationRow: WireRecord {
    public static let typeName = "Operation"
    public var id: Int64 = 0
    public var name: String?
    public var graph = ""
    public var graphName: String?
    public var queue = ""
    public var state = StateName.pending
    public var outcome: OutcomeName?
    public var notNeeded = false
    public var cause: String?
    public var command: [String]?
    public var priority = 0
    public var effectivePriority = 0
    public var attempt = 0
    public var run = 0
    public var exitCode: Int?
    public var signal: Int?
    public var cancelling = false
    public var frozen = false
    public var held = false
    public var barrier = false
    public var isGroup = false
    public var completion = ""
    public var dependencies: [DependencyRow] = []
    public var categories: [CategoryUseRow] = []
    public var labels = StringMap()
    public var user = ""
    public var producedBy: Int64?
    public var group: Int64?
    public var progress: ProgressRow?
    public var statusText: String?
    public var result: String?
    public var timeout: String?
    public var deadline: String?
    public var notBefore: String?
    public var key: String?
    public var note: String?
    public var submittedAt = ""
    public var readyAt: String?
    public var startedAt: String?
    public var finishedAt: String?
    public var usage: UsageRow?
    public var environment: StringMap?
    public var directory: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("id", &id)
        try visitor.field("name", &name)
        try visitor.field("graph", &graph)
        try visitor.field("graphName", &graphName)
        try visitor.field("queue", &queue)
        try visitor.field("state", &state)
        try visitor.field("outcome", &outcome)
        try visitor.field("notNeeded", &notNeeded)
        try visitor.field("cause", &cause)
        try visitor.field("command", &command)
        try visitor.field("priority", &priority)
        try visitor.field("effectivePriority", &effectivePriority)
        try visitor.field("attempt", &attempt)
        try visitor.field("run", &run)
        try visitor.field("exitCode", &exitCode)
        try visitor.field("signal", &signal)
        try visitor.field("cancelling", &cancelling)
        try visitor.field("frozen", &frozen)
        try visitor.field("held", &held)
        try visitor.field("barrier", &barrier)
        try visitor.field("isGroup", &isGroup)
        try visitor.field("completion", &completion)
        try visitor.field("dependencies", &dependencies)
        try visitor.field("categories", &categories)
        try visitor.field("labels", &labels)
        try visitor.field("user", &user)
        try visitor.field("producedBy", &producedBy)
        try visitor.field("group", &group)
        try visitor.field("progress", &progress)
        try visitor.field("statusText", &statusText)
        try visitor.field("result", &result)
        try visitor.field("timeout", &timeout)
        try visitor.field("deadline", &deadline)
        try visitor.field("notBefore", &notBefore)
        try visitor.field("key", &key)
        try visitor.field("note", &note)
        try visitor.field("submittedAt", &submittedAt)
        try visitor.field("readyAt", &readyAt)
        try visitor.field("startedAt", &startedAt)
        try visitor.field("finishedAt", &finishedAt)
        try visitor.field("usage", &usage)
        try visitor.field("environment", &environment)
        try visitor.field("directory", &directory)
    }
}

public struct DependencyRow: WireRecord {
    public static let typeName = "Dependency"
    public var id: Int64 = 0
    public var when = EdgeCondition.succeeded
    public var satisfied = false
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("id", &id)
        try visitor.field("when", &when)
        try visitor.field("satisfied", &satisfied)
    }
}

public struct CategoryUseRow: WireRecord {
    public static let typeName = "CategoryUse"
    public var name = ""
    public var mode = CategoryUse.Mode.units
    public var units = 0
    public var assigned: [String] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("mode", &mode)
        try visitor.field("units", &units)
        try visitor.field("assigned", &assigned)
    }
}

public struct UsageRow: WireRecord {
    public static let typeName = "Usage"
    public var userSeconds: Double = 0
    public var systemSeconds: Double = 0
    public var maxResidentBytes: Int64 = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("userSeconds", &userSeconds)
        try visitor.field("systemSeconds", &systemSeconds)
        try visitor.field("maxResidentBytes", &maxResidentBytes)
    }
}

public struct ProgressRow: WireRecord {
    public static let typeName = "Progress"
    public var done: Int64 = 0
    public var total: Int64?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("done", &done)
        try visitor.field("total", &total)
    }
}

public struct AttemptRow: WireRecord {
    public static let typeName = "Attempt"
    public var attempt = 0
    public var run = 0
    public var outcome: OutcomeName?
    public var cause: String?
    public var exitCode: Int?
    public var signal: Int?
    public var startedAt: String?
    public var finishedAt: String?
    public var usage: UsageRow?
    public var scaled: JSONObject?
    public var outputs: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("attempt", &attempt)
        try visitor.field("run", &run)
        try visitor.field("outcome", &outcome)
        try visitor.field("cause", &cause)
        try visitor.field("exitCode", &exitCode)
        try visitor.field("signal", &signal)
        try visitor.field("startedAt", &startedAt)
        try visitor.field("finishedAt", &finishedAt)
        try visitor.field("usage", &usage)
        try visitor.field("scaled", &scaled)
        try visitor.field("outputs", &outputs)
    }
}

public struct DetailsRow: WireRecord {
    public static let typeName = "Details"
    public var pid: Int?
    public var runAs = ""
    public var retry: JSONObject?
    public var grace = ""
    public var successCodes: [Int] = []
    public var leftovers = ""
    public var qos: String?
    public var limits: JSONObject?
    public var limit: Int?
    public var output = ""
    public var stdout: String?
    public var stderr: String?
    public var stdin: String?
    public var umask: String?
    public var conditions: [JSONObject] = []
    public var observers: JSONObject?
    public var executor: String?
    public var job: String?
    public var slurm: JSONObject?
    public var http: JSONObject?
    public var secrets: JSONObject?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("pid", &pid)
        try visitor.field("runAs", &runAs)
        try visitor.field("retry", &retry)
        try visitor.field("grace", &grace)
        try visitor.field("successCodes", &successCodes)
        try visitor.field("leftovers", &leftovers)
        try visitor.field("qos", &qos)
        try visitor.field("limits", &limits)
        try visitor.field("limit", &limit)
        try visitor.field("output", &output)
        try visitor.field("stdout", &stdout)
        try visitor.field("stderr", &stderr)
        try visitor.field("stdin", &stdin)
        try visitor.field("umask", &umask)
        try visitor.field("conditions", &conditions)
        try visitor.field("observers", &observers)
        try visitor.field("executor", &executor)
        try visitor.field("job", &job)
        try visitor.field("slurm", &slurm)
        try visitor.field("http", &http)
        try visitor.field("secrets", &secrets)
    }
}
