import CSQLite
import FaultVFS
import OpsCore
import TestSupport
import Testing

@testable import OpsStore

/// The system accepts data, fails to write them to the disk, reports that once, and then continues as if they were
/// there.
extension FaultTests {
    /// Repeats `life` with such a failure at each of its operations in turn. Each time, the power is cut afterwards,
    /// and everything that was acknowledged must be on the disk.
    private func everyWriteBackFails(
        forgetting: Bool, from scenario: Scenario, life: (TemporaryDirectory) throws -> Store
    ) throws {
        let files = try files(of: scenario)
        var place: Int32 = 1
        var hasFailed = true
        while hasFailed && place < 2000 {
            let directory = TemporaryDirectory(inMemory: true)
            let disk = TemporaryDirectory(inMemory: true)
            for directory in [directory, disk] { try write(files, to: directory) }
            fault_vfs_arm(directory.path, place, Int32(FAULT_WRITE_BACK))
            fault_vfs_lose_power(disk.path, 0)
            fault_vfs_forget(forgetting ? 1 : 0)
            defer { fault_vfs_disarm() }
            let living = try life(directory)
            let acknowledged = try contents(living.path)
            hasFailed = fault_vfs_has_failed() != 0
            // Done before the store is closed, which would checkpoint its log.
            fault_vfs_disarm()
            let store = try Store.open(directory: disk.path, boot: "boot")
            #expect(try contents(store.path) == acknowledged, "after a failure at \(place)")
            #expect(try History.open(path: store.path).check() == [], "after a failure at \(place)")
            place += 1
        }
        #expect(place > 50 && !hasFailed, "the scenario writes often, and ends")
    }

    /// Repeats the work if it fails, as the daemon does.
    private func insist(_ store: Store, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            #expect(fault_vfs_has_failed() != 0, "\(error)")
            try store.probe()
            try body()
        }
    }

    private func open(_ directory: TemporaryDirectory) throws -> Store {
        // The failure happens once, so the second attempt succeeds.
        let store = (try? Store.open(directory: directory.path, boot: "boot")) ?? nil
        let opened = try store ?? Store.open(directory: directory.path, boot: "boot")
        _ = try opened.load()
        return opened
    }

    @Test(arguments: [false, true], Scenario.allCases)
    func `a start relies on nothing that is not on the disk`(_ forgetting: Bool, _ scenario: Scenario) throws {
        try everyWriteBackFails(forgetting: forgetting, from: scenario) { directory in
            // Ends with the first error; the next process finds what the system still shows.
            _ = runUntilDark(scenario, directory)
            let next = try open(directory)
            // Not a probe, which would begin with a checkpoint.
            try insist(next) {
                try next.database.transaction { () throws(StoreError) in
                    try next.database.execute("UPDATE meta SET probes = probes + 1")
                }
            }
            return next
        }
    }

    @Test(arguments: [false, true], [false, true])
    func `a partial checkpoint is on the disk before it counts`(_ forgetting: Bool, _ beside: Bool) throws {
        try everyWriteBackFails(forgetting: forgetting, from: .oldDatabase) { directory in
            let store = try open(directory)
            let half = script.turns.count / 2
            for turn in script.turns[..<half] {
                try insist(store) { try store.commit(turn.transition, submissions: turn.submissions) }
            }
            // With a reader, a checkpoint ends at the reader's position.
            let reader = try Database(store.path, .readOnly)
            try reader.execute("BEGIN")
            _ = try reader.integer("SELECT count(*) FROM operation")
            for turn in script.turns[half...] {
                try insist(store) { try store.commit(turn.transition, submissions: turn.submissions) }
            }
            try insist(store) {
                if beside { _ = try Store.moveLog(ofDatabaseAt: store.path) } else { try store.checkpoint() }
            }
            try reader.execute("COMMIT")
            try insist(store) { try store.checkpoint() }
            // The log starts over, so its earlier contents must be in the database.
            try insist(store) { try store.cutLog() }
            return store
        }
    }
}
