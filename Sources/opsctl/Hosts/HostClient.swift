internal import OpsClient
internal import OpsSystem
internal import OpsWire

/// One of several hosts: a process of opsctl for this host, whose JSON lines are read. A host that does not answer
/// delays no other, and the process prints its own errors.
final class HostClient {
    let host: RemoteHost
    /// True if an operand names this host, so that no other host can have what it names.
    let isNamed: Bool
    private let companion: Companion
    private let output: Descriptor
    private var buffer: [UInt8] = []
    /// Exit status; nil until it has ended.
    private(set) var status: ExitStatus?

    init(_ host: RemoteHost, isNamed: Bool, _ words: [String]) throws(Failure) {
        self.host = host
        self.isNamed = isNamed
        do throws(SystemError) {
            let program = ["/proc/self/exe", HostVerb.verb.name, "--", "\(Identity.pid)", "--host", host.name]
            let started = try Companion.start(program + words, readsInput: false)
            companion = started.companion
            output = Descriptor(owning: started.socket)
        } catch {
            throw Failure(.unreachable, host.name, "\(error)", nil)
        }
    }

    var descriptor: Int32 { status == nil ? output.rawValue : -1 }

    /// Reads the available output, and returns the completed lines.
    func read() throws(Failure) -> [[UInt8]] {
        let transfer: Transfer
        do throws(SystemError) {
            transfer = try output.read(atMost: 1 << 16, onto: &buffer)
        } catch {
            throw Failure(.unreachable, host.name, "\(error)", nil)
        }
        if case .ended = transfer { status = ExitStatus(code: companion.wait()) }
        var lines: [[UInt8]] = []
        while let end = buffer.firstIndex(of: 0x0a) {
            lines.append(Array(buffer[..<end]))
            buffer.removeSubrange(...end)
        }
        return lines
    }

    func end() {
        if status == nil { status = ExitStatus(code: companion.end()) }
    }

    /// Returns a JSON line with the host as its first member.
    func labelled(_ line: [UInt8]) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { $0.member("host", host.name) }
        let comma = line.count > 2 ? [UInt8(ascii: ",")] : []
        return writer.bytes.dropLast() + comma + line.dropFirst()
    }

    /// Reads a line as a record; unknown members of a later version are ignored.
    func record<Record: WireRecord>(_ line: [UInt8], _ type: Record.Type = Record.self) throws(Failure) -> Record {
        do throws(InvalidParameter) {
            return try scan(line) { (scanner) throws(InvalidParameter) in
                scanner.isTolerant = true
                return try Record(from: &scanner)
            }
        } catch {
            throw Failure(
                .unreachable, host.name, "received an invalid answer",
                "check that opsctl and opsd are of one version")
        }
    }
}

/// Internal verb `__host`: an opsctl for one of several hosts. It ends with the opsctl that started it.
enum HostVerb {
    static let verb = Verb(
        "__host", .looking, "a verb for one of several hosts", forms: ["PID WORD..."], operands: .command,
        isHidden: true,
        action: { (session) throws(Failure) in
            let words = session.arguments.operands
            guard let parent = words.first.flatMap({ Int32($0) }), Companion.endWithParent(parent) else { return .done }
            // The words are PID --host HOST VERB.
            return Program.run(Array(words.dropFirst()), host: words.dropFirst(2).first)
        })
}
