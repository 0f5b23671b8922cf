import OpsCore
import OpsStore
import Testing

/// The rows of an operation do not depend on how its changes are divided into turns.
@Suite struct AttemptWritesTests {
    /// Returns the changes of two attempts of `build`, of which the second fails, with its updates, and of `test`,
    /// which is skipped because of it.
    private func life(_ world: World) -> [[Change]] {
        let (build, test) = (OperationID(1), OperationID(2))
        let at = world.moment
        func attempt(_ number: Int32) -> [Change] {
            let id = AttemptID(build, number)
            let exit = ProcessExit(
                status: number == 1 ? .signal(9) : .code(3), outOfMemory: number == 1,
                usage: ProcessUsage(userMicroseconds: 4, systemMicroseconds: 5, maxResidentBytes: 6), at: at)
            let cause: Cause = number == 1 ? .outOfMemory : .exitStatus(3)
            return [
                .started(build, attempt: number, run: 1, slot: number, runner: "runner-1", at: at),
                .timeoutMoved(id, remaining: .nanoseconds(8)),
                .launched(id, LaunchedProcess(pid: 70 + number, startTicks: 1 << 63, at: at)),
                .updated(id, OperationUpdate(status: "half", progressDone: 1, progressTotal: 2)), .exited(id, exit),
                .attemptEnded(id, .failed, cause, at: at.wall + .nanoseconds(7)),
            ]
        }
        return [
            attempt(1) + [.retrying(build, notBefore: .zero, counts: true)],
            attempt(2) + [
                .finished(build, .failed, .exitStatus(3), at: at.wall + .nanoseconds(7)),
                .finished(test, .skipped, .dependency(root: build, .failed), at: at.wall + .nanoseconds(8)),
            ],
            [.reopened(build, run: 2, .ready), .reopened(test, run: 2, .pending)],
        ]
    }

    private func rows(_ turns: (World) -> [[Change]]) throws -> [String] {
        let world = try World()
        world.submit(CommitTests.graph())
        try world.commit()
        // The changes have the same times whether they are stored in one turn or in many.
        let now = world.now
        for changes in turns(world) {
            world.now = now
            world.turn.changes = changes
            world.report(.edited, OperationID(1))
            try world.commit()
        }
        let raw = try Raw(world.store.path)
        return try raw.texts("SELECT json_array(\(Self.attemptColumns)) FROM attempt ORDER BY number")
            + raw.texts("SELECT json_array(\(Self.operationColumns)) FROM operation ORDER BY id")
    }

    private static let attemptColumns = """
        operation, number, run, runner, slot, startedMonotonic, startedAt, pid, startTicks, launchedMonotonic, launchedAt,
        exitCode, signal, outOfMemory, exitedMonotonic, exitedAt, userMicroseconds, systemMicroseconds, maxResidentBytes,
        timeout, progressDone, progressTotal, status, outcome, cause, causeKind, causeNumber, causeText, finishedAt
        """
    private static let operationColumns = """
        id, state, attempt, run, attemptsBefore, readyAt, notBefore, startedAt, finishedAt, outcome, root, cause
        """

    @Test(arguments: [false, true]) func `the changes of an operation are stored alike in one turn and in many`(
        _ comesBack: Bool
    ) throws {
        func life(_ world: World) -> [[Change]] { self.life(world).dropLast(comesBack ? 0 : 1) }
        let apart = try rows { world in life(world).flatMap { $0.map { [$0] } } }
        #expect(try rows(life) == apart)
        #expect(try rows { world in [life(world).flatMap { $0 }] } == apart)
        #expect(apart[0].contains(#","half",1,"out of memory",3,null,null,"#))
        #expect(apart[3].contains("dependency 1 (build) failed") == !comesBack)
    }
}
