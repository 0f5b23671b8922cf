import CSQLite
import FaultVFS
import Glibc
import OpsCore
import TestSupport
import Testing

@testable import OpsStore

/// The disk fails at every possible operation, and the power is cut at every sync.
@Suite struct FaultTests {
    let script = Script()
    private static let isRegistered = {
        // Two threads would wait for each other at every allocation. Fails if SQLite has been used before.
        _ = opsd_sqlite3_omit_memory_statistics()
        return fault_vfs_register() == SQLITE_OK
    }()

    init() { #expect(Self.isRegistered) }

    /// A scenario that faults interrupt. Most of the writes of a new database are those of its schema, so it has a
    /// scenario of its own.
    enum Scenario: CaseIterable { case newDatabase, oldDatabase }

    func turns(in scenario: Scenario) -> ArraySlice<Script.Turn> {
        scenario == .newDatabase ? script.turns.prefix(1) : script.turns[...]
    }

    /// Returns the files with which a scenario begins, by name: those of a start without faults.
    func files(of scenario: Scenario) throws -> [String: [UInt8]] {
        guard scenario == .oldDatabase else { return [:] }
        let directory = TemporaryDirectory(inMemory: true)
        _ = try Store.open(directory: directory.path, boot: "boot").load()
        return Dictionary(
            uniqueKeysWithValues: directory.names.map { ($0, File.read(directory.path + "/" + $0) ?? []) })
    }

    func write(_ files: [String: [UInt8]], to directory: TemporaryDirectory) throws {
        for (name, bytes) in files { try File.write(bytes, to: directory.path + "/" + name) }
    }

    /// Returns the stored rows after each number of turns, without faults.
    private func expected(_ scenario: Scenario) throws -> [[String]] {
        let directory = TemporaryDirectory(inMemory: true)
        let store = try Store.open(directory: directory.path, boot: "boot")
        var states = [try contents(store.path)]
        for turn in turns(in: scenario) {
            try store.commit(turn.transition, submissions: turn.submissions)
            if turn.checkpointsAfter { try store.checkpoint() }
            states.append(try contents(store.path))
        }
        if scenario == .oldDatabase { try keepHouse(store, directory) { states.append(try contents(store.path)) } }
        return states
    }

    /// A backup in another directory, because faults are injected beside the database and users cannot write there.
    private func copy(of store: Store, to directory: TemporaryDirectory) throws -> RunningBackup {
        let path = directory.path + "/copy"
        return try History.open(path: store.path).copy(to: path, through: path + ".part")
    }

    /// Does the daemon's other work: a backup, and the removal of old graphs and unused space. `done` is called after
    /// each step.
    private func keepHouse(
        _ store: Store, _ directory: TemporaryDirectory, done: () throws -> Void = {}
    ) throws {
        let backup = try copy(of: store, to: directory)
        while try backup.step(pages: 4) {}
        let pruning = store.prune(olderThan: .distantFuture)
        for _ in 0..<100 where !pruning.isComplete {
            _ = try pruning.step(limit: 1000)
            try done()
        }
        #expect(pruning.removed == 1)
        for _ in 0..<100 where store.mayHaveFreePages { _ = try store.tidy() }
        try store.cutLog()
    }

    /// Runs a scenario as the daemon would: work that fails is repeated.
    private func persist(_ scenario: Scenario, in directory: TemporaryDirectory, _ states: [[String]]) throws {
        var store = try? Store.open(directory: directory.path, boot: "boot")
        // The fault happens once, so the second attempt succeeds.
        let opened = try store ?? Store.open(directory: directory.path, boot: "boot")
        store = nil
        for (number, turn) in turns(in: scenario).enumerated() {
            do {
                try opened.commit(turn.transition, submissions: turn.submissions)
            } catch {
                #expect(error.kind == .full || error.kind == .ioError, "\(error)")
                #expect(error.file == opened.path && !error.advice.isEmpty)
                #expect(try contents(opened.path) == states[number], "a failed commit has left something")
                #expect(try History.open(path: opened.path).select(Selection(), limit: 1).count <= 1)
                try opened.probe()
                _ = try opened.load()
                try opened.commit(turn.transition, submissions: turn.submissions)
            }
            // A checkpoint that fails is made up for by the next one.
            if turn.checkpointsAfter { try? opened.checkpoint() }
        }
        #expect(try contents(opened.path) == states[turns(in: scenario).count])
        if scenario == .newDatabase { return }
        do {
            try keepHouse(opened, directory)
        } catch let error as StoreError {
            #expect(error.kind == .full || error.kind == .ioError, "\(error)")
            #expect(!directory.names.contains { $0.hasSuffix(".part") }, "half a copy was left")
            try opened.probe()
            let again = opened.prune(olderThan: .distantFuture)
            for _ in 0..<100 where !again.isComplete { _ = try again.step(limit: 1000) }
            let backup = try copy(of: opened, to: directory)
            while try backup.step() {}
        }
        let difference = try contents(opened.path).difference(from: states.last ?? [])
        #expect(difference.isEmpty, "\(difference.prefix(4))")
    }

    @Test(arguments: [SQLITE_IOERR, SQLITE_FULL], Scenario.allCases)
    func `the store survives one failure of every disk operation`(_ code: Int32, _ scenario: Scenario) throws {
        let states = try expected(scenario)
        let files = try files(of: scenario)
        var place = 1
        var hasFailed = true
        // Ends with the first fault that the scenario no longer reaches.
        while hasFailed && place < 2000 {
            let directory = TemporaryDirectory(inMemory: true)
            try write(files, to: directory)
            fault_vfs_arm(directory.path, Int32(place), code)
            do {
                defer { fault_vfs_disarm() }
                try persist(scenario, in: directory, states)
                hasFailed = fault_vfs_has_failed() != 0
            }
            let store = try Store.open(directory: directory.path, boot: "boot")
            #expect(try contents(store.path) == states.last, "after a fault at \(place)")
            for path in [store.path, directory.path + "/copy"] where File.read(path) != nil {
                #expect(try History.open(path: path).check() == [], "\(path) after a fault at \(place)")
            }
            place += 1
        }
        #expect(place > 50 && !hasFailed, "the scenario writes often, and ends")
    }

    @Test func `a device that cannot be read is not reported as a damaged database`() throws {
        let directory = TemporaryDirectory(inMemory: true)
        do {
            let store = try Store.open(directory: directory.path, boot: "boot")
            for turn in script.turns { try store.commit(turn.transition, submissions: turn.submissions) }
        }
        fault_vfs_arm(directory.path, 0, 0)
        defer { fault_vfs_disarm() }
        let history = try History.open(path: directory.path + "/opsd.db")
        fault_vfs_refuse_reads(Int32(FAULT_EVERY_READ))
        let errors = [
            #expect(throws: StoreError.self) { _ = try history.select(Selection(), limit: 1) },
            #expect(throws: StoreError.self) { _ = try history.check() },
            #expect(throws: StoreError.self) { _ = try Store.open(directory: directory.path, boot: "boot") },
        ]
        for error in errors {
            #expect(error?.kind == .ioError, "\(error.map(String.init(describing:)) ?? "")")
        }
        fault_vfs_disarm()
        #expect(try history.check() == [])
    }

    @Test func `a state that could not be pinned is not seen for longer`() throws {
        let directory = TemporaryDirectory(inMemory: true)
        fault_vfs_arm(directory.path, 0, 0)
        defer { fault_vfs_disarm() }
        let store = try Store.open(directory: directory.path, boot: "boot")
        let history = try History.open(path: store.path)
        try store.commit(script.turns[0].transition, submissions: script.turns[0].submissions)
        fault_vfs_refuse_reads(Int32(FAULT_EVERY_READ))
        #expect(throws: StoreError.self) { try history.pinSnapshot() }
        fault_vfs_refuse_reads(0)
        let before = try history.lastSequence()
        for turn in script.turns.dropFirst() { try store.commit(turn.transition, submissions: turn.submissions) }
        #expect(try history.lastSequence() > before, "later commits are seen")
        try history.pinSnapshot()
    }

    /// This must hold whatever the system has last reported about the other file.
    @Test func `a log that cannot be read is not reported as a damaged database`() throws {
        let directory = TemporaryDirectory(inMemory: true)
        fault_vfs_arm(directory.path, 0, 0)
        defer { fault_vfs_disarm() }
        let store = try Store.open(directory: directory.path, boot: "boot")
        for turn in script.turns { try store.commit(turn.transition, submissions: turn.submissions) }
        let history = try History.open(path: store.path)
        fault_vfs_refuse_reads(Int32(FAULT_LOG_READS))
        let errors = [
            #expect(throws: StoreError.self) { _ = try history.select(Selection(), limit: 1) },
            #expect(throws: StoreError.self) { _ = try history.check() },
        ]
        for error in errors {
            #expect(error?.kind == .ioError, "\(error.map(String.init(describing:)) ?? "")")
        }
    }

    /// Part of the unsynced writes that is on disk when the power comes back.
    enum Survival: CaseIterable { case nothing, everything, someSectors, otherSectors }

    @Test(arguments: Survival.allCases, Scenario.allCases)
    func `the store survives a power cut at every sync`(_ survival: Survival, _ scenario: Scenario) throws {
        let states = try expected(scenario)
        let files = try files(of: scenario)
        var place: Int32 = 1
        var hasFailed = true
        while hasFailed && place < 1000 {
            let directory = TemporaryDirectory(inMemory: true)
            let shadow = TemporaryDirectory(inMemory: true)
            let image = TemporaryDirectory(inMemory: true)
            for directory in [directory, shadow] { try write(files, to: directory) }
            fault_vfs_arm(directory.path, 0, 0)
            fault_vfs_lose_power(shadow.path, place)
            var acknowledged = 0
            do {
                defer { fault_vfs_disarm() }
                acknowledged = runUntilDark(scenario, directory)
                hasFailed = fault_vfs_has_failed() != 0
                if hasFailed {
                    let disk = Disk(written: directory, synced: shadow, survival, seed: UInt64(place))
                    try disk.write(to: image)
                }
            }
            if hasFailed { try expectPrefix(image, acknowledged, states, place) }
            place += 1
        }
        #expect(place > 4 && !hasFailed, "the scenario syncs often, and ends")
    }

    /// Returns the number of turns that were acknowledged before the power failed.
    func runUntilDark(_ scenario: Scenario, _ directory: TemporaryDirectory) -> Int {
        var acknowledged = 0
        do {
            let store = try Store.open(directory: directory.path, boot: "boot")
            for turn in turns(in: scenario) {
                try store.commit(turn.transition, submissions: turn.submissions)
                acknowledged += 1
                if turn.checkpointsAfter { try store.checkpoint() }
            }
            if scenario == .oldDatabase { try keepHouse(store, directory) { acknowledged += 1 } }
        } catch {
            #expect(fault_vfs_has_failed() != 0, "\(error)")
        }
        return acknowledged
    }

    private func expectPrefix(
        _ image: TemporaryDirectory, _ acknowledged: Int, _ states: [[String]], _ place: Int32
    ) throws {
        let store = try Store.open(directory: image.path, boot: "boot")
        let found = try contents(store.path)
        // Some steps change nothing that is stored.
        let possible = states.indices.filter { states[$0] == found }
        #expect(!possible.isEmpty, "no prefix of the turns, power lost at sync \(place)")
        #expect(possible.contains { $0 == acknowledged || $0 == acknowledged + 1 }, "power lost at sync \(place)")
        #expect(try History.open(path: store.path).check() == [])
        _ = try store.load()
    }
}
