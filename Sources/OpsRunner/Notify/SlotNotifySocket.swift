internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd

/// Notify socket of one slot, used by the operations of the slot one after another. The address in NOTIFY_SOCKET thus
/// identifies the attempt, even if the sender has ended before its message is read.
///
/// A socket for each operation would take a tenth of the time of a launch. One for each slot is made once, and the next
/// operation gets it only when no process of the one before is alive.
final class SlotNotifySocket {
    let socket: NotifySocket
    /// Attempt that uses the socket; `nil`: it waits for the next operation of its slot.
    var attempt: AttemptID?
    private var source: ReadinessSource?
    /// True once no attempt uses it any more. Messages that processes still send are not read.
    private(set) var isClosed = false

    init(_ socket: consuming NotifySocket, of attempt: AttemptID?) {
        self.socket = socket
        self.attempt = attempt
    }

    func watch(in loop: EventLoop, _ isReadable: @escaping (SlotNotifySocket) -> Void) throws(SystemError) {
        source = try loop.watch(socket.descriptor.rawValue, for: .readable) { [unowned self] _ in isReadable(self) }
    }

    /// Pauses or resumes the watch. Messages wait in the socket while it is paused.
    func setListening(_ isListening: Bool) throws(SystemError) {
        try source?.setInterest(isListening ? .readable : [])
    }

    /// Ends the socket. A process that still knows its address cannot reach anything.
    func close() throws(SystemError) {
        isClosed = true
        source?.cancel()
        source = nil
        if !socket.address.hasPrefix("@") { try Files.remove(socket.address) }
    }

    deinit { source?.cancel() }
}

/// Notify sockets of all slots.
struct SlotNotifySockets {
    /// Common beginning of all addresses. The rest of each is random, so that no other user can take an address first.
    let prefix: String
    private(set) var bySlot: [Int32: SlotNotifySocket] = [:]

    init(prefix: String) { self.prefix = prefix }

    /// Returns the socket of a slot for its next operation. Makes a new one while an operation that was given up still has
    /// the old one.
    mutating func acquire(
        slot: Int32, for attempt: AttemptID, _ watch: (SlotNotifySocket) throws(SystemError) -> Void
    ) throws(SystemError) -> SlotNotifySocket {
        if let socket = bySlot[slot], socket.attempt == nil {
            socket.attempt = attempt
            return socket
        }
        let address = prefix + String(try Randomness.identifier().prefix(16))
        let socket = SlotNotifySocket(try NotifySocket(address: address), of: attempt)
        try watch(socket)
        bySlot[slot] = socket
        return socket
    }

    /// Returns a socket to its slot for the next operation, or closes it if the slot has got another one.
    func release(_ socket: SlotNotifySocket, slot: Int32) throws(SystemError) {
        socket.attempt = nil
        if bySlot[slot] !== socket { try socket.close() }
    }

    /// Closes a socket whose address a living process may know. No other operation gets it.
    mutating func retire(_ socket: SlotNotifySocket, slot: Int32) throws(SystemError) {
        if bySlot[slot] === socket { bySlot[slot] = nil }
        try socket.close()
    }

    /// Takes over the socket of a slot from the program before this one.
    mutating func restore(_ socket: SlotNotifySocket, slot: Int32) { bySlot[slot] = socket }

    func closeAll() throws(SystemError) {
        for socket in bySlot.values { try socket.close() }
    }
}
