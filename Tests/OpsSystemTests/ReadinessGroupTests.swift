import Glibc
import OpsSystem
import OpsSystemd
import Testing

@Suite struct ReadinessGroupTests {
    /// Makes connections, and returns both ends of each.
    private func pairs(_ count: Int) throws -> [(near: Int32, far: Int32)] {
        try (0..<count).map { _ in
            var ends: [Int32] = [0, 0]
            guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
                throw SystemError("socketpair", errno: errno)
            }
            return (ends[0], ends[1])
        }
    }

    private func close(_ pairs: [(near: Int32, far: Int32)]) {
        for pair in pairs {
            Glibc.close(pair.near)
            Glibc.close(pair.far)
        }
    }

    private func say(_ descriptor: Int32) { #expect(Glibc.write(descriptor, "x", 1) == 1) }

    private func hear(_ descriptor: Int32) {
        var byte: UInt8 = 0
        #expect(Glibc.read(descriptor, &byte, 1) == 1)
    }

    @Test func `each ready descriptor is handled once a turn`() throws {
        let loop = try EventLoop()
        let group = try ReadinessGroup(loop)
        let pairs = try pairs(200)
        defer { close(pairs) }
        var calls = Array(repeating: 0, count: pairs.count)
        let members = try pairs.enumerated().map { number, pair in
            try group.watch(pair.near, for: .readable) { _ in
                calls[number] += 1
                hear(pair.near)
            }
        }
        for pair in pairs where pair.far % 2 == pairs[0].far % 2 { say(pair.far) }
        let wanted = pairs.map { $0.far % 2 == pairs[0].far % 2 ? 1 : 0 }
        try turn(loop) { calls.reduce(0, +) >= wanted.reduce(0, +) }
        #expect(calls == wanted)
        #expect(try loop.turn(timeout: 0) == false)
        for member in members { member.cancel() }
    }

    /// Further ready members wait for the next turn.
    @Test func `a turn handles a bounded number of events`() throws {
        let loop = try EventLoop()
        let group = try ReadinessGroup(loop)
        let pairs = try pairs(400)
        defer { close(pairs) }
        var calls = 0
        var inThisTurn = 0
        var turns: [Int] = []
        loop.endTurn = {
            if inThisTurn > 0 { turns.append(inThisTurn) }
            inThisTurn = 0
        }
        let members = try pairs.map { pair in
            say(pair.far)
            return try group.watch(pair.near, for: .readable) { _ in
                calls += 1
                inThisTurn += 1
                hear(pair.near)
            }
        }
        try turn(loop) { calls == pairs.count }
        #expect(turns.count > 1)
        #expect(turns.allSatisfy { $0 <= EventLoop.eventsPerTurn + 64 })
        for member in members { member.cancel() }
    }

    @Test func `only requested events are reported`() throws {
        let loop = try EventLoop()
        let group = try ReadinessGroup(loop)
        let pairs = try pairs(1)
        defer { close(pairs) }
        var seen: [Readiness] = []
        let member = try group.watch(pairs[0].near, for: .writable) { seen.append($0) }
        try turn(loop) { !seen.isEmpty }
        #expect(seen[0] == .writable)
        try member.setInterest([])
        seen = []
        #expect(try loop.turn(timeout: 0) == false)
        try member.setInterest(.readable)
        say(pairs[0].far)
        try turn(loop) { !seen.isEmpty }
        #expect(seen[0] == .readable)
        member.cancel()
        seen = []
        #expect(try loop.turn(timeout: 0) == false)
        #expect(seen.isEmpty)
    }

    /// The handler of the first of two ready members cancels the other, whose handler is then not called.
    @Test func `the handler of a cancelled member is not called`() throws {
        let loop = try EventLoop()
        let group = try ReadinessGroup(loop)
        let pairs = try pairs(2)
        defer { close(pairs) }
        var members: [ReadinessGroup.Member] = []
        var calls = 0
        for pair in pairs {
            say(pair.far)
            members.append(
                try group.watch(pair.near, for: .readable) { _ in
                    calls += 1
                    for member in members { member.cancel() }
                })
        }
        try turn(loop) { calls > 0 }
        #expect(try loop.turn(timeout: 0) == false)
        #expect(calls == 1)
    }
}
