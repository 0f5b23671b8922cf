import Foundation
import Glibc

/// Attacks with the contents of submissions.
extension Attacker {
    mutating func raiseBarrier() throws(CallError) {
        let queue = dice.pick(Planner.queues) ?? "default"
        try submit([["command": ["true"], "barrier": true, "held": true, "queue": queue]])
        if dice.happens(30) {
            try submit([["command": command(["linger", "500"]), "barrier": true, "queue": queue]])
        }
    }

    /// Submits many operations that are all skipped if one operation succeeds, and ready if it fails.
    mutating func decideMany() throws(CallError) {
        let wire = try Wire(socket)
        wire.limitSending(seconds: 20)
        count += 1
        try wire.send(
            "BeginSubmission",
            ["name": "fan\(count)", "defaults": ["queue": Self.queue, "command": ["true"]] as [String: Any]])
        _ = try wire.receive(seconds: 20)
        let root: [String: Any] = ["name": "root", "command": command(["linger", "\(dice.roll(0...300))"])]
        var part: [[String: Any]] = [root]
        for number in 0..<(dice.happens(90) ? dice.roll(200...2000) : dice.roll(5000...20_000)) {
            part.append([
                "after": [["op": "root", "when": "failed"]],
                "labels": ["label\(number % 20)": "\(number)"],
            ])
        }
        tally("operations decided by one end", part.count - 1)
        try wire.send("AddOperations", ["operations": part])
        _ = try wire.receive(seconds: 20)
        try wire.send("CommitSubmission")
        _ = try wire.receive(seconds: 20)
    }

    mutating func launchLarge() throws(CallError) {
        var operation: [String: Any] = ["command": ["/bin/true"]]
        var environment: [String: String] = [:]
        switch dice.roll(0...3) {
        // Almost a megabyte of arguments.
        case 0:
            operation["command"] = ["/bin/true"] + Array(repeating: String(repeating: "x", count: 1000), count: 1000)
        // One argument that is longer than the kernel allows.
        case 1: operation["command"] = ["/bin/true", String(repeating: "x", count: 200_000)]
        case 2: operation["command"] = ["/bin/true"] + Array(repeating: "x", count: 200_000)
        default: break
        }
        if dice.happens(60) {
            for number in 0..<dice.roll(1...4000) { environment["V\(number)"] = String(repeating: "y", count: 240) }
        }
        tally("large launches")
        try submit(Array(repeating: operation, count: dice.roll(1...4)), environment: environment)
    }

    /// Submits operations that publish results, and one that receives these and all earlier results.
    mutating func collectResults() throws(CallError) {
        let giver: [String: Any] = ["command": command(["result"])]
        let names = (0..<dice.roll(50...300)).map { "r\(count)-\($0)" }
        count += 1
        let reply = try call("List", ["selection": ["user": "nobody", "outcome": "succeeded"], "limit": 1000])
        let before = (reply["operations"] as? [[String: Any]] ?? [])
            .filter { $0["result"] is String }.compactMap { $0["id"] as? Int }
        var after: [[String: Any]] = names.map { ["op": $0, "when": "finished"] }
        after += before.map { ["op": "\($0)", "when": "finished"] }
        let collector: [String: Any] = ["command": ["/usr/bin/env"], "after": after]
        tally("results for one launch", after.count)
        try submit(names.map { giver.merging(["name": $0]) { $1 } } + [collector])
    }

    mutating func neverAnswer() throws(CallError) {
        let long = command([dice.happens(50) ? "stop" : "linger", "60000"])
        var operation: [String: Any] = ["command": command(["linger", "10"])]
        if dice.happens(60) { operation["conditions"] = [["exec": long]] }
        if dice.happens(60) { operation["observers"] = ["start": long, "finish": long] }
        tally("conditions and observers that do not end")
        try submit(Array(repeating: operation, count: dice.roll(1...30)))
    }
}
