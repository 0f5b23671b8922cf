import Foundation
import Glibc
import Synchronization

/// Runs the hostile client: starts it, restarts it when it has died, and cleans up at the end.
final class Hostility: Sendable {
    private struct State {
        var client: Program?
        var isOver = false
        var starts = 0
        /// Largest observed memory of opsd, in KiB.
        var mostResident = 0
    }

    private let victims: Victims
    private let people: People
    private let ledger: Ledger
    private let seed: UInt64
    private let attacks: [Attack]
    private let state = Mutex(State())
    var directory: String { victims.work + "/hostile" }

    /// Returns nil if the run has no attackers.
    init?(victims: Victims, ledger: Ledger, seed: UInt64, attacks: [Attack]) throws {
        guard let people = victims.people, !attacks.isEmpty else { return nil }
        self.victims = victims
        self.people = people
        self.ledger = ledger
        self.seed = seed
        self.attacks = attacks
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        guard chown(directory, people.hostile.uid, people.hostile.gid) == 0 else {
            throw Trouble("\(directory) cannot be given away")
        }
    }

    /// Starts the attacks. The attackers get at most half of the slots.
    func begin() throws {
        _ = try Wire.call(
            victims.socket, "SetQueue", ["name": Attacker.queue, "limit": max(1, victims.workers / 2), "create": true])
        Thread.detachNewThread {
            while self.keepAlive() {
                let resident = Victims.weight(self.victims.daemonPid).resident
                self.state.withLock { $0.mostResident = max($0.mostResident, resident) }
                usleep(200_000)
            }
        }
    }

    /// Starts the client if it does not run, such as after a power cut, but not during one. Returns false at the end of the
    /// run.
    private func keepAlive() -> Bool {
        state.withLock { state in
            if state.isOver { return false }
            if victims.isDown { return true }
            if let client = state.client, client.wait(seconds: 0) == nil { return true }
            state.starts += 1
            let words = [
                victims.programs + "/torture", "--attack", victims.socket, directory,
                victims.tools + "/torture-hostile",
                people.honest.name, "\(seed &+ UInt64(state.starts))", attacks.map(\.rawValue).joined(separator: ","),
            ]
            do {
                state.client = try Program(
                    words, environment: Victims.environment, output: victims.work + "/hostile.log")
            } catch {
                ledger.find("the attackers cannot be started: \(error)")
                state.isOver = true
            }
            return true
        }
    }

    /// Ends the client for good.
    private func endClient() {
        let client = state.withLock { state in
            state.isOver = true
            return state.client
        }
        client?.signal(SIGKILL)
        _ = client?.wait(seconds: 10)
    }

    /// Ends the client, cancels its operations, and kills their remaining processes.
    func end() throws {
        endClient()
        let end = Date().addingTimeInterval(60)
        while true {
            do throws(CallError) {
                let selection: [String: Any] = ["user": people.hostile.name]
                _ = try Wire.call(victims.socket, "Cancel", ["selection": selection, "reason": "the torture ends"])
                _ = try Wire.call(
                    victims.socket, "Wait", ["selection": selection, "timeout": "20s"], seconds: 40)
                break
            } catch {
                guard Date() < end else { return ledger.find("operations of attackers do not end: \(error)") }
                usleep(100_000)
            }
        }
        killLeftovers()
    }

    func killAll() {
        endClient()
        killLeftovers()
    }

    /// Kills processes that outlived their operation (attack `leave`), or that the client started itself.
    func killLeftovers() {
        for _ in 0..<100 {
            let left = victims.processes.filter {
                $0.words.contains("/torture-hostile ") || $0.words.contains("/hostile/")
            }
            if left.isEmpty { return }
            for process in left { kill(process.pid, SIGKILL) }
            usleep(10_000)
        }
    }

    var mostResident: Int { state.withLock { $0.mostResident } }

    /// Number of attacks by kind.
    var tally: [String: Int] {
        var tally: [String: Int] = [:]
        for line in lines(of: "tally") {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let count = Int(parts[0]) else { continue }
            tally[String(parts[1]), default: 0] += count
        }
        return tally
    }

    /// Actions of attackers that opsd must make impossible.
    var findings: [String] { lines(of: "findings") }

    private func lines(of file: String) -> [String] {
        let bytes = FileManager.default.contents(atPath: directory + "/" + file) ?? Data()  // no file: no attack
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
