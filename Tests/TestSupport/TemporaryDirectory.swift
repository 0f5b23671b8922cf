import Foundation
import Glibc

/// A private directory of one test, removed with everything in it.
public final class TemporaryDirectory: Sendable {
    public let path: String

    /// `inMemory`: on a tmpfs if there is one, for tests that sync often.
    public init(inMemory: Bool = false) {
        // Its path ends with a slash.
        let parent = inMemory && access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : NSTemporaryDirectory()
        var template = Array("\(parent)opsd-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { fatalError("mkdtemp: \(String(cString: strerror(errno)))") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Names of the files in it, sorted.
    public var names: [String] {
        // A test that compares the names fails if they cannot be read.
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }  // a leftover in /tmp is no failure
}
