/// Slot time that each user has had in each fair queue; old slot time counts less.
///
/// Slot time counts from a start to the end of the process tree. At the end of each minute 1/32 of it is forgotten, so that
/// half of it is left after 22 minutes and 15 % after an hour. Whole minutes make the sum independent of how often it is read.
struct SlotTimes: Codable {
    struct Key: Hashable, Codable {
        var queue: QueueIndex
        /// Nil: a privileged user. These count as one.
        var user: UInt32?
    }

    private struct Account: Codable {
        let key: Key
        /// Slot time as it counted at the instant `at`.
        var used = TimeSpan.zero
        var at: MonotonicInstant
        /// Number of processes that use slot time now.
        var running: Int32 = 0

        mutating func advance(to now: MonotonicInstant) {
            guard now > at else { return }
            if (now - at) / SlotTimes.minute > SlotTimes.minutesRemembered {
                // Earlier time no longer counts. The running processes have used slot time for so long that each minute
                // adds as much as is forgotten at its end.
                at = SlotTimes.endOfMinute(now) - SlotTimes.minute
                used = SlotTimes.minute * (Int64(running) * (SlotTimes.divisor - 1))
            }
            while case let end = SlotTimes.endOfMinute(at), end <= now {
                used += (end - at) * Int64(running)
                used -= (used + .nanoseconds(SlotTimes.divisor - 1)) / SlotTimes.divisor
                at = end
            }
            used += (now - at) * Int64(running)
            at = now
        }
    }

    private static let minute = TimeSpan.minutes(1)
    private static let divisor: Int64 = 32
    /// Number of minutes after which less than a millionth is left.
    private static let minutesRemembered: Int64 = 440

    private var accounts = Pool<Account, AccountIndex>()
    private var index: [Key: AccountIndex] = [:]

    private static func endOfMinute(_ instant: MonotonicInstant) -> MonotonicInstant {
        let past = TimeSpan(nanoseconds: instant.nanoseconds % minute.nanoseconds)
        return instant - (past < .zero ? past + minute : past) + minute
    }

    /// Returns the account of a user in a fair queue, which begins at an instant if there is none yet.
    mutating func account(_ queue: QueueIndex, _ user: UInt32?, at instant: MonotonicInstant) -> AccountIndex {
        let key = Key(queue: queue, user: user)
        if let known = index[key] { return known }
        let account = accounts.insert(Account(key: key, at: instant))
        index[key] = account
        return account
    }

    func find(_ queue: QueueIndex, _ user: UInt32?) -> AccountIndex? { index[Key(queue: queue, user: user)] }

    /// Returns the slot time of an account as it counts now.
    mutating func used(_ account: AccountIndex, at now: MonotonicInstant) -> TimeSpan {
        accounts[account].advance(to: now)
        return accounts[account].used
    }

    /// Returns the slot time of an account without changing anything.
    func reading(_ account: AccountIndex, at now: MonotonicInstant) -> TimeSpan {
        var copy = accounts[account]
        copy.advance(to: now)
        return copy.used
    }

    /// Counts a process that starts or ends; returns the slot time until then.
    mutating func count(_ account: AccountIndex, _ step: Int32, at now: MonotonicInstant) -> TimeSpan {
        accounts[account].advance(to: now)
        accounts[account].running += step
        return accounts[account].used
    }

    /// Restores stored slot time.
    mutating func restore(_ queue: QueueIndex, _ user: UInt32?, used: TimeSpan, at instant: MonotonicInstant) {
        let account = account(queue, user, at: instant)
        accounts[account].used = max(.zero, used)
        accounts[account].at = instant
    }

    /// Counts a process that has been using slot time since the account was last stored.
    mutating func resume(_ account: AccountIndex) { accounts[account].running += 1 }

    /// Forgets a queue that is fair no more.
    mutating func forget(_ queue: QueueIndex) {
        for account in accounts.indices where accounts[account].key.queue == queue {
            index[accounts[account].key] = nil
            accounts.remove(account)
        }
    }

    /// `running`: the processes of each user in each fair queue, counted.
    func checkInvariants(running: [Key: Int32]) -> [String] {
        var broken: [String] = []
        for account in accounts.indices where accounts[account].running != running[accounts[account].key] ?? 0 {
            let (key, count) = (accounts[account].key, accounts[account].running)
            broken.append("16: user \(key.user ?? 0) counts \(count) processes in queue \(key.queue.rawValue)")
        }
        for key in running.keys where index[key] == nil {
            broken.append("16: user \(key.user ?? 0) has no slot time in queue \(key.queue.rawValue)")
        }
        for account in accounts.indices where accounts[account].used < .zero {
            broken.append("16: slot time of account \(account.rawValue) is negative")
        }
        return broken
    }
}
