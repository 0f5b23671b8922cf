import OpsModel
import OpsSlurm
import Testing

/// Instants of the listings, and new attempts that are submitted together.
@Suite struct ListingRoundsTests {
    private static let interval = TimeSpan.seconds(15)
    private static func at(_ milliseconds: Int64) -> MonotonicInstant {
        .zero + .milliseconds(1_000_000 + milliseconds)
    }
    private static func attempt(_ operation: Int64) -> AttemptID { AttemptID(OperationID(operation), 1) }

    private static func row(_ state: String, _ reason: String = "Resources") -> JobRow {
        JobRow(
            job: "1", batch: Batch([attempt(1)]), user: 7, state: JobState(state), reason: reason, waitStatus: 0,
            nodes: "")
    }

    private static func begun(_ milliseconds: Int64) -> ListingRounds {
        var rounds = ListingRounds()
        rounds.begin(now: at(milliseconds), interval: interval)
        return rounds
    }

    @Test func `without a wish the next round follows after the interval`() {
        #expect(ListingRounds().next(interval: Self.interval) <= Self.at(0))
        #expect(Self.begun(0).next(interval: Self.interval) == Self.at(15_000))
    }

    @Test func `two wanted rounds follow at once, and more each half second`() {
        var rounds = Self.begun(0)
        for expected in [0, 500, 1000] as [Int64] {
            rounds.isWanted = true
            let next = rounds.next(interval: Self.interval)
            #expect(next == Self.at(expected))
            rounds.begin(now: max(next, Self.at(1)), interval: Self.interval)
            #expect(!rounds.isWanted)
        }
    }

    @Test func `new attempts wait until none follows for a moment`() {
        var rounds = Self.begun(-60_000)
        rounds.begin(now: Self.at(-50_000), interval: Self.interval)
        for time in [0, 80, 160] as [Int64] {
            rounds.collect(Self.attempt(time + 1), now: Self.at(time)) { false }
        }
        #expect(rounds.next(interval: .seconds(1000)) == Self.at(260))
        for time in [240, 320, 400, 480] as [Int64] {
            rounds.collect(Self.attempt(time + 1), now: Self.at(time)) { false }
        }
        #expect(rounds.next(interval: .seconds(1000)) == Self.at(500))
        // A round for others comes first.
        rounds.isWanted = true
        rounds.begin(now: Self.at(490), interval: Self.interval)
        #expect(rounds.isCollected(Self.attempt(1)))
        rounds.begin(now: Self.at(500), interval: Self.interval)
        #expect(!rounds.isCollected(Self.attempt(1)))
        #expect(rounds.next(interval: .seconds(1000)) == Self.at(1_000_500))
    }

    @Test func `new attempts wait a second while others wait in Slurm`() {
        var rounds = Self.begun(-60_000)
        rounds.note([Self.row("RUNNING"), Self.row("PENDING")])
        rounds.collect(Self.attempt(1), now: Self.at(0)) { true }
        rounds.collect(Self.attempt(2), now: Self.at(900)) { true }
        #expect(rounds.next(interval: .seconds(1000)) == Self.at(1000))
        rounds.collect(Self.attempt(3), now: Self.at(950)) { false }
        #expect(rounds.next(interval: .seconds(1000)) == Self.at(500), "none waits since")
        rounds.begin(now: Self.at(950), interval: Self.interval)
        for rows in [[Self.row("RUNNING"), Self.row("PENDING", "JobHeldUser")], [Self.row("RUNNING")], []] {
            rounds.note(rows)
            rounds.collect(Self.attempt(4), now: Self.at(2000)) { true }
            #expect(rounds.next(interval: .seconds(1000)) == Self.at(2100))
        }
    }

    @Test func `a new round has found nothing yet`() {
        var rounds = ListingRounds()
        #expect(!rounds.isWanted && !rounds.isFindingUsers)
        rounds.found = [Self.attempt(1)]
        rounds.isComplete = false
        rounds.begin(now: Self.at(0), interval: Self.interval)
        #expect(rounds.found.isEmpty && rounds.isComplete)
    }

    @Test func `Slurm counts as busy only once as many jobs wait as run`() {
        for (rows, isBusy) in [
            ([], false), ([Self.row("RUNNING"), Self.row("RUNNING"), Self.row("PENDING")], false),
            ([Self.row("RUNNING"), Self.row("PENDING")], true),
            ([Self.row("COMPLETED"), Self.row("COMPLETED"), Self.row("PENDING")], true),
        ] as [([JobRow], Bool)] {
            var rounds = Self.begun(-60_000)
            if !rows.isEmpty { rounds.note(rows) }
            rounds.collect(Self.attempt(1), now: Self.at(0)) { true }
            #expect(rounds.next(interval: .seconds(1000)) == Self.at(isBusy ? 1000 : 100))
        }
    }

    @Test func `a round ends with its last listing`() {
        var rounds = Self.begun(0)
        #expect(rounds.start([7, 8]) == [7, 8])
        #expect(rounds.end(7) == false)
        #expect(rounds.end(8) == true)
        #expect(rounds.isComplete)
        #expect(rounds.end(8) == false)
    }

    @Test func `a user who delays a listing delays the next round of others only for a while`() {
        var rounds = Self.begun(-60_000)
        rounds.begin(now: Self.at(0), interval: Self.interval)
        _ = rounds.start([7, 8])
        rounds.isWanted = true
        #expect(rounds.end(8) == false)
        #expect(rounds.next(interval: Self.interval) == Self.at(2000))
        rounds.begin(now: Self.at(2000), interval: Self.interval)
        #expect(rounds.start([7, 8]) == [8], "the listing of user 7 is under way")
        #expect(!rounds.isComplete, "user 7 may have jobs that no listing of this round shows")
        #expect(rounds.end(8) == true, "the round does not wait for user 7")
        #expect(!rounds.isWanted)
        #expect(rounds.end(7) == false)
        #expect(rounds.isWanted, "user 7 gets a listing after this one")
        rounds.begin(now: Self.at(3000), interval: Self.interval)
        #expect(rounds.start([7, 8]) == [7, 8])
        #expect(rounds.isComplete)
    }

    @Test func `a user is watched for some time`() {
        var rounds = ListingRounds()
        rounds.watch(7, until: Self.at(10))
        #expect(rounds.watchedUsers(now: Self.at(9)) == [7])
        #expect(rounds.watchedUsers(now: Self.at(10)).isEmpty)
    }
}
