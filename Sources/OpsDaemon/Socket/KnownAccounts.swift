internal import OpsSystem
internal import OpsSystemd

/// Accounts of users, kept for a second after a look-up in the user database. A look-up costs a tenth of the whole time
/// of a client that makes one call and leaves, as opsctl does.
struct KnownAccounts {
    private struct Entry {
        var account: Account?
        var until: MonotonicInstant
    }
    static let lifetime = TimeSpan.seconds(1)
    private static let capacity = 256
    private var entries: [UInt32: Entry] = [:]

    /// Returns the account of a user; nil if the database does not have it.
    mutating func account(
        of user: UInt32, now: MonotonicInstant, _ ask: (UInt32) throws(SystemError) -> Account?
    ) throws(SystemError) -> Account? {
        if let entry = entries[user], entry.until > now { return entry.account }
        let account = try ask(user)
        if entries.count >= Self.capacity { entries = [:] }
        entries[user] = Entry(account: account, until: now + Self.lifetime)
        return account
    }
}
