/// The users that have clients, or for whose clients something is still held.
struct ConnectedUsers {
    /// Resources that the clients of one user hold together.
    final class User {
        let budget: BufferBudget
        let isPrivileged: Bool
        fileprivate(set) var connections = 0

        init(_ budget: BufferBudget, isPrivileged: Bool) {
            self.budget = budget
            self.isPrivileged = isPrivileged
        }
    }

    private var users: [UInt32: User] = [:]

    var all: some Collection<User> { users.values }

    /// Returns the user of a caller, who may be new.
    mutating func user(of caller: Caller, _ limits: ConnectionLimits, isPrivileged: Bool) -> User {
        if let user = users[caller.user] { return user }
        // A user is removed only without connections and buffers: a message that is being read outlives its connection.
        users = users.filter { $0.value.connections > 0 || $0.value.budget.used > 0 }
        let budget = BufferBudget(of: caller.name, limit: limits.bytes(isPrivileged: isPrivileged))
        let user = User(budget, isPrivileged: isPrivileged)
        users[caller.user] = user
        return user
    }

    func connect(_ user: User) { user.connections += 1 }
    func disconnect(_ user: User) { user.connections -= 1 }

    func setLimits(_ limits: ConnectionLimits) {
        for user in users.values { user.budget.limit = limits.bytes(isPrivileged: user.isPrivileged) }
    }
}
