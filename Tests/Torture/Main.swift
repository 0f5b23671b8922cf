import Foundation
import Glibc

/// torture --minutes N --seed S [--clients N] [--workers N] [--work DIR] [--small-disk] [--keep]
///
/// Runs the real programs under random clients and random faults, lets everything settle, and then proves from what
/// the operations wrote down themselves that every promise held. Ends with 0 when it did.
@main struct Main {
    static func main() {
        do {
            let torture = try Torture(Arguments(CommandLine.arguments.dropFirst()))
            exit(try torture.run() ? 0 : 1)
        } catch {
            print("torture: \(error)")
            exit(2)
        }
    }
}

struct Arguments: Sendable {
    var minutes = 2.0
    var seed: UInt64 = 1
    var clients = 3
    var workers = 4
    var work = ""
    var keeps = false
    /// The state directory is a small file system of its own, which is filled now and then.
    var hasSmallDisk = false

    init(_ words: ArraySlice<String>) throws {
        var words = words
        while let word = words.popFirst() {
            if word == "--keep" {
                keeps = true
                continue
            }
            if word == "--small-disk" {
                hasSmallDisk = true
                continue
            }
            guard let value = words.popFirst() else { throw Trouble("\(word) needs a value") }
            switch word {
            case "--minutes": minutes = Double(value) ?? minutes
            case "--seed": seed = UInt64(value) ?? seed
            case "--clients": clients = Int(value) ?? clients
            case "--workers": workers = Int(value) ?? workers
            case "--work": work = value
            default: throw Trouble("unknown option \(word)")
            }
        }
        if work.isEmpty { work = NSTemporaryDirectory() + "opsd-torture-\(seed)-\(getpid())" }
    }
}
