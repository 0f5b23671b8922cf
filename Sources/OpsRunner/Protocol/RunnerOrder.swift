/// What opsd tells the runner. Each may be repeated: the second time changes nothing.
public enum RunnerOrder: Hashable, Sendable {
    case hello(version: UInt16)
    /// Answered by `launched` or `failed`; a known attempt by what is known of it.
    case launch(LaunchRequest)
    /// SIGTERM to the whole tree, thawed first; SIGKILL after `grace` nanoseconds.
    case terminate(Attempt, grace: Int64)
    case freeze(Attempt)
    case thaw(Attempt)
    /// Kill what an earlier runner left of this attempt; answered by `gone` once nothing of it is alive.
    /// `socket`: the OPS_SOCKET its processes were given. `uid`: the user they were started as; an older opsd does not
    /// say.
    case reap(Attempt, socket: String, uid: UInt32?)
    /// Its end is on disk: the runner may forget it.
    case acknowledge(Attempt)
    /// End everything, each tree with `grace` nanoseconds, then exit.
    case stop(grace: Int64)
    /// Replace the runner's program by the one now installed; processes, table and instance id stay.
    case reexecute
    /// To be launched after those before it, in the slot of an attempt that has succeeded, for one of the tokens that
    /// came with `hello`, and once all of `after` have succeeded; answered by `taken` when that comes to be.
    case hand(LaunchRequest, after: [Attempt])
    /// What is in hand is void; answered by `emptyHanded`.
    case recall
    /// Answered by `answer`: the runner's loop turns.
    case ping
}

extension RunnerOrder: RunnerMessage {
    public var kind: UInt8 {
        switch self {
        case .hello: 1
        case .launch: 2
        case .terminate: 3
        case .freeze: 4
        case .thaw: 5
        case .reap: 6
        case .acknowledge: 7
        case .stop: 8
        case .reexecute: 9
        case .hand: 10
        case .recall: 11
        case .ping: 12
        }
    }

    public func append(to bytes: inout [UInt8]) {
        Packer.frame(kind: kind, onto: &bytes) { packer in
            switch self {
            case .hello(let version):
                packer.pack(RunnerProtocol.magic)
                packer.pack(version)
            case .launch(let request): packer.pack(request)
            case .hand(let request, let after):
                packer.pack(request)
                packer.pack(after) { $0.pack($1) }
            case .terminate(let attempt, let grace):
                packer.pack(attempt)
                packer.pack(grace)
            case .freeze(let attempt), .thaw(let attempt), .acknowledge(let attempt): packer.pack(attempt)
            case .reap(let attempt, let socket, let uid):
                packer.pack(attempt)
                packer.pack(socket)
                packer.pack(uid) { $0.pack($1) }
            case .stop(let grace): packer.pack(grace)
            case .reexecute, .recall, .ping: break
            }
        }
    }

    public init(kind: UInt8, fields: ArraySlice<UInt8>) throws(ProtocolError) {
        var from = Unpacker(fields)
        switch kind {
        case 1:
            guard try from.number() == RunnerProtocol.magic else { throw .wrongMagic }
            self = .hello(version: try from.number())
        case 2: self = .launch(try from.launchRequest())
        case 3: self = .terminate(try from.attempt(), grace: try from.number())
        case 4: self = .freeze(try from.attempt())
        case 5: self = .thaw(try from.attempt())
        case 6:
            self = .reap(
                try from.attempt(), socket: try from.text(), uid: try from.isAtEnd ? nil : from.optionalNumber())
        case 7: self = .acknowledge(try from.attempt())
        case 8: self = .stop(grace: try from.number())
        case 9: self = .reexecute
        case 10:
            let request = try from.launchRequest()
            if from.isAtEnd {
                self = .hand(request, after: [])
            } else {
                self = .hand(
                    request,
                    after: try from.list { (from: inout Unpacker) throws(ProtocolError) in try from.attempt() })
            }
        case 11: self = .recall
        case 12: self = .ping
        default: throw .unknownMessage(kind)
        }
    }
}
