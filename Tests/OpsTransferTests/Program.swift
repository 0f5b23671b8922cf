import Foundation
import Testing

/// Starts programs and returns their exit status and output.
enum Program {
    static var isRoot: Bool { getuid() == 0 }
    static var hasOpenSSL: Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl") }

    struct End {
        var status: Int32
        var output: String
        var complaint: String
    }

    static let fetch = built("opsd-fetch")
    static let transfer = built("opsd-transfer")

    /// Returns the path of a program that was built with the tests.
    static func built(_ name: String) -> String {
        let bundle = CommandLine.arguments.dropFirst().first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        let folders = [
            (bundle as NSString).deletingLastPathComponent,
            URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().path + "/.build/debug",
        ]
        let places = folders.map { "\($0)/\(name)" }
        return places.first { FileManager.default.isExecutableFile(atPath: $0) } ?? places[0]
    }

    @discardableResult
    static func run(
        _ path: String, _ arguments: String..., environment: [String: String] = [:]
    ) throws -> End {
        try run(path, arguments, environment: environment)
    }

    static func run(_ path: String, _ arguments: [String], environment: [String: String] = [:]) throws -> End {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        // The output goes to files. With two pipes, the program could block on one while the test reads the other.
        let folder = try Scratch.folder()
        defer {
            do {
                try FileManager.default.removeItem(atPath: folder)
            } catch {
                // The system removes the folder at its next start.
            }
        }
        func file(_ name: String) throws -> FileHandle {
            #expect(FileManager.default.createFile(atPath: folder + "/" + name, contents: nil))
            return try FileHandle(forUpdating: URL(fileURLWithPath: folder + "/" + name))
        }
        process.standardOutput = try file("output")
        process.standardError = try file("error")
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        let text = { (name: String) in try String(contentsOfFile: folder + "/" + name, encoding: .utf8) }
        return End(status: process.terminationStatus, output: try text("output"), complaint: try text("error"))
    }
}
