internal import COpsSpawn
internal import Glibc

/// Threads beside the main one, for calls that block.
package enum Threads {
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts a thread that calls `body` and then ends. No signal is delivered to it.
    package static func start(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let work = unsafe Unmanaged.passRetained(Work(body))
        do throws(SystemError) {
            try retrying("start a thread") {
                unsafe ops_start_thread(
                    { context in
                        if let context = unsafe context {
                            unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                        }
                        return nil
                    }, work.toOpaque())
            }
        } catch {
            unsafe work.release()
            throw error
        }
    }
}
