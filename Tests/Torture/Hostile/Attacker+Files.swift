import Foundation
import Glibc

/// Attacks with files that a start has to open, and with processes that stop before their exec.
extension Attacker {
    private static let setLease: Int32 = 1024  // F_SETLEASE

    /// Takes a lease on a file that a start has to open. Another process can open the file only after the holder gives
    /// up the lease, or after 45 s.
    mutating func takeLease() throws(CallError) {
        let path = fresh("lease")
        do {
            try FileManager.default.copyItem(atPath: program, toPath: path)
        } catch {
            throw .unreachable
        }
        chmod(path, 0o700)
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0, fcntl(file, Self.setLease, Int32(F_WRLCK)) == 0 else {
            close(file)
            unlink(path)
            return tally("leases that were not given")
        }
        tally("leases")
        later(dice.happens(70) ? Double(dice.roll(2...20)) / 10 : Double(dice.roll(2...20))) {
            close(file)
            unlink(path)
        }
        if dice.happens(20) { try execute(["lease", "\(dice.roll(300...2000))"], times: 1...2) }
        if dice.happens(40) { try stopLaunches() }
        var operation: [String: Any] = ["command": command(["linger", "10"])]
        switch dice.roll(0...4) {
        case 0...1: operation["command"] = [path, directory, "linger", "10"]
        case 2: operation["stdin"] = path
        case 3: operation["output"] = ["stdout": path]
        default: operation["directory"] = path
        }
        if dice.happens(20) { operation["conditions"] = [["exec": [path, directory, "linger", "1"]]] }
        if dice.happens(20) { operation["observers"] = ["finish": [path, directory, "linger", "1"]] }
        try submit(Array(repeating: operation, count: dice.roll(1...3)))
    }

    /// Stops new processes below the runner before they execute their program.
    private func stopLaunches() throws(CallError) {
        guard let runner = try call("Status")["runnerPid"] as? Int else { return }
        start(["stopper", "600", "\(runner)"])
        usleep(5000)
    }

    mutating func stopOwn() throws(CallError) {
        try stopLaunches()
        if dice.happens(50) { try execute(["stop"], times: 1...2) }
        try execute(["linger", "5"], ["conditions": [["exec": ["/bin/true"]]]], times: 0...3)
        try execute(["linger", "\(dice.roll(0...20))"], times: 3...20)
    }

    mutating func useFIFOs() throws(CallError) {
        let path = fresh("fifo")
        guard mkfifo(path, 0o600) == 0 else { throw .unreachable }
        later(15) { unlink(path) }
        let keys: [[String: Any]] = [
            ["stdin": path], ["output": ["stdout": path]], ["output": ["stderr": path]], ["directory": path],
        ]
        for key in keys where dice.happens(60) { try execute(["linger", "10"], key, times: 1...2) }
    }

    mutating func searchLongPath() throws(CallError) {
        let empty = fresh("e")
        guard mkdir(empty, 0o700) == 0 else { throw .unreachable }
        later(15) { rmdir(empty) }
        let long = Array(repeating: empty, count: 1_000_000 / (empty.utf8.count + 1)).joined(separator: ":")
        let operation = ["command": ["a-program-that-is-not-there"]]
        try submit(Array(repeating: operation, count: dice.roll(1...5)), environment: ["PATH": long])
    }
}
