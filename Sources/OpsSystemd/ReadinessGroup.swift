internal import COpsSpawn
internal import Glibc
public import OpsSystem

/// Set of descriptors of one kind (clients) that the loop watches as one.
///
/// sd-event calls epoll_wait before every handler, and each time the kernel looks at all ready descriptors: for a thousand
/// clients that are ready at once, a million times. Here one call returns a batch of them.
public final class ReadinessGroup {
    private let loop: EventLoop
    private let epoll: Descriptor
    private var source: ReadinessSource?
    private var members: [UInt64: Member] = [:]
    private var lastToken: UInt64 = 0

    /// Descriptor that is watched, level-triggered, until `cancel`, which must be called before it is closed.
    public final class Member {
        fileprivate let descriptor: Int32
        fileprivate let token: UInt64
        fileprivate let handler: (Readiness) -> Void
        private weak var group: ReadinessGroup?
        private var interest: Readiness

        fileprivate init(
            _ descriptor: Int32, _ token: UInt64, _ interest: Readiness, _ group: ReadinessGroup,
            _ handler: @escaping (Readiness) -> Void
        ) {
            self.descriptor = descriptor
            self.token = token
            self.interest = interest
            self.group = group
            self.handler = handler
        }

        /// Changes the events that are reported. The empty set pauses the watch (errors are still reported).
        public func setInterest(_ readiness: Readiness) throws(SystemError) {
            guard let group, readiness != interest else { return }
            let epoll = group.epoll.rawValue
            try retrying("epoll_ctl") { ops_epoll_change(epoll, descriptor, readiness.rawValue, token) }
            interest = readiness
        }

        public func cancel() {
            group?.forget(self)
            group = nil
        }
    }

    public init(_ loop: EventLoop) throws(SystemError) {
        self.loop = loop
        epoll = Descriptor(owning: try retrying("epoll_create1") { ops_epoll() })
        source = try loop.watch(epoll.rawValue, for: .readable) { [unowned self] _ in self.handleBatch() }
    }

    deinit { source?.cancel() }

    /// Calls `handler` whenever the descriptor is ready. The caller owns the descriptor.
    public func watch(
        _ descriptor: Int32, for readiness: Readiness, _ handler: @escaping (Readiness) -> Void
    ) throws(SystemError) -> Member {
        lastToken += 1
        let member = Member(descriptor, lastToken, readiness, self, handler)
        let epoll = epoll.rawValue
        try retrying("epoll_ctl") { ops_epoll_add(epoll, descriptor, readiness.rawValue, member.token) }
        members[member.token] = member
        return member
    }

    private func forget(_ member: Member) {
        guard members.removeValue(forKey: member.token) != nil else { return }
        // This fails only for a descriptor that is no member.
        _ = ops_epoll_remove(epoll.rawValue, member.descriptor)
    }

    private static let batch = 64

    private func handleBatch() {
        let epoll = epoll.rawValue
        var readiness = [UInt32](repeating: 0, count: Self.batch)
        // The call has no other error for an open set than that nothing is ready.
        let tokens = unsafe [UInt64](unsafeUninitializedCapacity: Self.batch) { tokens, count in
            count = Int(
                max(0, unsafe ops_epoll_ready(epoll, tokens.baseAddress, &readiness, Int32(Self.batch))))
        }
        // By token: a handler may cancel a later member, and a new one may get the number of its descriptor.
        for (token, ready) in zip(tokens, readiness) { members[token]?.handler(Readiness(rawValue: ready)) }
        loop.count(tokens.count)
    }
}
