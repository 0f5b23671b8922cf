import Foundation
import OpsSystem
import OpsWire
import Testing

@testable import OpsWeb

/// A daemon that answers when a test says so.
private final class ScriptedDaemon {
    struct MissingCall: Error {}

    let folder: String
    let path: String
    private let listener: Descriptor

    init() throws {
        folder = try RunningWeb.makeFolder()
        path = folder + "/scripted.sock"
        listener = try UnixSocket.listen(at: path)
    }

    deinit { do { try FileManager.default.removeItem(atPath: folder) } catch { Issue.record(error) } }

    /// Accepts a connection, and reads a call of a method with a parameter from it.
    func accept(_ method: String, _ parameter: String? = nil) throws -> Descriptor {
        while try listener.waitUntil(.readable, milliseconds: 60_000) {
            guard let client = try UnixSocket.accept(from: listener) else { continue }
            let call = try readText(from: client) { $0.hasSuffix("\0") }
            #expect(call.contains("org.opsd.Control.\(method)") && call.contains(parameter ?? method), "\(call)")
            return client
        }
        throw MissingCall()
    }

    /// Answers the call that precedes the event stream, and returns the connection of the stream, which begins after
    /// the last event.
    func acceptEvents(lastSeq: Int64) throws -> Descriptor {
        let status = try accept("Status")
        _ = try status.writeAll(Reply.frame(StatusReply.with { $0.lastSeq = lastSeq }))
        return try accept("Watch", "\"since\":\(lastSeq)")
    }

    /// Refuses further connections.
    func disappear() throws { try FileManager.default.removeItem(atPath: path) }
}

/// Reads until the text is complete. Returns an incomplete text at the end of the connection, or after a minute without
/// a byte.
private func readText(from socket: borrowing Descriptor, until isComplete: (String) -> Bool) throws -> String {
    var bytes: [UInt8] = []
    while !isComplete(String(decoding: bytes, as: UTF8.self)) {
        guard try socket.waitUntil(.readable, milliseconds: 60_000) else { break }
        if case .ended = try socket.read(atMost: 1 << 16, onto: &bytes) { break }
    }
    return String(decoding: bytes, as: UTF8.self)
}

private func hangUp(_ socket: consuming Descriptor) {}

/// Streams of opsd-web without events or output, and their connections.
@Suite struct IdleStreamTests {
    private static let lost = "event: lost\n"
    private static let live = #""to":7,"operations":[],"graphs":[]}"#

    /// Sends a request, and leaves the connection open.
    private func open(_ web: RunningWeb, _ line: String, header: String = "", body: String = "") throws -> Descriptor {
        let socket = try web.connect()
        let length = body.isEmpty ? "" : "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
        let head = "\(line) HTTP/1.1\r\nHost: 127.0.0.1:\(web.port)\r\nAuthorization: Bearer \(web.bearer)\r\n"
        _ = try socket.writeAll(Array("\(head)\(header)\(length)\r\n\(body)".utf8))
        return socket
    }

    /// Waits until a page shows that it gets events.
    private func expectLive(_ page: borrowing Descriptor) throws {
        let text = try readText(from: page) { $0.contains(Self.live) }
        #expect(text.contains(Self.live))
    }

    @Test func `a page is live again after an idle daemon has restarted`() throws {
        let daemon = try ScriptedDaemon()
        let web = try RunningWeb(environment: ["OPS_SOCKET": daemon.path])
        let page = try open(web, "GET /events")
        let events = try daemon.acceptEvents(lastSeq: 7)
        let before = try readText(from: page) { $0.contains(Self.live) }
        #expect(before.contains(Self.live) && !before.contains(Self.lost))
        hangUp(events)
        let outage = try readText(from: page) { $0.contains(Self.lost) }
        #expect(outage.contains(Self.lost) && !outage.contains(Self.live))
        let later = try daemon.acceptEvents(lastSeq: 7)
        try expectLive(page)
        hangUp(later)
        #expect(web.process.isRunning)
    }

    @Test func `a page that reconnects is live although it has missed nothing`() throws {
        let daemon = try ScriptedDaemon()
        let web = try RunningWeb(environment: ["OPS_SOCKET": daemon.path])
        let first = try open(web, "GET /events?since=7")
        let events = try daemon.acceptEvents(lastSeq: 7)
        try expectLive(first)
        hangUp(first)
        let second = try open(web, "GET /events", header: "Last-Event-ID: 7\r\n")
        try expectLive(second)
        hangUp(events)
        #expect(web.process.isRunning)
    }

