public import OpsSystem

extension Packer {
    public mutating func pack(_ attempt: AttemptID) {
        pack(attempt.operation.rawValue)
        pack(attempt.number)
    }

    public mutating func pack(_ words: CStringArray) {
        pack(UInt32(words.count))
        bytes.reserveCapacity(bytes.count + words.bytes.count + 4 * words.count)
        words.visit { word in
            pack(UInt32(word.count))
            bytes.append(contentsOf: word)
        }
    }

    public mutating func pack(_ leftovers: Leftovers) {
        switch leftovers {
        case .kill: pack(UInt8(0))
        case .wait: pack(UInt8(1))
        case .leave: pack(UInt8(2))
        }
    }

    public mutating func pack(_ user: LaunchRequest.User) {
        packRecord {
            $0.pack(user.name)
            $0.pack(user.uid)
            $0.pack(user.gid)
        }
    }

    public mutating func pack(_ priority: ProcessPriority) {
        packRecord { packer in
            packer.pack(priority.nice) { $0.pack($1) }
            packer.pack(priority.ioClass) { $0.pack($1.rawValue) }
            packer.pack(priority.ioLevel)
            packer.pack(priority.cpuWeight) { $0.pack($1) }
        }
    }

    public mutating func pack(_ limit: ResourceLimit) {
        packRecord {
            $0.pack(limit.resource.rawValue)
            $0.pack(limit.soft)
            $0.pack(limit.hard)
        }
    }

    public mutating func pack(_ limits: ControlLimits) {
        packRecord { packer in
            packer.pack(limits.memoryBytes) { $0.pack($1) }
            packer.pack(limits.tasks) { $0.pack($1) }
            packer.pack(limits.cpuWeight) { $0.pack($1) }
            packer.pack(limits.cpuMicrosecondsPerSecond) { $0.pack($1) }
        }
    }

    public mutating func pack(_ output: LaunchRequest.Output) {
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
    public mutating func attempt() throws(ProtocolError) -> AttemptID {
        AttemptID(OperationID(try number()), try number())
    }

    /// Reads a list of texts without making a `String` of each.
    public mutating func strings() throws(ProtocolError) -> CStringArray {
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

    public mutating func texts() throws(ProtocolError) -> [String] {
        try list { (from: inout Unpacker) throws(ProtocolError) in try from.text() }
    }

    public mutating func optionalNumber<Number: FixedWidthInteger>() throws(ProtocolError) -> Number? {
        try optional { (from: inout Unpacker) throws(ProtocolError) in try from.number() }
    }

    public mutating func time<Time: NanosecondCount>() throws(ProtocolError) -> Time {
        Time(nanoseconds: try number())
    }

    public mutating func optionalTime<Time: NanosecondCount>() throws(ProtocolError) -> Time? {
        try optionalNumber().map { Time(nanoseconds: $0) }
    }

    public mutating func choice<Choice: RawRepresentable<UInt8>>(_ name: String) throws(ProtocolError) -> Choice {
        let value: UInt8 = try number()
        guard let choice = Choice(rawValue: value) else { throw .badValue("\(name) \(value)") }
        return choice
    }

    public mutating func leftovers() throws(ProtocolError) -> Leftovers {
        switch try number(UInt8.self) {
        case 0: return .kill
        case 1: return .wait
        case 2: return .leave
        case let other: throw .badValue("leftovers \(other)")
        }
    }

    public mutating func output() throws(ProtocolError) -> LaunchRequest.Output {
        switch try number(UInt8.self) {
        case 1: return .log(try text())
        case 2: return .split(stdout: try text(), stderr: try text())
        case 3: return .paths(stdout: try text(), stderr: try text())
        case 4: return .journal(identifier: try text())
        case 5: return .null
        case let other: throw .badValue("output \(other)")
        }
    }

    public mutating func user() throws(ProtocolError) -> LaunchRequest.User? {
        try optional { (from: inout Unpacker) throws(ProtocolError) in
            try from.record { (from: inout Unpacker) throws(ProtocolError) in
                LaunchRequest.User(name: try from.text(), uid: try from.number(), gid: try from.number())
            }
        }
    }

    public mutating func priority() throws(ProtocolError) -> ProcessPriority {
        try record { (from: inout Unpacker) throws(ProtocolError) in
            ProcessPriority(
                nice: try from.optionalNumber(),
                ioClass: try from.optional { (from: inout Unpacker) throws(ProtocolError) in
                    try from.choice("I/O class")
                },
                ioLevel: try from.number(), cpuWeight: try from.optionalNumber())
        }
    }

    public mutating func resourceLimits() throws(ProtocolError) -> [ResourceLimit] {
        try records { (from: inout Unpacker) throws(ProtocolError) in
            ResourceLimit(try from.choice("resource"), soft: try from.number(), hard: try from.number())
        }
    }

    public mutating func controlLimits() throws(ProtocolError) -> ControlLimits {
        try record { (from: inout Unpacker) throws(ProtocolError) in
            ControlLimits(
                memoryBytes: try from.optionalNumber(), tasks: try from.optionalNumber(),
                cpuWeight: try from.optionalNumber(), cpuMicrosecondsPerSecond: try from.optionalNumber())
        }
    }
}
