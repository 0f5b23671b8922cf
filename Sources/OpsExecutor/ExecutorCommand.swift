public import OpsSystem

/// Commands of opsd to an executor. Each may be repeated: the second time changes nothing.
public enum ExecutorCommand: Hashable, Sendable {
    case hello(version: UInt16)
    /// Starts an attempt. Answered by `launched` or `failed`; for a known attempt, by its present state. An executor for
    /// another engine answers with `accepted` and starts nothing before `release`.
    case launch(LaunchRequest)
    /// Sends SIGTERM to the whole tree, after thawing it, and SIGKILL after `grace`. `isCancelled`: the
    /// operation has been cancelled, so no later attempt continues this one, and its partial results can be removed. An
    /// older opsd does not send it.
    case terminate(AttemptID, grace: TimeSpan, isCancelled: Bool = false)
    case freeze(AttemptID)
    case thaw(AttemptID)
    /// Kills the processes that an earlier runner left of this attempt. Answered by `gone` once none is alive.
    /// `socket`: OPS_SOCKET of its processes. `uid`: the user of these processes; nil from an older opsd.
    case killStaleTree(AttemptID, socket: String, uid: UInt32?)
    /// Says that the end of an attempt is stored: the runner may forget it.
    case acknowledge(AttemptID)
    /// Ends every tree, each with `grace`, and then the runner.
    case stop(grace: TimeSpan)
    /// Replaces the program of the runner by the installed one. Processes, attempts and instance stay.
    case reexecute
    /// Stages a launch: it starts after those staged before it, in the slot of an attempt that has succeeded, for one of
    /// the tokens that came with `hello`, and once all attempts of `after` have succeeded. `stagedStarted` reports it.
    case stage(LaunchRequest, after: [AttemptID])
    /// Removes all staged launches. Answered by `stagingRevoked`.
    case revokeStaged
    /// Asks whether the runner responds. Answered by `pong`.
    case ping
    /// Sends a signal to every process of an attempt.
    case signal(AttemptID, number: Int32)
    /// Says that the job of an accepted attempt is stored: the job may start. Never sent to the runner.
    case release(AttemptID)
}

extension ExecutorCommand: LaunchMessage {
    public var kind: UInt8 {
        switch self {
        case .hello: 1
        case .launch: 2
        case .terminate: 3
        case .freeze: 4
        case .thaw: 5
        case .killStaleTree: 6
        case .acknowledge: 7
        case .stop: 8
        case .reexecute: 9
        case .stage: 10
        case .revokeStaged: 11
        case .ping: 12
        case .signal: 13
        case .release: 14
        }
    }

    public func append(to bytes: inout [UInt8], for version: UInt16) {
        // `hello` is sent before the version of the runner is known.
        let version = if case .hello = self { 0 as UInt16 } else { version }
        Packer.frame(kind: kind, onto: &bytes, for: version) { packer in
            switch self {
            case .hello(let version):
                packer.pack(LaunchProtocol.magic)
                packer.pack(version)
            case .launch(let request): packer.pack(request)
            case .stage(let request, let after):
                packer.pack(request)
                packer.pack(after) { $0.pack($1) }
            case .terminate(let attempt, let grace, let isCancelled):
                packer.pack(attempt)
                packer.pack(grace)
                if isCancelled { packer.pack(isCancelled) }
            case .freeze(let attempt), .thaw(let attempt), .acknowledge(let attempt), .release(let attempt):
                packer.pack(attempt)
            case .killStaleTree(let attempt, let socket, let uid):
                packer.pack(attempt)
                packer.pack(socket)
                packer.pack(uid) { $0.pack($1) }
            case .signal(let attempt, let number):
                packer.pack(attempt)
                packer.pack(number)
            case .stop(let grace): packer.pack(grace)
            case .reexecute, .revokeStaged, .ping: break
            }
        }
    }

    public init(kind: UInt8, fields: ArraySlice<UInt8>, recordsHaveLengths: Bool) throws(ProtocolError) {
        var from = Unpacker(fields, recordsHaveLengths: recordsHaveLengths)
        switch kind {
        case 1:
            guard try from.number() == LaunchProtocol.magic else { throw .wrongMagic }
            self = .hello(version: try from.number())
        case 2: self = .launch(try from.launchRequest())
        case 3:
            self = .terminate(
                try from.attempt(), grace: try from.time(), isCancelled: try from.isAtEnd ? false : from.flag())
        case 4: self = .freeze(try from.attempt())
        case 5: self = .thaw(try from.attempt())
        case 6:
            self = .killStaleTree(
                try from.attempt(), socket: try from.text(), uid: try from.isAtEnd ? nil : from.optionalNumber())
        case 7: self = .acknowledge(try from.attempt())
        case 8: self = .stop(grace: try from.time())
        case 9: self = .reexecute
        case 10:
            let request = try from.launchRequest()
            if from.isAtEnd {
                self = .stage(request, after: [])
            } else {
                self = .stage(
                    request,
                    after: try from.list { (from: inout Unpacker) throws(ProtocolError) in try from.attempt() })
            }
        case 11: self = .revokeStaged
        case 12: self = .ping
        case 13: self = .signal(try from.attempt(), number: try from.number())
        case 14: self = .release(try from.attempt())
        default: throw .unknownMessage(kind)
        }
    }
}
