internal import COpsSpawn
internal import Glibc

/// Environments of processes of other users. A user can delay each read of one for any time, as read_apart.c describes.
/// So a process beside this one reads them, and this one waits for it only for a short time.
///
/// The waits for processes of one user take at most two percent of the time, apart from undisturbed reads. Time in which
/// the other process waits for a processor does not count.
public final class EnvironmentReader {
    private let path: (Int32) -> String
    private let now: () -> MonotonicInstant
    private var helper: Helper?
    /// Helpers that were killed while they waited for a process of a user, until they have ended. A kill does not end
    /// every wait.
    private var stuck: [UInt32: Int32] = [:]
    private var allowances: [UInt32: Allowance] = [:]
    /// True if no process or descriptor was left for the last read of this turn.
    public private(set) var lacksHelper = false

    /// Time to wait for processes of a user.
    private struct Allowance {
        /// Length after the last renewal.
        var size: TimeSpan
        var left: TimeSpan
        var renewal: MonotonicInstant

        static let usual = TimeSpan.milliseconds(50)
        static let longest = TimeSpan.milliseconds(400)
        /// Interval between renewals, in lengths of the allowance.
        static let interval: Int64 = 50

        init(_ size: TimeSpan, now: MonotonicInstant) {
            self.size = size
            left = size
            renewal = now + size * Allowance.interval
        }
    }

    /// Longest wait for one environment.
    private static let longestRead = TimeSpan.milliseconds(50)
    /// Time of a read that does not count.
    private static let freeTime = TimeSpan.nanoseconds(200_000)

    /// `path`: file with the environment of a process. `now`: clock for the time that users may take.
    public init(
        path: @escaping (Int32) -> String = { "/proc/\($0)/environ" },
        now: @escaping () -> MonotonicInstant = { Clock.read().monotonic }
    ) {
        self.path = path
        self.now = now
    }

    deinit {
        for pid in stuck.values { ops_end_reader(pid, 0) }
        if let helper { ops_end_reader(helper.pid, 1) }
    }

    /// Returns the environment that a process was started with; empty if this process may not read it; `nil`: it cannot
    /// be read now. `uid`: real user of the process.
    public func environment(of pid: Int32, uid: UInt32) -> [String]? {
        collectStuck()
        lacksHelper = false
        guard canRead(uid: uid) else { return nil }
        guard let helper = usableHelper() else {
            lacksHelper = true
            // No process or descriptor is left. A user can delay only their own runner.
            return uid == Identity.uid ? ProcessRecord.environment(of: pid) : nil
        }
        let start = now()
        var allowance = renewedAllowance(of: uid, now: start)
        let answer = helper.read(path(pid), within: min(allowance.left, EnvironmentReader.longestRead))
        if answer == nil {
            abandon(helper, uid: uid)
            allowance.left = .zero
        }
        if answer?.hasWaited ?? true {
            let counted = max(now() - start - EnvironmentReader.freeTime, .zero)
            allowance.left = max(allowance.left - counted, .zero)
            allowances[uid] = allowance
        }
        return answer.map { $0.bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) } }
    }

    /// Returns whether environments of a user's processes can be read now.
    public func canRead(uid: UInt32) -> Bool {
        stuck[uid] == nil && renewedAllowance(of: uid, now: now()).left > .zero
    }

    /// Ends what is kept for further reads in the same turn of the loop.
    public func endTurn() {
        collectStuck()
        lacksHelper = false
        if let helper { ops_end_reader(helper.pid, 1) }
        helper = nil
        if allowances.isEmpty { return }
        let instant = now()
        // The length of the last allowance decides on the next one.
        allowances = allowances.filter { instant < $0.value.renewal + $0.value.size * Allowance.interval }
    }

    private func renewedAllowance(of uid: UInt32, now: MonotonicInstant) -> Allowance {
        guard let last = allowances[uid] else { return Allowance(Allowance.usual, now: now) }
        if now < last.renewal { return last }
        // Many processes may have memory on a slow disk. So the next allowance is longer, and lasts longer.
        let size = last.left > .zero ? Allowance.usual : min(last.size * 2, Allowance.longest)
        return Allowance(size, now: now)
    }

    private func usableHelper() -> Helper? {
        // A failure means that no process or descriptor is left. The caller handles that.
        if helper == nil { helper = try? Helper() }
        return helper
    }

    private func abandon(_ helper: Helper, uid: UInt32) {
        if ops_end_reader(helper.pid, 0) == 0 { stuck[uid] = helper.pid }
        self.helper = nil
    }

    private func collectStuck() {
        if !stuck.isEmpty { stuck = stuck.filter { ops_end_reader($0.value, 0) == 0 } }
    }
}

/// The process that reads, with the socket to it.
private final class Helper {
    let pid: Int32
    private let socket: Descriptor

    init() throws(SystemError) {
        var number: Int32 = -1
        pid = try retrying("start a reader") { unsafe ops_start_reader(&number) }
        socket = Descriptor(owning: number)
    }

    struct Answer {
        /// Bytes of the file; none if it cannot be read.
        var bytes: [UInt8]
        /// True if the helper has waited for something other than a processor.
        var hasWaited: Bool
    }

    /// Reads a file; `nil`: it takes longer, or this helper has ended.
    func read(_ path: String, within time: TimeSpan) -> Answer? {
        let deadline = Clock.read().monotonic + time
        do throws(SystemError) {
            guard case .moved = try socket.write(Array(path.utf8)[...]) else { return nil }
            var bytes: [UInt8] = []
            while try waitForPacket(until: deadline) {
                var packet: [UInt8] = []
                guard case .moved = try socket.read(atMost: 32_768, onto: &packet), let kind = packet.first else {
                    return nil
                }
                let hasWaited = Int32(kind) & OPS_READER_WAITED != 0
                switch Int32(kind) & ~OPS_READER_WAITED {
                case OPS_READER_MORE: bytes += packet.dropFirst()
                case OPS_READER_END: return Answer(bytes: bytes, hasWaited: hasWaited)
                default: return Answer(bytes: [], hasWaited: hasWaited)
                }
            }
            return nil
        } catch {
            return nil
        }
    }

    /// Longest time that the helper may wait for a processor after the deadline.
    private static let longestDelay = TimeSpan.seconds(1)

    /// Waits for a packet until the deadline, and for some time longer while the helper could run. Returns whether there
    /// is one.
    private func waitForPacket(until deadline: MonotonicInstant) throws(SystemError) -> Bool {
        var end = deadline
        while true {
            let left = (end - Clock.read().monotonic).milliseconds + 1
            if try socket.waitUntil(.readable, milliseconds: Int32(clamping: max(left, 0))) { return true }
            let canRun = try ProcessRecord.read(pid)?.state == UInt8(ascii: "R")
            // The packet may have come meanwhile.
            guard canRun, end < deadline + Helper.longestDelay else {
                return try socket.waitUntil(.readable, milliseconds: 0)
            }
            end += .milliseconds(10)
        }
    }
}
