import Foundation
import OpsExecutor
import OpsSystem
import TestSupport
import Testing

@testable import OpsTransfer

/// Tests of an opsd-transfer that runs as root and serves other users.
@Suite(.enabled(if: Program.isRoot, "NOT TESTED: transfers of other users; needs root"))
struct ExecutorRightsTests {
    private static let user = LaunchRequest.User(name: "nobody", uid: 65_534, gid: 65_534)

    /// Makes the user the owner of a file or folder, and sets its mode.
    private func give(_ path: String, mode: mode_t = 0o700) throws {
        guard chown(path, Self.user.uid, Self.user.gid) == 0, chmod(path, mode) == 0 else {
            throw SetUpError(description: "cannot change the owner of \(path)")
        }
    }

    /// Fetches a file as the user. Returns the exit status, and the text and the owner of the log.
    private func run(
        _ fetch: Fetch, _ target: String, scenario: String = "file", headers: String? = nil,
        _ change: (inout LaunchRequest) -> Void = { _ in }
    ) throws -> (status: ProcessExit.Status?, log: String, owner: UInt32?) {
        let executor = try RunningExecutor()
        try executor.connect()
        let log = executor.state + "/logs/1"
        let file = headers.map { ", \"headersFile\": \"\($0)\"" } ?? ""
        try executor.launch(1, "", to: "") {
            $0.user = Self.user
            $0.output = .log(log)
            $0.executorOptions = "{\"url\": \"\(fetch.address(scenario))\", \"to\": \"\(target)\"\(file)}"
            change(&$0)
        }
        let exits = try executor.ends(of: 1).exits
        return (exits[1], (try? String(contentsOfFile: log, encoding: .utf8)) ?? "", try? owner(log))
    }

    private func owner(_ path: String) throws -> UInt32 {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw SetUpError(description: "no \(path)") }
        return status.st_uid
    }

    @Test func `files belong to the user of the operation`() throws {
        let fetch = try Fetch()
        try give(fetch.folder)
        #expect(try run(fetch, fetch.target).status == .code(0))
        #expect(fetch.file == serverContent(size: 100_000))
        #expect(try owner(fetch.target) == Self.user.uid)
        #expect(try run(fetch, fetch.folder + "/other", scenario: "truncates").status == .code(75))
        #expect(try owner(fetch.folder + "/.other.part") == Self.user.uid)
        #expect(try owner(fetch.folder + "/.other.part.state") == Self.user.uid)
    }

    @Test func `parent directories need not be readable`() throws {
        let fetch = try Fetch()
        chmod(fetch.folder, 0o711)
        let own = fetch.folder + "/own"
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: false)
        try give(own)
        #expect(try run(fetch, own + "/file").status == .code(0))
        #expect(FileManager.default.contents(atPath: own + "/file") == serverContent(size: 100_000))
    }

    @Test func `no file is created in a directory that the user may not write to`() throws {
        let fetch = try Fetch()
        let (status, log, owner) = try run(fetch, fetch.target)
        #expect(status == .code(64) && log.contains("Permission denied"))
        #expect(owner == 0, "the log is for opsd")
        #expect(try fetch.names == [])
    }

    @Test func `a user's symbolic link gives no access to files that the user cannot access`() throws {
        let (fetch, secret) = (try Fetch(), try Fetch())
        try give(fetch.folder)
        chmod(secret.folder, 0o755)
        try Data("root's".utf8).write(to: URL(fileURLWithPath: secret.target))
        for (name, target) in [("folder", secret.folder), ("link", secret.target), (".part.part", secret.target)] {
            guard symlink(target, "\(fetch.folder)/\(name)") == 0 else { throw SetUpError(description: "no link") }
        }
        for target in ["folder/file", "folder/new", "link", "part"] {
            #expect(try run(fetch, "\(fetch.folder)/\(target)").status == .code(64), "\(target)")
        }
        #expect(secret.file == Data("root's".utf8))
        #expect(try secret.names == ["file"])
    }

    @Test func `a partial file of another user is not continued`() throws {
        let fetch = try Fetch()
        chmod(fetch.folder, 0o1777)
        try Data("planted".utf8).write(to: URL(fileURLWithPath: fetch.folder + "/.file.part"))
        let status = try run(fetch, fetch.target).status
        #expect(status == .code(64))
        #expect(FileManager.default.contents(atPath: fetch.folder + "/.file.part") == Data("planted".utf8))
    }

    @Test func `a read-only partial file of the user is replaced`() throws {
        let fetch = try Fetch()
        try give(fetch.folder)
        let part = fetch.folder + "/.file.part"
        try Data("old".utf8).write(to: URL(fileURLWithPath: part))
        try give(part, mode: 0o444)
        #expect(try run(fetch, fetch.target).status == .code(0))
        #expect(fetch.file == serverContent(size: 100_000))
    }

    @Test func `headers are read with the rights of the user`() throws {
        let fetch = try Fetch()
        try give(fetch.folder)
        let secret = try Fetch()
        chmod(secret.folder, 0o755)
        try Data("Authorization: root\n".utf8).write(to: URL(fileURLWithPath: secret.target))
        chmod(secret.target, 0o600)
        #expect(try run(fetch, fetch.target, headers: secret.target).status == .code(64))
        #expect(throws: (any Error).self) { try fetch.server.requests(fetch.id) }

        let own = fetch.folder + "/headers"
        try Data("Authorization: mine\n".utf8).write(to: URL(fileURLWithPath: own))
        try give(own, mode: 0o600)
        #expect(try run(fetch, fetch.target, headers: own).status == .code(0))
        #expect(try fetch.server.requests(fetch.id).map { $0["authorization"] } == ["mine"])
    }

    @Test func `a pipe as target or headers file is refused without blocking`() throws {
        let fetch = try Fetch()
        try give(fetch.folder)
        let pipe = fetch.folder + "/pipe"
        guard mkfifo(pipe, 0o600) == 0 else { throw SetUpError(description: "no pipe") }
        try give(pipe, mode: 0o600)
        #expect(try run(fetch, fetch.target, headers: pipe).status == .code(64))
        #expect(try run(fetch, pipe).status == .code(64))
    }

    @Test func `a user's output path is opened with the rights of the user`() throws {
        let fetch = try Fetch()
        try give(fetch.folder)
        let output = fetch.folder + "/output"
        #expect(try run(fetch, fetch.target) { $0.output = .paths(stdout: output, stderr: output) }.status == .code(0))
        #expect(try owner(output) == Self.user.uid)
        #expect(try String(contentsOfFile: output, encoding: .utf8).hasPrefix("opsd-transfer: fetched 100000 bytes"))

        let other = try Fetch()
        let executor = try RunningExecutor()
        try executor.connect()
        try executor.launch(1, fetch.address("file"), to: fetch.target) {
            $0.user = Self.user
            $0.output = .paths(stdout: other.target, stderr: other.target)
        }
        guard case .failed(_, let step, errno: EACCES) = try executor.next() else {
            throw SetUpError(description: "the output was opened")
        }
        #expect(step.hasPrefix("open "))
        #expect(other.file == nil)
    }
}
