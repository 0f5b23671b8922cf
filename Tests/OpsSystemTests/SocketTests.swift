import Glibc
import OpsSystem
import TestSupport
import Testing

@Suite struct SocketTests {
    @Test func `bytes go both ways and the end is seen`() throws {
        let scratch = TemporaryDirectory()
        let path = scratch.path + "/s"
        let listener = try UnixSocket.listen(at: path)
        #expect(try !canAccept(listener))
        var buffer: [UInt8] = [9]
        do {
            let client = try UnixSocket.connect(to: path)
            let server = try accepted(listener)
            #expect(try server.read(atMost: 10, onto: &buffer) == .wouldBlock)
            #expect(try client.writeAll([1, 2, 3]))
            #expect(try server.read(atMost: 2, onto: &buffer) == .moved(2))
            #expect(buffer == [9, 1, 2])
            #expect(try server.writeAll([4]))
            #expect(try client.read(atMost: 10, onto: &buffer) == .moved(1))
            _ = consume server
            #expect(try client.read(atMost: 10, onto: &buffer) == .ended)
            #expect(try client.writeAll([5]) == false)
        }
    }

    @Test func `the credentials of the peer are known`() throws {
        let scratch = TemporaryDirectory()
        let listener = try UnixSocket.listen(at: scratch.path + "/s")
        let client = try UnixSocket.connect(to: scratch.path + "/s")
        let server = try accepted(listener)
        let peer = try UnixSocket.peer(of: server)
        #expect(peer == Credentials(pid: Identity.pid, uid: Identity.uid, gid: getegid()))
        _ = consume client
    }

    @Test func `a socket file is private unless another mode is given`() throws {
        let scratch = TemporaryDirectory()
        var status = stat()
        _ = try UnixSocket.listen(at: scratch.path + "/private")
        #expect(stat(scratch.path + "/private", &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        _ = try UnixSocket.listen(at: scratch.path + "/open", mode: 0o666)
        #expect(stat(scratch.path + "/open", &status) == 0)
        #expect(status.st_mode & 0o777 == 0o666)
    }

