internal import OpsCore
internal import OpsStore
internal import OpsWire

extension DetailsRow {
    /// Creates the keys that were given with an operation and that its row lacks.
    /// - Parameter details: Those of the record, with the recorded umask.
    init(_ record: OperationRecord, _ details: Details) throws {
        self.init()
        if !record.isGroup { umask = "0" + String(details.umask, radix: 8) }
        let details = try scan(Array(record.details.utf8)) { (scanner) throws(InvalidParameter) in
            try JSONObject(from: &scanner)
        }
        func object(_ key: String) throws -> JSONObject? {
            guard let value = details.members.first(where: { $0.key == key })?.value, case .object(let members) = value
            else { return nil }
            return JSONObject(members)
        }
        func text(_ key: String) -> String? {
            guard case .string(let text)? = details.members.first(where: { $0.key == key })?.value else { return nil }
            return text
        }
        let policy = record.policy
        runAs = text("user") ?? record.user
        retry = policy.retry.map(Self.object)
        grace = DurationText.format(policy.grace)
        successCodes = policy.successCodes.map(Int.init)
        leftovers = "\(policy.leftovers)"
        qos = text("qos")
        limits = try object("limits")
        limit = policy.childLimit.map(Int.init)
        let files = try object("output")
        output = files == nil ? text("output") ?? "log" : "files"
        for member in files?.members ?? [] {
            guard case .string(let path) = member.value else { continue }
            if member.key == "stdout" { stdout = path } else { stderr = path }
        }
        stdin = text("stdin")
        observers = try object("observers")
        executor = policy.executor
        job = record.job
        slurm = try object("slurm")
        http = try object("http")
        secrets = try object("secrets")
        if case .array(let elements)? = details.members.first(where: { $0.key == "conditions" })?.value {
            conditions = elements.compactMap { if case .object(let members) = $0 { JSONObject(members) } else { nil } }
        }
    }

    /// Returns a retry policy in the form of a graph file.
    private static func object(_ retry: RetryPolicy) -> JSONObject {
        var on: [JSONValue] = []
        if retry.onFailed { on.append(.string("failed")) }
        if retry.onTimedOut { on.append(.string("timedOut")) }
        if retry.onInterrupted { on.append(.string("interrupted")) }
        var members: [JSONValue.Member] = [
            .init("limit", .integer(Int64(retry.limit))),
            .init("backoff", .string(DurationText.format(retry.backoff))),
            .init("factor", .double(Double(retry.factor) / 1000)),
            .init("max", .string(DurationText.format(retry.max))),
            .init("jitter", .double(Double(retry.jitter) / 1000)), .init("on", .array(on)),
        ]
        if !retry.exitCodes.isEmpty {
            members.append(.init("exitCodes", .array(retry.exitCodes.map { .integer(Int64($0)) })))
        }
        if let scale = retry.scale {
            let factors = scale.entries.map { JSONValue.Member($0.key.rawValue, .double(Double($0.factor) / 1000)) }
            members.append(.init("scale", .object(factors)))
        }
        return JSONObject(members)
    }
}
