internal import OpsSystem

extension Packer {
    mutating func pack(_ attempt: Attempt) {
        pack(attempt.operation)
        pack(attempt.number)
    }

    mutating func pack(_ words: CStringArray) {
        pack(UInt32(words.count))
        bytes.reserveCapacity(bytes.count + words.bytes.count + 4 * words.count)
        words.visit { word in
            pack(UInt32(word.count))
            bytes.append(contentsOf: word)
        }
    }

    mutating func pack(_ request: LaunchRequest) {
        pack(request.attempt)
        pack(request.slot)
        pack(request.arguments) { $0.pack($1) }
        pack(request.environment)
        pack(request.directory)
        pack(request.umask)
        pack(request.stdin)
        pack(request.output)
        pack(request.user) {
            $0.pack($1.name)
            $0.pack($1.uid)
            $0.pack($1.gid)
        }
        pack(request.priority.nice) { $0.pack($1) }
        pack(request.priority.ioClass) { $0.pack($1.rawValue) }
        pack(request.priority.ioLevel)
        pack(request.priority.cpuWeight) { $0.pack($1) }
        pack(request.resourceLimits) {
            $0.pack($1.resource.rawValue)
            $0.pack($1.soft)
            $0.pack($1.hard)
        }
        pack(request.controlLimits.memoryBytes) { $0.pack($1) }
        pack(request.controlLimits.tasks) { $0.pack($1) }
        pack(request.controlLimits.cpuWeight) { $0.pack($1) }
        pack(request.controlLimits.cpuMicrosecondsPerSecond) { $0.pack($1) }
        pack(request.leftovers.rawValue)
        pack(request.grace)
        pack(request.logCap)
    }

    private mutating func pack(_ output: LaunchRequest.Output) {
        switch output {
        case .log(let path):
            pack(UInt8(1))
            pack(path)
        case .split(let stdout, let stderr):
            pack(UInt8(2))
            pack(stdout)
            pack(stderr)
        case .paths(let stdout, let stderr):
            pack(UInt8(3))
            pack(stdout)
            pack(stderr)
        case .journal(let identifier):
            pack(UInt8(4))
            pack(identifier)
        case .null:
            pack(UInt8(5))
        }
    }
}

extension Unpacker {
    mutating func attempt() throws(ProtocolError) -> Attempt {
        Attempt(operation: try number(), number: try number())
    }

    mutating func launchRequest() throws(ProtocolError) -> LaunchRequest {
        LaunchRequest(
            attempt: try attempt(), slot: try number(), arguments: try texts(), environment: try strings(),
            directory: try text(), umask: try number(), stdin: try text(), output: try output(), user: try user(),
            priority: try priority(), resourceLimits: try resourceLimits(), controlLimits: try controlLimits(),
            leftovers: try choice("leftovers"), grace: try number(), logCap: try number())
    }

    /// Reads a list of texts without making a `String` of each.
    mutating func strings() throws(ProtocolError) -> CStringArray {
        let count = Int(try number(UInt32.self))
        var words = CStringArray()
        words.reserve(min(remaining, count * 64))
        // In one pass: an environment has many short entries.
        let used = rest.withUnsafeBytes { bytes in
            var start = 0
            for _ in 0..<count {
                guard bytes.count - start >= 4 else { return nil as Int? }
                let length = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self)))
                start += 4
                guard bytes.count - start >= length else { return nil }
                words.append(UnsafeRawBufferPointer(rebasing: bytes[start..<(start + length)]))
                start += length
            }
            return start
        }
        guard let used else { throw .truncated }
        rest = rest.dropFirst(used)
        return words
    }

    mutating func texts() throws(ProtocolError) -> [String] {
        try list { (from: inout Unpacker) throws(ProtocolError) in try from.text() }
    }

    mutating func optionalNumber<Number: FixedWidthInteger>() throws(ProtocolError) -> Number? {
        try optional { (from: inout Unpacker) throws(ProtocolError) in try from.number() }
    }

    mutating func choice<Choice: RawRepresentable<UInt8>>(_ name: String) throws(ProtocolError) -> Choice {
        let value: UInt8 = try number()
        guard let choice = Choice(rawValue: value) else { throw .badValue("\(name) \(value)") }
        return choice
    }

    private mutating func output() throws(ProtocolError) -> LaunchRequest.Output {
        switch try number(UInt8.self) {
        case 1: return .log(try text())
        case 2: return .split(stdout: try text(), stderr: try text())
        case 3: return .paths(stdout: try text(), stderr: try text())
        case 4: return .journal(identifier: try text())
        case 5: return .null
        case let other: throw .badValue("output \(other)")
        }
    }

    private mutating func user() throws(ProtocolError) -> LaunchRequest.User? {
        try optional { (from: inout Unpacker) throws(ProtocolError) in
            LaunchRequest.User(name: try from.text(), uid: try from.number(), gid: try from.number())
        }
    }

    private mutating func priority() throws(ProtocolError) -> ProcessPriority {
        ProcessPriority(
            nice: try optionalNumber(),
            ioClass: try optional { (from: inout Unpacker) throws(ProtocolError) in try from.choice("I/O class") },
            ioLevel: try number(), cpuWeight: try optionalNumber())
    }

    private mutating func resourceLimits() throws(ProtocolError) -> [ResourceLimit] {
        try list { (from: inout Unpacker) throws(ProtocolError) in
            ResourceLimit(try from.choice("resource"), soft: try from.number(), hard: try from.number())
        }
    }

    private mutating func controlLimits() throws(ProtocolError) -> ControlLimits {
        ControlLimits(
            memoryBytes: try optionalNumber(), tasks: try optionalNumber(), cpuWeight: try optionalNumber(),
            cpuMicrosecondsPerSecond: try optionalNumber())
    }
}