    @Test func `a page is live again after events that it has not seen were pruned`() throws {
        let daemon = try ScriptedDaemon()
        let web = try RunningWeb(environment: ["OPS_SOCKET": daemon.path])
        let page = try open(web, "GET /events")
        let events = try daemon.acceptEvents(lastSeq: 7)
        try expectLive(page)
        _ = try events.writeAll(Reply.frame(ControlError.lagged(resume: 7)))
        let later = try daemon.acceptEvents(lastSeq: 9)
        let line = #"data: {"from":8,"to":9,"operations":null,"graphs":null}"#
        let after = try readText(from: page) { $0.contains(line) }
        #expect(after.contains("event: lost") && after.contains("id: 9\n\(line)"))
        hangUp(later)
        #expect(web.process.isRunning)
    }

    @Test func `a page that has missed more events than a history keeps reads everything again`() throws {
        let daemon = try ScriptedDaemon()
        let web = try RunningWeb(environment: ["OPS_SOCKET": daemon.path])
        let page = try open(web, "GET /events")
        let events = try daemon.acceptEvents(lastSeq: 7)
        try expectLive(page)
        hangUp(events)
        let later = try daemon.acceptEvents(lastSeq: 8 + Int64(EventHistory.limit))
        let line = #"data: {"from":8,"to":\#(8 + EventHistory.limit),"operations":null,"graphs":null}"#
        let after = try readText(from: page) { $0.contains(line) }
        #expect(after.contains(line))
        hangUp(later)
        #expect(web.process.isRunning)
    }

    @Test func `a page that opens during an outage learns of it`() throws {
        let daemon = try ScriptedDaemon()
        let web = try RunningWeb(environment: ["OPS_SOCKET": daemon.path])
        let first = try open(web, "GET /events")
        let events = try daemon.acceptEvents(lastSeq: 7)
        try expectLive(first)
        try daemon.disappear()
        hangUp(events)
        let outage = try readText(from: first) { $0.contains(Self.lost) }
        #expect(outage.contains(Self.lost))
        let second = try open(web, "GET /events", header: "Last-Event-ID: 7\r\n")
        let reopened = try readText(from: second) { $0.contains(Self.lost) }
        #expect(reopened.contains(Self.lost))
        #expect(web.process.isRunning)
    }

    /// Returns the processor time that a process has used, in hundredths of a second.
    private func processorTime(of process: Process) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)
        // The name of the program, in parentheses, may contain spaces.
        let words = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        try #require(words.count > 13)
        return words[12...13].compactMap { Int($0) }.reduce(0, +)
    }

    @Test func `a log that its page does not read costs nothing after the end of the daemon`() throws {
        let daemon = try ScriptedDaemon()
        let web = try RunningWeb(environment: ["OPS_SOCKET": daemon.path])
        let page = try open(web, "POST /follow", body: #"{"method":"Log","parameters":{"ref":"1","follow":true}}"#)
        let log = try daemon.accept("Log")
        let reply = Reply.frame(LogReply.with { $0.data = String(repeating: "A", count: 48 << 10) }, continues: true)
        // opsd-web stops reading when its buffer and those of the page's connection are full.
        var rest = reply[...]
        while try log.waitUntil(.writable, milliseconds: 1000) {
            guard case .moved(let count) = try log.write(rest) else { break }
            rest = count < rest.count ? rest.dropFirst(count) : reply[...]
        }
        hangUp(log)
        let before = try processorTime(of: web.process)
        usleep(2_000_000)
        #expect(try processorTime(of: web.process) - before < 30)
        hangUp(page)
        #expect(web.process.isRunning)
    }

    @Test func `a request without a session causes no call to the daemon`() throws {
        let daemon = try ScriptedDaemon()
        let web = try RunningWeb(environment: ["OPS_SOCKET": daemon.path])
        for path in ["/metrics", "/events"] { #expect(try web.ask(path).status == 401) }
        let page = try open(web, "POST /call", body: #"{"method":"List"}"#)
        hangUp(try daemon.accept("List"))
        let answer = try readText(from: page) { $0.contains("502") }
        #expect(answer.contains("502"))
    }

    @Test func `a quiet log is released after its page has closed`() throws {
        let daemon = try ScriptedDaemon()
        let web = try RunningWeb(environment: ["OPS_SOCKET": daemon.path])
        let body = #"{"method":"Log","parameters":{"ref":"1","follow":true}}"#
        let closed = try open(web, "POST /follow", body: body)
        let released = try daemon.accept("Log")
        let other = try open(web, "POST /follow", body: body)
        let kept = try daemon.accept("Log")
        hangUp(closed)
        // The second keep-alive message fails at the latest.
        try released.waitUntil(.readable, milliseconds: 60_000)
        var bytes: [UInt8] = []
        let end = try released.read(atMost: 1, onto: &bytes)
        #expect(end == .ended)
        let line = "1\r\n\n\r\n"
        let text = try readText(from: other) { $0.contains(line) }
        #expect(text.contains(line) && !text.contains("Gone"))
        hangUp(kept)
        #expect(web.process.isRunning)
    }
}
