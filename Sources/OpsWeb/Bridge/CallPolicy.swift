internal import OpsWire

/// The calls that the page may make. All other methods are refused.
struct CallPolicy {
    /// Restriction to calls that change nothing.
    var isReadOnly: Bool

    /// Calls that change nothing.
    static let reading: Set<String> = [
        "List", "Show", "Why", "Status", "Log", "Graph", "Stats", "ListQueues", "ListCategories", "ListGraphs",
        "ListExecutors", "ListSchedules", "ScheduleRuns", "ScheduleInstants", "WhySchedule", "Complete",
    ]
    /// Calls of the buttons. They do not include `Submit` and `AddSchedule`, so that an attacker who controls the page
    /// cannot start a program.
    static let steering: Set<String> = [
        "Cancel", "Suspend", "Resume", "Retry", "Note", "Set", "RunSchedule", "PauseSchedule",
        "BackfillSchedule",
    ]
    /// Keys that `Set` may change. The command is not among them.
    static let settable: Set<String> = ["priority"]

    struct Refusal: Error, Equatable {
        /// Status of the response: 400 for a call that is malformed, 403 for one that the page may not make.
        var status: UInt32 = 403
        var message: String
    }

    /// Checks a call. Its method has no interface name.
    func check(_ call: Call) throws(Refusal) {
        if Self.reading.contains(call.method) { return }
        guard Self.steering.contains(call.method) else {
            throw Refusal(message: "the page may not call the method \(call.method)")
        }
        guard !isReadOnly else {
            throw Refusal(message: "this page is read-only; restart opsctl web without --read-only")
        }
        guard call.method == "Set" else { return }
        let keys: [String]
        do { keys = try SetRequest(call).changes.members.map(\.key) } catch {
            throw Refusal(status: 400, message: "\(error.parameter): \(error.reason)")
        }
        for key in keys where !Self.settable.contains(key) {
            throw Refusal(message: "the page cannot change \(key); use opsctl set")
        }
    }
}

extension Call {
    /// Returns the call as a message to the daemon.
    func forwarded(more: Bool) -> [UInt8] {
        var writer = JSONWriter(capacity: parameters.count + 128)
        writer.beginObject()
        writer.key("method")
        writer.string("\(StatusRequest.interface).\(method)")
        writer.key("parameters")
        writer.raw(parameters)
        if more {
            writer.key("more")
            writer.bool(true)
        }
        writer.endObject()
        writer.terminate(with: 0)
        return writer.bytes
    }
}
