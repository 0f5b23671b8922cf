import Foundation
import Synchronization

/// Follows the event stream for the whole run, through every crash: a reported event must never turn out to be untrue.
final class Watcher: Sendable {
    struct Seen: Sendable {
        /// Canonical text of event 1, 2, ...
        var events: [String] = []
        var unfinished = 0
        var reconnections = 0
    }

    private let seen = Mutex(Seen())
    private let isStopping = Atomic(false)
    private let hasStopped = Atomic(false)
    private let ledger: Ledger
    private let socket: String
    /// True if the disk may fail, so that events cannot be read.
    private let mayLackStorage: Bool

    init(socket: String, mayLackStorage: Bool, ledger: Ledger) {
        self.socket = socket
        self.mayLackStorage = mayLackStorage
        self.ledger = ledger
    }

    var copy: Seen { seen.withLock { $0 } }
    var count: Int { seen.withLock { $0.events.count } }
    var unfinished: Int { seen.withLock { $0.unfinished } }

    func begin() {
        Thread.detachNewThread {
            while !self.isStopping.load(ordering: .acquiring) { self.follow() }
            self.hasStopped.store(true, ordering: .releasing)
        }
    }

    /// Waits until event `last` has arrived, for `seconds` at most, and stops. Returns true if the event arrived.
    func end(after last: Int, seconds: Double) -> Bool {
        let end = Date().addingTimeInterval(seconds)
        while Date() < end, seen.withLock({ $0.events.count }) < last { usleep(10_000) }
        isStopping.store(true, ordering: .releasing)
        while Date() < end.addingTimeInterval(5), !hasStopped.load(ordering: .acquiring) { usleep(10_000) }
        return seen.withLock { $0.events.count } >= last
    }

    private func follow() {
        do throws(CallError) {
            let wire = try Wire(socket)
            seen.withLock { $0.reconnections += 1 }
            try wire.send("Watch", ["since": seen.withLock { $0.events.count }], more: true)
            while !isStopping.load(ordering: .acquiring) {
                do throws(CallError) {
                    take(try wire.receive(seconds: 0.5))
                } catch {
                    // Silence means that nothing happens, which is normal for Watch.
                    guard case .silent = error else { throw error }
                }
            }
        } catch {
            // opsd crashed or does not run yet. A reader that was too slow continues where it stopped.
            if let refusal = error.refusal, refusal.name != "Lagged",
                !(mayLackStorage && refusal.name == "StorageUnavailable")
            {
                ledger.find("Watch was refused: \(refusal)")
            }
            usleep(20_000)
        }
    }

    private func take(_ reply: [String: Any]) {
        guard let event = reply["event"] as? [String: Any], let sequence = event["seq"] as? Int else {
            return ledger.find("an event without a sequence number: \(reply)")
        }
        let type = event["type"] as? String
        let isLoad = ![Attacker.queue, Functions.queue].contains(event["queue"] as? String)
        let text = canonical(event)
        let expected = seen.withLock { seen in
            let expected = seen.events.count + 1
            if sequence == expected {
                seen.events.append(text)
                if isLoad, type == "finished" { seen.unfinished -= 1 }
                if isLoad, type == "submitted" || event["old"] as? String == "finished" { seen.unfinished += 1 }
            }
            return expected
        }
        if sequence != expected { ledger.find("event \(sequence) came instead of event \(expected)") }
    }
}

/// Returns the same text for equal JSON objects, regardless of the order of their keys and of null members.
func canonical(_ object: [String: Any]) -> String {
    // The object contains only JSON values.
    guard
        let data = try? JSONSerialization.data(
            withJSONObject: object.filter { !($0.value is NSNull) }, options: [.sortedKeys])
    else { preconditionFailure("not JSON") }
    return String(decoding: data, as: UTF8.self)
}
