import Foundation
import Glibc
import Synchronization

/// Runs opsd-web as the honest user, and follows its stream of events as a page does. It closes connections itself, and
/// after each end of a connection or a program it continues after the last event that it has received.
final class Page: Sendable {
    /// Message of the stream: a range of events, with the operations and graphs that they concern.
    struct Message: Sendable {
        var from: Int
        var to: Int
        /// Operations and graphs that may have changed; nil: any of them.
        var operations: [Int]?
        var graphs: [String]?
        /// False for a message that only tells that opsd is reachable again.
        var hasEvents: Bool { from <= to }
    }
    struct Seen: Sendable {
        var messages: [Message] = []
        var last = 0
        var connections = 0
        /// Number of requests that opsd-web must refuse.
        var tries = 0
        /// Such requests that it did not refuse.
        var powers: [String] = []
    }
    private struct State {
        var web: Program?
        var wasKilled = false
        var starts = 0
        var deaths = 0
        /// Token of an opsd-web that has ended.
        var oldToken = "none"
    }

    private let victims: Victims
    private let ledger: Ledger
    private let seed: UInt64
    private let sabotage: Sabotage?
    private let seen = Mutex(Seen())
    private let state = Mutex(State())
    private let isStopping = Atomic(false)
    private let hasStopped = Atomic(false)

    /// Returns nil, and prints the reason, if opsd-web cannot be tortured.
    static func find(_ victims: Victims, _ ledger: Ledger, source: String?, seed: UInt64, sabotage: Sabotage?) throws
        -> Page?
    {
        guard let source, FileManager.default.isExecutableFile(atPath: victims.programs + "/opsd-web") else {
            print("NOT TORTURED: the page: opsd-web is not built")
            return nil
        }
        try victims.provide(victims.programs + "/opsd-web")
        try victims.provide(source + "/web")
        return Page(victims, ledger, seed: seed, sabotage: sabotage)
    }

    private init(_ victims: Victims, _ ledger: Ledger, seed: UInt64, sabotage: Sabotage?) {
        self.victims = victims
        self.ledger = ledger
        self.seed = seed
        self.sabotage = sabotage
    }

    var copy: Seen { seen.withLock { $0 } }

    func begin() {
        Thread.detachNewThread {
            var dice = Dice(seed: self.seed &+ 4242)
            while !self.isStopping.load(ordering: .acquiring) {
                if let client = self.client() { self.follow(client, &dice) }
                usleep(20_000)
            }
            self.hasStopped.store(true, ordering: .releasing)
        }
    }

    /// Waits until event `last` has arrived, for `seconds` at most, and stops. Returns true if the event arrived.
    func end(after last: Int, seconds: Double) -> Bool {
        let end = Date().addingTimeInterval(seconds)
        while Date() < end, seen.withLock({ $0.last }) < last { usleep(20_000) }
        isStopping.store(true, ordering: .releasing)
        while Date() < end.addingTimeInterval(20), !hasStopped.load(ordering: .acquiring) { usleep(20_000) }
        if let web = state.withLock({ $0.web }) {
            web.signal(SIGTERM)
            if web.wait(seconds: 20) != 0 { ledger.find("opsd-web does not end at SIGTERM") }
        }
        return seen.withLock { $0.last } >= last
    }

    /// Kills opsd-web. Returns false if it does not run.
    func kill() -> Bool {
        state.withLock { state in
            guard let web = state.web else { return false }
            state.wasKilled = true
            web.signal(SIGKILL)
            return true
        }
    }

    // MARK: The program

