import Foundation
import Glibc
import Synchronization

/// Library that is preloaded into opsd and its runner (Tests/TortureShim). It sets their wall clock, and makes calls on
/// their disk fail.
final class Shim: Sendable {
    /// The layout of `struct controls` in shim.c.
    private struct Controls {
        var clockOffset: Int64 = 0
        var ioError: Int32 = 0
        var ioCalls: Int32 = 0
        var ioEvery: Int32 = 1
        var unused: Int32 = 0
        var clockReadings: Int64 = 0
        var failedCalls: Int64 = 0
        var timersMoved: Int64 = 0
        var diskCalls: Int64 = 0
    }

    /// Kinds of calls on the database's files that can fail.
    struct Calls: OptionSet, Sendable {
        let rawValue: Int32
        static let sync = Calls(rawValue: 1)
        static let write = Calls(rawValue: 2)
        static let read = Calls(rawValue: 4)
        static let open = Calls(rawValue: 8)
    }

    /// Lead of the programs' clock in seconds, and the instant from which it applies.
    struct ClockSetting: Sendable { var since: Double, ahead: Double }

    private let settings = Mutex<[ClockSetting]>([.init(since: -.infinity, ahead: 0)])
    /// All settings of the clock, the oldest first.
    var clockSettings: [ClockSetting] { settings.withLock { $0 } }

    private let library: String
    private let path: String
    // Shared with the programs, which access it atomically. The machine reads and writes words of this size whole.
    private nonisolated(unsafe) let controls: UnsafeMutablePointer<Controls>

    init(library: String, work: String) throws {
        self.library = library
        path = work + "/controls"
        let file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0, ftruncate(file, 4096) == 0,
            let page = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), page != MAP_FAILED
        else { throw Trouble("cannot map \(path)") }
        close(file)
        controls = page.bindMemory(to: Controls.self, capacity: 1)
        controls.initialize(to: Controls())
    }

    var environment: [String: String] { ["LD_PRELOAD": library, "TORTURE_SHIM": path] }

    /// Lead of the programs' wall clock, in seconds.
    var offset: Double { Double(controls.pointee.clockOffset) / 1e9 }

    /// Sets the programs' clock, as an administrator would, and tells the programs to set armed timers again.
    func setClock(ahead seconds: Double, tell processes: [pid_t]) {
        settings.withLock { $0.append(.init(since: Instant.now, ahead: seconds)) }
        controls.pointee.clockOffset = Int64(seconds * 1e9)
        for pid in processes { kill(pid, Glibc.__libc_current_sigrtmin() + 5) }
    }

    func failDisk(_ calls: Calls, oneIn every: Int) {
        controls.pointee.ioCalls = calls.rawValue
        controls.pointee.ioEvery = Int32(every)
        controls.pointee.ioError = EIO
    }

    func repairDisk() { controls.pointee.ioError = 0 }

    var failedCalls: Int { Int(controls.pointee.failedCalls) }
    var clockReadings: Int { Int(controls.pointee.clockReadings) }
    var timersMoved: Int { Int(controls.pointee.timersMoved) }
}
