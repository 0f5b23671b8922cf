internal import OpsSystem
internal import OpsSystemd

/// Where the operations of one slot speak, one after the other: `NOTIFY_SOCKET` names who speaks, even when the
/// sender has ended before it is heard.
///
/// A socket for each operation would cost a tenth of a launch. One for each slot costs nothing once it is there, and
/// an operation's slot is given on only when nothing of it is alive that could still speak.
final class NotifyLine {
    let socket: NotifySocket
    /// Whose it is; `nil`: it waits for the next operation of its slot.
    var attempt: Attempt?
    private var source: ReadinessSource?

    init(_ socket: consuming NotifySocket, of attempt: Attempt?) {
        self.socket = socket
        self.attempt = attempt
    }

    func watch(in loop: EventLoop, _ heard: @escaping (NotifyLine) -> Void) throws(SystemError) {
        source = try loop.watch(socket.descriptor.rawValue, for: .readable) { [unowned self] _ in heard(self) }
    }

    /// `false`: what comes waits, after a flood.
    func setListening(_ isListening: Bool) throws(SystemError) {
        try source?.setInterest(isListening ? .readable : [])
    }

    /// Whoever was left behind with the address speaks to nobody.
    func close() throws(SystemError) {
        source?.cancel()
        if !socket.address.hasPrefix("@") { try Files.remove(socket.address) }
    }

    deinit { source?.cancel() }
}

/// The lines of all slots.
struct NotifyLines {
    /// What all addresses begin with; the rest is random, so that nobody can take one beforehand.
    let prefix: String
    private(set) var bySlot: [Int32: NotifyLine] = [:]

    init(prefix: String) { self.prefix = prefix }

    /// The line of a slot for its next operation; a new one while an operation that was given up still has the old.
    mutating func take(
        slot: Int32, for attempt: Attempt, _ watch: (NotifyLine) throws(SystemError) -> Void
    ) throws(SystemError) -> NotifyLine {
        if let line = bySlot[slot], line.attempt == nil {
            line.attempt = attempt
            return line
        }
        let address = prefix + String(try Randomness.identifier().prefix(16))
        let line = NotifyLine(try NotifySocket(address: address), of: attempt)
        try watch(line)
        bySlot[slot] = line
        return line
    }

    /// The next operation of its slot may have it, where it still belongs to one; else it ends.
    func giveBack(_ line: NotifyLine, slot: Int32) throws(SystemError) {
        line.attempt = nil
        if bySlot[slot] !== line { try line.close() }
    }

    /// Somebody may be left who knows it: nobody else is to have it.
    mutating func retire(_ line: NotifyLine, slot: Int32) throws(SystemError) {
        if bySlot[slot] === line { bySlot[slot] = nil }
        try line.close()
    }

    /// Takes up one of the program before this.
    mutating func restore(_ line: NotifyLine, slot: Int32) { bySlot[slot] = line }

    func closeAll() throws(SystemError) {
        for line in bySlot.values { try line.close() }
    }
}