    /// Starts opsd-web if it does not run.
    private func client() -> PageClient? {
        do {
            let log = try state.withLock { state in
                let deaths = victims.deaths
                if let web = state.web, let status = web.wait(seconds: 0) {
                    if !state.wasKilled, state.deaths == deaths {
                        ledger.find("opsd-web ended by itself with \(status)")
                    }
                    state.web = nil
                }
                if state.web == nil, !victims.isDown {
                    state.starts += 1
                    (state.wasKilled, state.deaths) = (false, deaths)
                    var environment = Victims.environment
                    environment["OPS_SOCKET"] = victims.socket
                    state.web = try Program(
                        (sabotage == .rights ? [] : victims.asHonest) + [victims.tools + "/opsd-web", "--port", "0"],
                        environment: environment,
                        output: "\(victims.work)/web-\(state.starts).log")
                }
                return "\(victims.work)/web-\(state.starts).log"
            }
            let text = String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self)
            guard let port = text.firstMatch(of: #/127\.0\.0\.1:(\d+)/#).flatMap({ UInt16($0.output.1) }),
                let token = text.firstMatch(of: #/Bearer (\w+)\n/#)
            else { return nil }
            return PageClient(port: port, token: String(token.output.1))
        } catch {
            ledger.find("opsd-web cannot be started: \(error)")
            isStopping.store(true, ordering: .releasing)
            return nil
        }
    }

    // MARK: The stream

    private func follow(_ client: PageClient, _ dice: inout Dice) {
        tryWithoutRight(client)
        let last = seen.withLock { $0.last }
        guard let stream = client.events(after: last) else { return }
        seen.withLock { $0.connections += 1 }
        // The client disconnects at any moment, also in the middle of a message.
        let end = Date().addingTimeInterval(Double(dice.roll(50...6000)) / 1000)
        var isFirst = true
        while Date() < end, !isStopping.load(ordering: .acquiring), stream.receive(seconds: 0.1) {
            while let line = stream.nextLine() {
                if line.hasPrefix("HTTP/"), !line.contains(" 200 ") {
                    return ledger.find("the stream is refused: \(line)")
                }
                guard line.hasPrefix("data: {\"from") else { continue }
                take(String(line.dropFirst("data: ".count)), twice: sabotage == .page && isFirst)
                isFirst = false
            }
        }
    }

    private func take(_ text: String, twice: Bool) {
        // Text that is not JSON becomes a finding below.
        let object = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
        guard let from = object["from"] as? Int, let to = object["to"] as? Int else {
            return ledger.find("the page received something other than events: \(text)")
        }
        let message = Message(
            from: from, to: to, operations: object["operations"] as? [Int], graphs: object["graphs"] as? [String])
        seen.withLock {
            $0.messages += Array(repeating: message, count: twice ? 2 : 1)
            $0.last = to
        }
    }

    // MARK: Rights

    /// Makes requests that must be refused.
    private func tryWithoutRight(_ client: PageClient) {
        let old = state.withLock { $0.oldToken }
        var open: [String] = []
        var tries = 0
        let expect = { (status: Int, answer: (status: Int, body: String)?, what: String) in
            guard let answer else { return }
            tries += 1
            if answer.status != status { open.append("\(what) was answered with \(answer.status)") }
        }
        let status = #"{"method":"Status","parameters":{}}"#
        for path in ["/events", "/metrics", "/about"] {
            expect(401, client.ask(path, token: nil), "\(path) without a token")
            if old != client.token {
                expect(401, client.ask(path, token: old), "\(path) with the token of another opsd-web")
            }
            expect(403, client.ask(path, token: client.token, host: "evil.example"), "\(path) for another host")
        }
        expect(401, client.ask("/call", token: nil, body: status), "a call without a token")
        if victims.people != nil {
            // opsd-web passes this call on, but an ordinary user must not resume the whole daemon.
            let call = #"{"method":"Resume","parameters":{}}"#
            if let answer = client.ask("/call", token: client.token, body: call) {
                tries += 1
                if answer.status == 200, !answer.body.contains("error") {
                    open.append("the page has resumed the daemon for an ordinary user: \(answer.body.prefix(200))")
                }
            }
        }
        state.withLock { $0.oldToken = client.token }
        let (count, powers) = (tries, open)
        seen.withLock {
            $0.tries += count
            $0.powers += powers
        }
    }
}
