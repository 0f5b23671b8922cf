internal import OpsSystem
internal import OpsSystemd

/// A side thread that is created when it is first needed.
final class SideWork {
    private let loop: EventLoop
    private let log: DaemonLog
    private var thread: SideThread?

    init(loop: EventLoop, log: DaemonLog) {
        self.loop = loop
        self.log = log
    }

    /// Runs `job` outside the loop, then `finish` in it. If no thread can be created, runs both here.
    func run<Value: Sendable>(_ job: @escaping @Sendable () -> Value, then finish: @escaping (Value) -> Void) {
        do throws(SystemError) {
            let thread = if let made = self.thread { made } else { try SideThread(loop) }
            self.thread = thread
            thread.run(job, then: finish)
        } catch {
            log.warning("\(error); large requests delay others until a thread can be created")
            finish(job())
        }
    }
}
