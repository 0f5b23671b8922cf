import Foundation
import OpsExecutor
import OpsSystem
import TestSupport
import Testing

@testable import OpsTransfer

/// A file system that does not answer calls. It is mounted until this object is released.
final class SilentFileSystem {
    let path: String
    private let process = Process()
    private let input = Pipe()

    init(_ path: String) throws {
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "python3", "-B", LyingServer.scripts.appendingPathComponent("silent_filesystem.py").path, path,
        ]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        guard try output.fileHandleForReading.read(upToCount: 1) != nil else {
            throw SetUpError(description: "no silent file system")
        }
    }

    deinit { unmount() }

    /// Unmounts the file system. Calls that wait for it fail.
    func unmount() {
        input.fileHandleForWriting.closeFile()
        process.waitUntilExit()
    }

    /// True if this process may mount such a file system.
    static let isPossible: Bool = {
        guard Program.isRoot, FileManager.default.fileExists(atPath: "/dev/fuse") else { return false }
        do {
            let folder = try Scratch.folder()
            try SilentFileSystem(folder).unmount()
            try FileManager.default.removeItem(atPath: folder)
            return true
        } catch {
            return false
        }
    }()
}

@Suite(
    .enabled(if: SilentFileSystem.isPossible, "NOT TESTED: file systems that do not answer; needs root and /dev/fuse"))
struct StalledFileSystemTests {
    private static let user = LaunchRequest.User(name: "nobody", uid: 65_534, gid: 65_534)

    /// Launches transfers into a file system that does not answer: more than one user has threads for file work.
    private func stall(_ executor: RunningExecutor, _ fetch: Fetch, _ disk: SilentFileSystem) throws {
        for operation in 1...6 {
            try executor.launch(Int64(operation), fetch.address("file"), to: "\(disk.path)/\(operation)") {
                $0.user = Self.user
            }
        }
    }

    @Test func `a stalled file system delays only the transfers of the user who writes to it`() throws {
        let (fetch, other) = (try Fetch(), try Fetch())
        let disk = try SilentFileSystem(fetch.folder + "/silent")
        let executor = try RunningExecutor()
        try executor.connect()
        try stall(executor, fetch, disk)
        try executor.launch(7, fetch.address("file"), to: fetch.target) {
            $0.user = Self.user
            $0.output = .paths(stdout: disk.path + "/log", stderr: disk.path + "/log")
        }
        for operation in 10..<20 {
            try executor.launch(Int64(operation), other.address("file"), to: "\(other.folder)/\(operation)")
        }
        let (exits, _) = try executor.ends(of: Array(10..<20))
        #expect(exits == Dictionary(uniqueKeysWithValues: (10..<20).map { ($0, .code(0)) }))
        // Pings are answered too.
        try executor.send(.ping)
        guard case .pong = try executor.next() else { throw SetUpError(description: "no pong") }
        disk.unmount()
        let stalled = try executor.ends(of: Array(1...6)).exits
        #expect(stalled.values.allSatisfy { $0 != .code(0) })
    }

    @Test func `a transfer to a stalled file system can be cancelled`() throws {
        let fetch = try Fetch()
        let disk = try SilentFileSystem(fetch.folder + "/silent")
        let executor = try RunningExecutor()
        try executor.connect()
        try stall(executor, fetch, disk)
        for operation in 1...6 {
            try executor.send(.terminate(AttemptID(OperationID(Int64(operation)), 1), grace: .zero, isCancelled: true))
        }
        let exits = try executor.ends(of: Array(1...6)).exits
        #expect(exits.values.allSatisfy { $0 == .signal(15) })
    }
}
