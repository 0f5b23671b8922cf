internal import OpsWire

/// The stored keys of an operation, for a repetition with `--again`.
struct Repetition {
    private let row: OperationRow
    private let details: DetailsRow

    init(_ reply: ShowReply) {
        row = reply.operation
        details = reply.details
    }

    /// Keys of the operation, without those that apply to its first submission only: dependencies, deadline, start time
    /// and idempotency key.
    var object: [UInt8] {
        var object = JSONWriter()
        object.beginObject()
        object.member("name", row.name)
        if details.http == nil, let command = row.command { object.member("command", command) }
        object.member("queue", row.queue)
        object.member("priority", row.priority)
        object.member("completion", row.completion)
        object.member("timeout", row.timeout)
        object.member("grace", details.grace)
        object.member("leftovers", details.leftovers)
        object.member("qos", details.qos)
        object.member("stdin", details.stdin)
        object.member("barrier", row.barrier)
        if details.runAs != row.user { object.member("user", details.runAs) }
        object.member("successCodes", raw: Array("\(details.successCodes)".utf8))
        if !row.labels.entries.isEmpty {
            object.member("labels", row.labels.entries.compactMap { Pair("\($0.name)=\($0.value)") })
        }
        object.member("executor", details.executor)
        write(details.slurm, "slurm", to: &object)
        write(details.http, "http", to: &object)
        write(details.retry, "retry", to: &object)
        write(details.limits, "limits", to: &object)
        write(details.secrets, "secrets", to: &object)
        write(details.observers, "observers", to: &object)
        if !details.conditions.isEmpty {
            object.key("conditions")
            object.array { array in
                for condition in details.conditions { condition.write(to: &array) }
            }
        }
        if !row.categories.isEmpty {
            object.key("categories")
            object.array { array in
                for use in row.categories {
                    array.object {
                        $0.member("name", use.name)
                        if use.mode == .units {
                            $0.member("units", use.units)
                        } else {
                            $0.member("mode", use.mode.rawValue)
                        }
                    }
                }
            }
        }
        if details.output == "files" {
            object.key("output")
            object.object {
                $0.member("stdout", details.stdout)
                $0.member("stderr", details.stderr)
            }
        } else {
            object.member("output", details.output)
        }
        object.endObject()
        return object.bytes
    }

    private func write(_ value: JSONObject?, _ key: String, to object: inout JSONWriter) {
        guard let value else { return }
        object.key(key)
        value.write(to: &object)
    }
}
