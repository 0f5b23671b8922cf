internal import OpsSystem
internal import OpsWire

/// One conversation with opsd: calls go out, replies come back in order, messages end with NUL.
final class Connection {
    /// One reply of the daemon that is no error.
    struct Reply {
        let parameters: JSONView
        /// More replies to the same call will come.
        let continues: Bool
    }

    private let socket: Descriptor
    /// What has arrived and is not yet taken, from `start` on.
    private var received: [UInt8] = []
    private var start = 0
    /// Up to where there is no end of a message.
    private var searched = 0
    /// Shapes of the replies that are to come, in their order.
    private var awaited: [Shape?] = []
    /// What is read at once: little for the one answer that most verbs get, more when more comes.
    private var readSize = 1 << 13

    init(path: String) throws(Failure) {
        do throws(SystemError) {
            socket = try UnixSocket.connect(to: path)
        } catch {
            throw Refusal.unreachable(path, error)
        }
    }

    var descriptor: Int32 { socket.rawValue }

    /// Sends a call; `parameters` is the text of an object.
    func send(_ method: StaticString, more: Bool = false, parameters: [UInt8] = Array("{}".utf8)) throws(Failure) {
        var message: [UInt8] = []
        message.reserveCapacity(parameters.count + 96)
        message.append(contentsOf: "{\"method\":\"org.opsd.Control.".utf8)
        method.withUTF8Buffer { message.append(contentsOf: $0) }
        message.append(contentsOf: "\",\"parameters\":".utf8)
        message.append(contentsOf: parameters)
        message.append(contentsOf: (more ? ",\"more\":true}\0" : "}\0").utf8)
        awaited.append(Shape.reply(to: method))
        do throws(SystemError) {
            // The daemon may have refused and closed: its last words are still to be read.
            _ = try socket.writeAll(message)
        } catch {
            throw Refusal.lost(error)
        }
    }

    func call(_ method: StaticString, _ fill: (inout JSONWriter) -> Void = { _ in }) throws(Failure) -> JSONView {
        try send(method, parameters: JSONWriter.object(fill))
        return try receive().parameters
    }

    /// Calls `each` for every reply until the last, or until it answers false.
    func stream(
        _ method: StaticString, _ fill: (inout JSONWriter) -> Void = { _ in },
        each: (JSONView) throws(Failure) -> Bool
    ) throws(Failure) {
        try send(method, more: true, parameters: JSONWriter.object(fill))
        while true {
            let reply = try receive()
            guard try each(reply.parameters), reply.continues else { return }
        }
    }

    /// The next reply, waiting for it.
    func receive() throws(Failure) -> Reply {
        while true {
            if let reply = try takeReply() { return reply }
            guard try fill() else { throw Refusal.lost(nil) }
        }
    }

    /// A reply that has arrived whole.
    func takeReply() throws(Failure) -> Reply? {
        guard let end = received[max(start, searched)...].firstIndex(of: 0) else {
            searched = received.count
            return nil
        }
        let message = Array(received[start..<end])
        start = end + 1
        searched = start
        if start == received.count {
            received.removeAll(keepingCapacity: true)
            (start, searched) = (0, 0)
        }
        let reply: Reply
        let error: String?
        do throws(JSONError) {
            (reply, error) = try read(message)
        } catch {
            throw Refusal.senseless("something that is no message")
        }
        let shape = awaited.first ?? nil
        if !reply.continues, !awaited.isEmpty { awaited.removeFirst() }
        if let error { throw Refusal.failure(error, reply.parameters) }
        do throws(JSONError) {
            try shape?.check(reply.parameters.raw)
        } catch {
            let place = error.path.isEmpty ? "" : "\(error.path): "
            throw Refusal.senseless("an answer that makes no sense (\(place)\(error.reason.text))")
        }
        return reply
    }

    /// Checks the message and finds its parts in one walk.
    private func read(_ message: [UInt8]) throws(JSONError) -> (reply: Reply, error: String?) {
        var parameters: Range<Int>?
        var continues = false
        var error: String?
        try scan(message) { (scanner) throws(JSONError) in
            try scanner.beginObject()
            while let key = try scanner.nextMember() {
                if scanner.equals(key, "parameters") {
                    parameters = try scanner.skip()
                } else if scanner.equals(key, "continues") {
                    continues = try scanner.bool()
                } else if scanner.equals(key, "error") {
                    error = try scanner.string()
                } else {
                    try scanner.skip()
                }
            }
            try scanner.end()
        }
        let view = parameters.map { JSONView(message, $0) } ?? JSONView(Array("{}".utf8), 0..<2)
        return (Reply(parameters: view, continues: continues), error)
    }

    /// Reads once; false when the daemon has closed.
    func fill() throws(Failure) -> Bool {
        if start > 0 {
            received.removeFirst(start)
            searched -= start
            start = 0
        }
        do throws(SystemError) {
            // Who waits in a read is woken when the other side takes what was sent, too, and keeps it from going on.
            try socket.waitUntil(.readable)
            switch try socket.read(atMost: readSize, onto: &received) {
            case .moved(let count):
                if count == readSize { readSize = min(2 * readSize, 1 << 17) }
                return true
            case .wouldBlock: return true
            case .ended: return false
            }
        } catch {
            throw Refusal.lost(error)
        }
    }
}
