public import OpsModel

/// Attempts that are submitted with one command. Each task runs `pack` of them, one after another; several tasks are an array.
public struct Batch: Hashable, Sendable {
    public let attempts: [AttemptID]
    /// Number of attempts of each task; the last task may have fewer.
    public let pack: Int
    /// Number of the fence that the attempts pass: 0 first, the next after each fence that the executor has closed.
    public let fence: Int

    /// Most bytes of the text of several tasks, which Slurm prints for each of these. A single task always has a text.
    private static let longestText = 400
    /// Most attempts of a task: opsd accepts no greater `pack`.
    private static let mostInTask = 1000

    public init(_ attempts: [AttemptID], pack: Int = 1, fence: Int = 0) {
        self.attempts = attempts
        self.pack = max(pack, 1)
        self.fence = fence
    }

    public var taskCount: Int { (attempts.count + pack - 1) / pack }
    public var isArray: Bool { taskCount > 1 }

    /// Returns the attempts of a task, in the order in which they run.
    public func attempts(ofTask task: Int) -> [AttemptID] {
        guard task >= 0, task < taskCount else { return [] }
        return Array(attempts[task * pack..<min(attempts.count, (task + 1) * pack)])
    }

    /// Returns the attempts of a task as a batch of their own.
    func part(_ task: Int) -> Batch { Batch(attempts(ofTask: task), pack: pack, fence: fence) }

    public func task(of attempt: AttemptID) -> Int? { attempts.firstIndex(of: attempt).map { $0 / pack } }

    /// Returns the job of an attempt. `id`: number that sbatch has printed.
    public func job(_ id: String, of attempt: AttemptID) -> String {
        guard isArray, let task = task(of: attempt) else { return id }
        return "\(id)_\(task)"
    }

    // MARK: Text

    /// Text such as `12-19.1,31.2:p4:f1`: attempts 12.1 to 19.1 and 31.2, four in each task, that pass the second fence.
    public var text: String {
        var ranges: [(first: AttemptID, count: Int64)] = []
        for attempt in attempts {
            if let last = ranges.last, last.first.number == attempt.number,
                attempt.operation.rawValue - last.first.operation.rawValue == last.count
            {
                ranges[ranges.count - 1].count += 1
            } else {
                ranges.append((attempt, 1))
            }
        }
        let words = ranges.map { first, count in
            count == 1
                ? first.spoolName
                : "\(first.operation.rawValue)-\(first.operation.rawValue + (count - 1)).\(first.number)"
        }
        return words.joined(separator: ",") + (pack > 1 ? ":p\(pack)" : "") + (fence > 0 ? ":f\(fence)" : "")
    }

    /// Returns nil for any text that is not exactly that of a batch which `split` makes.
    public init?(_ text: some StringProtocol) {
        let fields = text.split(separator: ":", omittingEmptySubsequences: false)
        var attempts: [AttemptID] = []
        for word in String(fields[0]).split(separator: ",", omittingEmptySubsequences: false) {
            guard let range = Self.range(word), attempts.count + range.count <= Self.most else { return nil }
            attempts += range
        }
        var pack = 1
        var fence = 0
        for field in fields.dropFirst() {
            guard let number = Int(field.dropFirst()) else { return nil }
            switch field.first {
            case "p": pack = number
            case "f": fence = number
            default: return nil
            }
        }
        guard (1...Self.mostInTask).contains(pack),
            attempts.count <= pack || fields[0].utf8.count <= Self.longestText
        else { return nil }
        self.init(attempts, pack: pack, fence: fence)
        guard self.text == text else { return nil }
    }

    /// Most attempts of a batch. Anyone can write a comment that names more.
    private static let most = 100_000

    private static func range(_ word: some StringProtocol) -> [AttemptID]? {
        if let attempt = AttemptID(spoolName: word) { return [attempt] }
        let parts = word.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = Int64(parts[0]), let last = AttemptID(spoolName: parts[1]), first > 0,
            first < last.operation.rawValue, last.operation.rawValue - first < most
        else { return nil }
        return (first...last.operation.rawValue).map { AttemptID(OperationID($0), last.number) }
    }

    // MARK: Partition

    /// Splits attempts with equal requests into batches with at most `mostTasks` tasks each. `isLimited`: true if the tasks
    /// have a time limit, which follows from their number of attempts; a smaller last task is then a batch of its own.
    public static func split(
        _ attempts: [AttemptID], pack: Int, fence: Int, mostTasks: Int, isLimited: Bool = false
    ) -> [Batch] {
        var batches: [Batch] = []
        var rest = attempts[...]
        while !rest.isEmpty {
            let pack = max(pack, 1)
            var count = min(rest.count, max(mostTasks, 1) * pack, most)
            while count > pack, Batch(Array(rest.prefix(count)), pack: pack).text.utf8.count > longestText {
                count = max(pack, count / pack / 2 * pack)
            }
            if isLimited, count > pack { count -= count % pack }
            batches.append(Batch(Array(rest.prefix(count)), pack: pack, fence: fence))
            rest = rest.dropFirst(count)
        }
        return batches
    }
}

/// Attempts of each job that several share, as the last listings show them.
public struct SharedJobs {
    /// Job of a user. Other users can make up rows with its number.
    private struct Job: Hashable {
        var number: String
        var user: UInt32
    }

    private var attempts: [Job: [AttemptID]] = [:]

    public init() {}

    /// Notes the jobs of a listing that was taken with the rights of a user.
    public mutating func note(_ listing: JobListing, of user: UInt32) {
        for row in listing.rows where row.isShared && row.user == user {
            attempts[Job(number: row.job, user: user)] = row.batch.attempts
        }
    }

    /// Returns the attempts that share a job of a user; none: no listing shows several.
    public func attempts(of number: String, user: UInt32) -> [AttemptID] {
        attempts[Job(number: number, user: user)] ?? []
    }

    /// Forgets the jobs of which no attempt is known.
    public mutating func keep(where isKnown: (AttemptID) -> Bool) {
        attempts = attempts.filter { $0.value.contains(where: isKnown) }
    }
}
