import Foundation
import Glibc
import TortureSystem

/// Failure of a call that brought no reply.
enum CallError: Error {
    /// The daemon could not be reached: nothing was sent.
    case unreachable
    /// The call was sent, but no reply came, so its effect is unknown.
    case lost
    /// The daemon refused the call.
    case refused(Refusal)
    /// There was no reply for so long that the daemon must have forgotten the call.
    case silent

    /// Refusal by the daemon, if it answered.
    var refusal: Refusal? {
        if case .refused(let refusal) = self { refusal } else { nil }
    }
    func isRefusal(_ name: String) -> Bool { refusal?.name == name }
}

/// A Varlink error: its name without the interface, and its parameters.
struct Refusal: Sendable, CustomStringConvertible {
    var name: String
    var kind: String?
    var text: String
    var description: String { "\(name) \(text)" }

    init(_ error: String, _ parameters: [String: Any]) {
        name = error.split(separator: ".").last.map(String.init) ?? error
        kind = parameters["kind"] as? String
        text = canonical(parameters)
    }
}

/// One connection to the control socket. A frame is a JSON object and a NUL byte. The code follows the description of
/// Varlink, and shares nothing with opsd.
final class Wire {
    private let descriptor: Int32
    private var received: [UInt8] = []

    /// Connects as a user of the machine, or as the torture's own user if `person` is nil.
    init(_ path: String, as person: Person? = nil) throws(CallError) {
        if let person {
            descriptor = torture_connect_as(path, person.uid, person.gid)
        } else {
            descriptor = Self.connect(path)
        }
        if descriptor < 0 { throw .unreachable }
    }

    /// Returns the connected socket, or -1.
    private static func connect(_ path: String) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }

    deinit { close(descriptor) }

    func send(_ method: String, _ parameters: [String: Any] = [:], more: Bool = false) throws(CallError) {
        var call: [String: Any] = ["method": "org.opsd.Control.\(method)", "parameters": parameters]
        if more { call["more"] = true }
        try write(frame(call))
    }

    /// Sends only the beginning of a message.
    func sendHalf(_ method: String, _ parameters: [String: Any], dice: inout Dice) throws(CallError) {
        let bytes = frame(["method": "org.opsd.Control.\(method)", "parameters": parameters])
        try write(Array(bytes.prefix(dice.roll(1...(bytes.count - 1)))))
    }

    private func frame(_ call: [String: Any]) -> [UInt8] {
        // The object was built by this program from JSON values.
        guard let data = try? JSONSerialization.data(withJSONObject: call) else { preconditionFailure("not JSON") }
        return Array(data) + [0]
    }

    /// Makes a send fail if the peer reads nothing for so long.
    func limitSending(seconds: Int) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    func write(_ bytes: [UInt8]) throws(CallError) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw .lost
            }
            sent += count
        }
    }

    /// Returns the parameters of the next reply. Throws if the reply is an error.
    func receive(seconds: Double = 60) throws(CallError) -> [String: Any] {
        while true {
            if let end = received.firstIndex(of: 0) {
                let message = Data(received[..<end])
                received.removeSubrange(...end)
                guard let reply = try? JSONSerialization.jsonObject(with: message) as? [String: Any] else {
                    throw .refused(Refusal("not JSON", ["text": String(decoding: message, as: UTF8.self)]))
                }
                let parameters = reply["parameters"] as? [String: Any] ?? [:]
                if let error = reply["error"] as? String { throw .refused(Refusal(error, parameters)) }
                return parameters
            }
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, Int32(seconds * 1000)) > 0 else { throw .silent }
            let size = 1 << 16
            let chunk = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                count = max(0, recv(descriptor, buffer.baseAddress, size, 0))
            }
            if chunk.isEmpty { throw .lost }
            received += chunk
        }
    }

    /// Makes a call on a connection of its own.
    static func call(
        _ socket: String, _ method: String, _ parameters: [String: Any] = [:], as person: Person? = nil,
        seconds: Double = 60
    ) throws(CallError) -> [String: Any] {
        let wire = try Wire(socket, as: person)
        try wire.send(method, parameters)
        return try wire.receive(seconds: seconds)
    }
}