    /// True if this kernel can refuse descriptors. 83: SO_PASSRIGHTS, which the Glibc module leaves out.
    static let canRefuse: Bool = {
        let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(number) }
        var passes: Int32 = 1
        return setsockopt(number, SOL_SOCKET, 83, &passes, socklen_t(MemoryLayout<Int32>.size)) == 0
    }()

    @Test(.enabled(if: canRefuse, "SKIPPED: Linux before 6.16 passes descriptors to every Unix socket"))
    func `a listening socket refuses descriptors unless it accepts them`() throws {
        let scratch = TemporaryDirectory()
        for accepts in [false, true] {
            let path = "\(scratch.path)/\(accepts)"
            let listener = try UnixSocket.listen(at: path, acceptsDescriptors: accepts)
            let client = try UnixSocket.connect(to: path)
            let passed = try UnixSocket.connect(to: path)
            let byte: [UInt8] = [1]
            var refusal: Int32?
            do throws(SystemError) {
                _ = try client.write(byte[...], passing: passed)
            } catch {
                refusal = error.errno
            }
            #expect(refusal == (accepts ? nil : EPERM))
            _ = consume listener
        }
    }

    /// Returns the ends of a connection, which no process that another test starts inherits.
    private func connection() throws -> [Int32] {
        var ends: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        return ends
    }

    /// Sends one byte with descriptors.
    private func send(_ passed: [Int32], on number: Int32) {
        var control: [UInt8] = []
        func append(_ value: some FixedWidthInteger) { withUnsafeBytes(of: value) { control += $0 } }
        // The header of a control message: its length, its level, and its type, SCM_RIGHTS.
        append(16 + 4 * passed.count)
        append(SOL_SOCKET)
        append(Int32(1))
        for descriptor in passed { append(descriptor) }
        var byte: UInt8 = 1
        let sent = control.withUnsafeMutableBytes { control in
            withUnsafeMutablePointer(to: &byte) { byte in
                var vector = iovec(iov_base: byte, iov_len: 1)
                return withUnsafeMutablePointer(to: &vector) { vector in
                    var message = msghdr()
                    message.msg_iov = vector
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    return sendmsg(number, &message, 0)
                }
            }
        }
        #expect(sent == 1)
    }

    @Test func `only the first of several passed descriptors is kept`() throws {
        let ends = try connection()
        let receiver = Descriptor(owning: ends[1])
        let (first, second) = (try connection(), try connection())
        defer { for number in [ends[0], first[0], second[0]] { close(number) } }
        send([first[1], second[1]], on: ends[0])
        for number in [first[1], second[1]] { close(number) }
        var bytes: [UInt8] = []
        var passed: Descriptor?
        let transfer = try receiver.read(atMost: 10, onto: &bytes, passed: &passed)
        #expect(transfer == .moved(1))
        guard let kept = passed.take() else { throw Missing() }
        func isClosed(_ number: Int32, milliseconds: Int32) throws -> Bool {
            try Descriptor.duplicate(of: number).waitUntil(.hungUp, milliseconds: milliseconds)
        }
        // Processes that other tests start at the same time have it open until their programs run.
        #expect(try isClosed(second[0], milliseconds: 20_000))
        #expect(try !isClosed(first[0], milliseconds: 0))
        _ = consume kept
    }

    @Test func `a path too long for an address is reached through its directory`() throws {
        let scratch = TemporaryDirectory()
        let directory = scratch.path + "/" + String(repeating: "d", count: UnixSocket.pathLimit)
        #expect(mkdir(directory, 0o700) == 0)
        let path = directory + "/socket"
        #expect(throws: SystemError("connect \(path)", errno: ENOENT)) { _ = try UnixSocket.connect(to: path) }
        let listener = try UnixSocket.listen(at: path)
        let client = try UnixSocket.connect(to: path)
        #expect(try UnixSocket.peer(of: accepted(listener)).pid == Identity.pid)
        _ = consume client
    }

    @Test func `a listener replaces the socket of a dead one, and no other file`() throws {
        let scratch = TemporaryDirectory()
        let path = scratch.path + "/s"
        _ = try UnixSocket.listen(at: path)
        #expect(!UnixSocket.isServed(path))
        let listener = try UnixSocket.listen(at: path)
        #expect(UnixSocket.isServed(path))
        #expect(try UnixSocket.path(of: listener.rawValue) == path)
        try Files.replace(scratch.path + "/file", with: Array("precious".utf8), mode: 0o600)
        #expect(symlink(path, scratch.path + "/link") == 0)
        for name in ["/file", "/link"] {
            let error = #expect(throws: SystemError.self) { _ = try UnixSocket.listen(at: scratch.path + name) }
            #expect(error?.errno == EEXIST && error?.call.contains("is not a socket") == true)
        }
        #expect(try Files.read(scratch.path + "/file", limit: 100) == Array("precious".utf8))
    }

    @Test func `a socket of another type is served`() throws {
        let scratch = TemporaryDirectory()
        let path = scratch.path + "/s"
        let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(number) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(bound == 0)
        #expect(UnixSocket.isServed(path))
    }

    @Test func `a name too long for an address is refused and not cut short`() {
        let path = "/tmp/" + String(repeating: "x", count: UnixSocket.pathLimit - 4)
        #expect(path.utf8.count == UnixSocket.pathLimit + 1)
        #expect(throws: SystemError("bind \(path)", errno: ENAMETOOLONG)) { _ = try UnixSocket.listen(at: path) }
        #expect(throws: SystemError("connect \(path)", errno: ENAMETOOLONG)) { _ = try UnixSocket.connect(to: path) }
    }

    @Test func `connecting without a listener is an error with its reason`() throws {
        let scratch = TemporaryDirectory()
        let path = scratch.path + "/none"
        #expect(throws: SystemError("connect \(path)", errno: ENOENT)) { _ = try UnixSocket.connect(to: path) }
        #expect(SystemError("connect \(path)", errno: ENOENT).description.hasSuffix(": No such file or directory"))
    }
}
