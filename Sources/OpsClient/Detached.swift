internal import Glibc

/// Threads of the library, for calls that block: these must not occupy the threads of Swift's tasks.
enum Detached {
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    static func run(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let work = Unmanaged.passRetained(Work(body))
        let error = pthread_create(
            &thread, nil,
            { work in
                guard let work else { return nil }
                Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        precondition(error == 0, "no thread: \(error)")
        pthread_detach(thread)
    }

    /// Runs a blocking function on a thread of its own.
    static func value<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in run { continuation.resume(returning: body()) } }
    }
}
