internal import COpsTransfer
internal import OpsSystem

/// The sending end of `NOTIFY_SOCKET`.
struct NotifyClient {
    private let address: String

    /// Nil if `NOTIFY_SOCKET` does not name a socket.
    static func fromEnvironment() -> NotifyClient? {
        guard let address = Environment["NOTIFY_SOCKET"], address.hasPrefix("/") || address.hasPrefix("@") else {
            return nil
        }
        return NotifyClient(address: address)
    }

    /// Sends one line. Ignores a listener that is gone or busy: progress is for information only.
    func send(_ line: String) {
        let bytes = Array(line.utf8)
        _ = ops_notify_send(address, bytes, bytes.count)
    }
}
