import Foundation
import Glibc

/// Attacks with incomplete messages and submissions, and with unread replies.
extension Attacker {
    /// Keeps connections open for so many seconds.
    private func keep(_ wires: [Wire], _ seconds: Double) {
        nonisolated(unsafe) let kept = wires  // not used elsewhere any more
        later(seconds) { withExtendedLifetime(kept) {} }
    }

    mutating func connectOften() throws(CallError) {
        var wires: [Wire] = []
        for _ in 0..<dice.roll(50...600) {
            // Some are refused once there are too many.
            guard let wire = try? Wire(socket) else { break }
            wires.append(wire)
        }
        tally("connections", wires.count)
        keep(wires, Double(dice.roll(0...20)) / 10)
    }

    mutating func sendHalves() throws(CallError) {
        var wires: [Wire] = []
        let half = Array(#"{"method":"org.opsd.Control.Submit","parameters":{"name":""#.utf8)
        for _ in 0..<dice.roll(2...8) {
            let wire = try Wire(socket)
            wire.limitSending(seconds: 5)
            try wire.write(half + [UInt8](repeating: UInt8(ascii: "x"), count: dice.roll(1...16) << 20))
            tally("half messages")
            wires.append(wire)
        }
        keep(wires, Double(dice.roll(1...35)))
    }

    mutating func leaveParts() throws(CallError) {
        count += 1
        let wire = try Wire(socket)
        wire.limitSending(seconds: 5)
        try wire.send("BeginSubmission")
        _ = try wire.receive(seconds: 20)
        let long = String(repeating: "x", count: 100_000)
        for number in 0..<dice.roll(5...80) {
            // All texts differ, because opsd would keep equal texts only once.
            let part = (0..<10).map { ["command": ["true", "\(count) \(number) \($0) \(long)"]] }
            try wire.send("AddOperations", ["operations": part])
            _ = try wire.receive(seconds: 20)
            tally("parts of a megabyte")
        }
        keep([wire], Double(dice.roll(1...40)))
    }

    mutating func leaveReplies() throws(CallError) {
        let graphs = try call("Complete", ["kind": "graph", "prefix": "fan"])["words"] as? [String] ?? []
        var wires: [Wire] = []
        for _ in 0..<dice.roll(1...6) {
            let wire = try Wire(socket)
            wire.limitSending(seconds: 5)
            for _ in 0..<dice.roll(5...30) {
                if let graph = dice.pick(graphs) { try wire.send("Graph", ["graph": graph]) }
                try wire.send("List", ["selection": ["user": "nobody"]], more: false)
            }
            if dice.happens(50) { try wire.send("List", [:], more: true) }
            if dice.happens(30) { try wire.send("Watch", ["since": 0], more: true) }
            tally("connections with unread replies")
            wires.append(wire)
        }
        keep(wires, Double(dice.roll(1...35)))
    }

    /// Sends selections of ranges that cannot be united, with labels that can be excluded only by reading every text.
    mutating func askByLabels() throws(CallError) {
        if dice.happens(15) {
            let operations = (0..<2000).map { number -> [String: Any] in
                ["command": ["true"], "held": true, "labels": ["label\(number % 20)": "\(number)"]]
            }
            try submit(operations)
        }
        var wires: [Wire] = []
        for _ in 0..<dice.roll(1...8) {
            let wire = try Wire(socket)
            wire.limitSending(seconds: 5)
            for _ in 0..<dice.roll(1...20) {
                let first = dice.roll(1...1000)
                let refs = (0..<dice.roll(1...2000)).map { "\(first + $0 * 2)-\(first + $0 * 2)" }
                var labels: [String: String] = [:]
                for number in 0..<dice.roll(1...20) { labels["label\(number)"] = "\(dice.roll(0...9999))" }
                let selection: [String: Any] =
                    dice.happens(70) ? ["refs": refs, "labels": labels] : ["labels": labels]
                switch dice.roll(0...5) {
                case 0: try wire.send("Cancel", ["selection": selection])
                case 1: try wire.send("Wait", ["selection": selection, "timeout": "1s"])
                case 2: try wire.send("Stats", ["selection": selection])
                default: try wire.send("List", ["selection": selection])
                }
                tally("questions with labels")
            }
            wires.append(wire)
        }
        // Either leaves the replies unread, or waits for them.
        if dice.happens(50) { return keep(wires, Double(dice.roll(1...20))) }
        for wire in wires { _ = try? wire.receive(seconds: 10) }  // an answer or a refusal: both are fine
    }
}
