import Glibc
import OpsSystem
import OpsSystemd
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

@Suite struct UpkeepTests {
    private func size(_ path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : -1
    }

    @Test func `disk space and memory are given back after a busy time and then the loop sleeps`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let store = fixture.daemon.store
        let operations = (0..<20_000).map { #"{"command":["true","\#($0)"],"held":true}"# }
        _ = try client.submit("[" + operations.joined(separator: ",") + "]")
        _ = try client.call(.with { $0.selection.all = true } as CancelRequest)
        #expect(try client.call(.with { $0.olderThan = "0s" } as PruneRequest).removed == 20_000)
        let upkeep = fixture.daemon.upkeep
        try fixture.turn { !store.wantsTidying && !upkeep.hasFreeMemory && !upkeep.isReturningMemory }
        #expect(size(store.path + "-wal") == 0)
        #expect(try store.database.integer("PRAGMA freelist_count") == 0)
        #expect(size(store.path) < 1 << 20)
        #expect(try fixture.loop.turn(timeout: 300_000) == false, "woken with nothing to do")
    }

    @Test func `memory of a large request is given back once and then the loop sleeps`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let upkeep = fixture.daemon.upkeep
        let operations = (0..<20_000).map { #"{"command":["true","\#($0)"],"held":true}"# }
        _ = try client.submit("[" + operations.joined(separator: ",") + "]")
        #expect(upkeep.hasFreeMemory || upkeep.isReturningMemory)
        try fixture.turn { !upkeep.hasFreeMemory && !upkeep.isReturningMemory && !fixture.daemon.store.wantsTidying }
        #expect(try fixture.loop.turn(timeout: 300_000) == false, "woken with nothing to do")
    }

    @Test func `a loop that was never busy sleeps`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"],"held":true}]"#)
        #expect(!fixture.daemon.store.wantsTidying)
        #expect(try fixture.loop.turn(timeout: 300_000) == false, "woken with nothing to do")
    }
}
