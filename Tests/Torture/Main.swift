import Foundation
import Glibc

/// torture --minutes N --seed S [--clients N] [--workers N] [--work DIR] [--source DIR]
///     [--small-disk | --image FILE --kind ext4|xfs|btrfs --mount OPTIONS] [--shim LIBRARY] [--only FAULT,FAULT...]
///     [--attacks all|none|ATTACK,ATTACK...] [--no-cgroup] [--sabotage KIND]
///
/// Runs the real programs with random clients and random faults, waits until all operations have finished, and checks
/// every promise against the marks that the operations wrote themselves. The exit status is 0 if every promise held, 1
/// if one was broken, and 2 if the torture could not continue.
@main struct Main {
    static func main() {
        do {
            if CommandLine.arguments.dropFirst().first == "--attack" {
                try Attacker.main(Array(CommandLine.arguments.dropFirst(2)))
            }
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
    /// Source tree with the page, the Python package and the server for transfers; nil: without them.
    var source: String?
    var disk = Disk.shared
    /// Preloaded library that sets the clock and makes calls on the disk fail.
    var shim: String?
    /// Names of the faults to inject (Faults.swift), to find out which ones a violation needs; empty: all.
    var only: [String] = []
    /// True if operations have control groups, where the machine has them.
    var usesControlGroups = true
    /// Attacks by hostile users, where the torture is root.
    var attacks = Attack.allCases
    /// Planted fault, which the checker must find.
    var sabotage: Sabotage?

    init(_ words: ArraySlice<String>) throws {
        var words = words
        var image = Disk.Image(path: "")
        while let word = words.popFirst() {
            if word == "--small-disk" {
                disk = .small
                continue
            }
            if word == "--no-cgroup" {
                usesControlGroups = false
                continue
            }
            guard let value = words.popFirst() else { throw Trouble("\(word) needs a value") }
            switch word {
            case "--minutes": minutes = Double(value) ?? minutes
            case "--seed": seed = UInt64(value) ?? seed
            case "--clients": clients = Int(value) ?? clients
            case "--workers": workers = Int(value) ?? workers
            case "--work": work = value
            case "--source": source = value
            case "--image": image.path = value
            case "--kind":
                guard let kind = Disk.Image.Kind(rawValue: value) else { throw Trouble("unknown file system \(value)") }
                image.kind = kind
            case "--mount": image.options = value
            case "--shim": shim = value
            case "--only": only = value.split(separator: ",").map(String.init)
            case "--attacks":
                attacks = try Self.attacks(value)
            case "--sabotage":
                sabotage = Sabotage(rawValue: value)
                if sabotage == nil { throw Trouble("unknown sabotage \(value)") }
            default: throw Trouble("unknown option \(word)")
            }
        }
        if !image.path.isEmpty { disk = .image(image) }
        if work.isEmpty { work = NSTemporaryDirectory() + "opsd-torture-\(seed)-\(getpid())" }
    }

    private static func attacks(_ value: String) throws -> [Attack] {
        switch value {
        case "all": return Attack.allCases
        case "none": return []
        default:
            return try value.split(separator: ",").map {
                guard let attack = Attack(rawValue: String($0)) else { throw Trouble("unknown attack \($0)") }
                return attack
            }
        }
    }
}
