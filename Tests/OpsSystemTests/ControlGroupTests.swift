import Glibc
import OpsSystem
import Testing

/// A hierarchy of its own for each test, so that the end of one does not disturb another.
private func withHierarchy<Result>(_ body: (ControlGroupHierarchy) throws -> Result) throws -> Result? {
    let name = "opsd-test-\(getpid())-\(try Randomness.identifier().prefix(8))"
    guard let hierarchy = try ControlGroupHierarchy.open(name: name) else { return nil }
    defer { rmdir(hierarchy.base.path) }
    return try body(hierarchy)
}

// A hierarchy that cannot be opened cannot be tested.
private let canMakeControlGroups = geteuid() == 0 && (try? withHierarchy { _ in true }) == true

/// Control groups, on a machine that allows them.
@Suite(.enabled(if: canMakeControlGroups, "SKIPPED: no cgroup v2 tree can be written here (needs root)"))
struct ControlGroupTests {
    /// Makes a group for one test, and removes it with all processes in it.
    func withGroup(_ body: (ControlGroup) throws -> Void) throws {
        let done: Void? = try withHierarchy { hierarchy in
            let group = hierarchy.group("test")
            try group.make()
            defer {
                // Processes of a failed test must not stay.
                _ = try? group.kill()
                while (try? group.remove()) == false { usleep(1000) }
            }
            try body(group)
        }
        try #require(done != nil)
    }

    func start(_ script: String, in group: ControlGroup) throws -> Int32 {
        var spawn = Spawn(arguments: ["/bin/sh", "-c", script], environment: ["PATH=/usr/bin:/bin"])
        let directory = try group.open()
        spawn.controlGroup = directory.rawValue
        return try spawn.start()
    }

    /// The process is born in the group, or moves itself there before its program runs if the kernel cannot do that.
    @Test(
        arguments: SpawnTests.everyFallback + [
            .withoutIntoControlGroup, [.withoutIntoControlGroup, .withoutCloseRange],
        ])
    func `a process is in its control group from its first instruction`(fallbacks: Fallbacks) throws {
        fallbacks.begin()
        defer { Fallbacks.end() }
        try withGroup { group in
            let pid = try start("exec sleep 1000", in: group)
            #expect(try group.processes() == [pid])
            #expect(try group.isPopulated())
            #expect(try !group.remove(), "something lives in it")
            try group.kill()
            #expect(try Children.wait(for: pid)?.status == .signal(SIGKILL))
            #expect(try group.remove())
        }
    }

    @Test(
        arguments: SpawnTests.everyFallback + [
            .withoutIntoControlGroup, [.withoutIntoControlGroup, .withoutCloseRange],
        ])
    func `a missing control group is reported`(fallbacks: Fallbacks) throws {
        fallbacks.begin()
        defer { Fallbacks.end() }
        try withGroup { group in
            var spawn = Spawn(arguments: ["/bin/true"], environment: [])
            let directory = try group.open()
            spawn.controlGroup = directory.rawValue
            #expect(try group.remove())
            #expect(throws: SpawnError.self) { try spawn.start() }
        }
    }

    /// The kernel does not say which processes are in a group of threads, but names them in the group above.
    @Test func `processes whose threads are in groups of their own get a signal`() throws {
        try withGroup { group in
            let pid = try start("exec sleep 1000", in: group)
            let threads = ControlGroup(path: group.path + "/threads")
            try threads.make()
            try threads.set("cgroup.type", "threaded")
            #expect(try group.processes() == [pid])
            var signalled: [ProcessRecord] = []
            try group.signal(SIGKILL, recording: &signalled)
            #expect(signalled.map(\.pid) == [pid])
            #expect(try Children.wait(for: pid)?.status == .signal(SIGKILL))
        }
    }
}
