internal import Glibc
internal import OpsSystem

/// Copies bytes between standard input and output and the socket of a daemon, until one of them ends.
public enum SocketBridge {
    private static let piece = 1 << 16

    public static func run(path: String) throws(ClientError) {
        let socket: Descriptor
        do throws(SystemError) {
            socket = try UnixSocket.connect(to: path)
        } catch {
            throw .unreachable(path: path, errno: error.errno)
        }
        do throws(SystemError) {
            let input = try Descriptor.duplicate(of: 0)
            let output = try Descriptor.duplicate(of: 1)
            try carry(input, socket, output)
        } catch {
            throw .lost(errno: error.errno)
        }
    }

    private static func carry(
        _ input: borrowing Descriptor, _ socket: borrowing Descriptor, _ output: borrowing Descriptor
    ) throws(SystemError) {
        var isOpen = true
        while true {
            var entries = [
                pollfd(fd: isOpen ? input.rawValue : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: socket.rawValue, events: Int16(POLLIN), revents: 0),
                // Polled only to notice its end.
                pollfd(fd: output.rawValue, events: 0, revents: 0),
            ]
            if poll(&entries, 3, -1) < 0 { continue }
            if entries[2].revents != 0 { return }
            if entries[1].revents != 0 {
                guard let bytes = try read(socket) else { return }
                guard try output.writeAll(bytes) else { return }
            }
            if entries[0].revents != 0 {
                if let bytes = try read(input) {
                    guard try socket.writeAll(bytes) else { return }
                } else {
                    // The daemon still answers earlier calls, and then closes the connection.
                    isOpen = false
                    shutdown(socket.rawValue, Int32(SHUT_WR))
                }
            }
        }
    }

    /// Returns nil at the end.
    private static func read(_ source: borrowing Descriptor) throws(SystemError) -> [UInt8]? {
        var bytes: [UInt8] = []
        while true {
            switch try source.read(atMost: piece, onto: &bytes) {
            case .moved: return bytes
            case .wouldBlock: try source.waitUntil(.readable)
            case .ended: return nil
            }
        }
    }
}
