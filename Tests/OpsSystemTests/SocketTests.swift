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
