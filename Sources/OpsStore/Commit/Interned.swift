internal import OpsCore

/// Values of the tables that commits need again, such as the rows of values that many operations share. All are read again
/// after a failed commit, except `sharedSince`.
struct Interned {
    var queues: [String: Int64] = [:]
    var policies: [Policy: Int64] = [:]
    var categorySets: [[CategoryUse]: Int64] = [:]
    var runners: [String: Int64] = [:]
    var staged = StagedRows()
    /// Operations that have a row in `ending`.
    var resolutions: Set<Int64> = []
    /// The text of the latest cause in this transaction.
    var latestCauseText: (cause: Cause, text: String)?
    /// Texts of the latest launch.
    var latestTexts = LatestTexts()
    /// The latest texts that submissions have shared, with their rows.
    var latestShared: [(text: ExactText, row: Int64)] = []
    /// Rows of older texts that were used again since the sweep began; nil while there is no sweep.
    var sharedSince: Set<Int64>?
    var isSweeping: Bool { sharedSince != nil }
    var textHash = TextHash()
    var nextText: Int64 = 1
    var nextPolicy: Int64 = 1
    var nextCategorySet: Int64 = 1
    var nextRunner: Int64 = 1
    /// Maximum number of remembered values; beyond it, equal values are stored again.
    static let capacity = 4096

    /// Number of remembered texts. Single submissions of one client share two texts with one another.
    private static let sharedTexts = 8
    private static let longestShared = 16_384

    func row(ofLatest text: String) -> Int64? {
        let text = ExactText(text)
        return latestShared.first { $0.text == text }?.row
    }

    mutating func remember(_ row: Int64, of text: String) {
        guard text.utf8.count <= Self.longestShared else { return }
        if latestShared.count == Self.sharedTexts { latestShared.removeFirst() }
        latestShared.append((text: ExactText(text), row: row))
    }

    /// Forgets values that the sweep may delete. A value that is used again gets a new row, or is added to
    /// `sharedSince`.
    mutating func beginSweep() {
        policies = [:]
        categorySets = [:]
        latestShared = []
        sharedSince = []
    }

    /// Reads the values from the tables again.
    mutating func reload(from database: Database, boot: String) throws(StoreError) {
        self = Interned(sharedSince: sharedSince)
        let rows = try database.prepare("SELECT name, id FROM queue")
        while try rows.step() { queues[rows.text(0)] = rows.int(1) }
        let known = try database.prepare("SELECT name, id FROM runner WHERE boot = ?1")
        known.bind(1, boot)
        while try known.step() { runners[known.text(0)] = known.int(1) }
        staged = try StagedRows(from: database)
        let resolved = try database.prepare("SELECT operation FROM ending")
        while try resolved.step() { resolutions.insert(resolved.int(0)) }
        textHash = try TextHash(of: database)
        nextText = try database.integer("SELECT max(id) FROM text") + 1
        nextPolicy = try database.integer("SELECT max(id) FROM policy") + 1
        nextCategorySet = try database.integer("SELECT max(id) FROM categorySet") + 1
        nextRunner = try database.integer("SELECT max(id) FROM runner") + 1
    }
}

extension Store {
    func row(of policy: Policy) throws(StoreError) -> Int64 {
        if let known = interned.policies[policy] { return known }
        let id = interned.nextPolicy
        PolicyRow.bind(policy, id: id, to: statements.submission.insertPolicy)
        try statements.submission.insertPolicy.run()
        interned.nextPolicy += 1
        if interned.policies.count >= Interned.capacity { interned.policies.removeAll() }
        interned.policies[policy] = id
        return id
    }

    /// Returns the row of a set of category uses; nil for the empty set.
    func row(of uses: [CategoryUse]) throws(StoreError) -> Int64? {
        if uses.isEmpty { return nil }
        if let known = interned.categorySets[uses] { return known }
        let id = interned.nextCategorySet
        statements.submission.insertCategorySet.bind(1, id)
        try statements.submission.insertCategorySet.run()
        for (offset, use) in uses.enumerated() {
            let statement = statements.submission.insertCategoryUse
            statement.bind(1, id)
            statement.bind(2, offset)
            statement.bind(3, use.name)
            statement.bind(4, use.mode.stored)
            statement.bind(5, use.units)
            try statement.run()
        }
        interned.nextCategorySet += 1
        if interned.categorySets.count >= Interned.capacity { interned.categorySets.removeAll() }
        interned.categorySets[uses] = id
        return id
    }

    func row(ofRunner name: String) throws(StoreError) -> Int64 {
        if let known = interned.runners[name] { return known }
        let id = interned.nextRunner
        statements.attempt.insertRunner.bind(1, id)
        statements.attempt.insertRunner.bind(2, name)
        statements.attempt.insertRunner.bind(3, boot)
        try statements.attempt.insertRunner.run()
        interned.nextRunner += 1
        interned.runners[name] = id
        return id
    }

    func row(ofQueue name: String) throws(StoreError) -> Int64 {
        guard let id = interned.queues[name] else {
            throw StoreError(.other, "no queue \(name) is stored", file: path)
        }
        return id
    }

    /// Stores a text without comparing it with others.
    func insert(text: String) throws(StoreError) -> Int64 { try insert(text, hash: nil) }

    /// Returns the row of a text that later submissions are likely to repeat: the one that already holds it, or a new one.
    func row(ofShared text: String) throws(StoreError) -> Int64 {
        try row(ofShared: text) { (_) throws(StoreError) in }
    }

    /// Returns the row of a text of details, whose labels are stored once with it.
    func row(ofDetails text: String) throws(StoreError) -> Int64 {
        try row(ofShared: text) { (row) throws(StoreError) in
            guard text.mayHaveLabels else { return }
            statements.submission.insertLabels.bind(1, row)
            statements.submission.insertLabels.bind(2, text)
            try statements.submission.insertLabels.run()
        }
    }

    private func row(
        ofShared text: String, new: (Int64) throws(StoreError) -> Void
    ) throws(StoreError) -> Int64 {
        if let known = interned.row(ofLatest: text) { return known }
        let hash = interned.textHash.of(text)
        let row: Int64
        if let found = try find(text, hash) {
            row = found
            interned.sharedSince?.insert(found)
        } else {
            row = try insert(text, hash: hash)
            try new(row)
        }
        interned.remember(row, of: text)
        return row
    }

    private func find(_ text: String, _ hash: Int64) throws(StoreError) -> Int64? {
        let statement = statements.submission.findText
        statement.bind(1, hash)
        statement.bind(2, text)
        defer { statement.reset() }
        return try statement.step() ? statement.int(0) : nil
    }

    private func insert(_ text: String, hash: Int64?) throws(StoreError) -> Int64 {
        let id = interned.nextText
        statements.submission.insertText.bind(1, id)
        statements.submission.insertText.bind(2, hash)
        statements.submission.insertText.bind(3, text)
        try statements.submission.insertText.run()
        interned.nextText += 1
        return id
    }
}

extension String {
    /// False if a JSON object certainly has no member "labels". The test is cheap.
    fileprivate var mayHaveLabels: Bool {
        let sought = "\"labels\"".utf8
        return utf8.indices.contains { utf8[$0] == UInt8(ascii: "\"") && utf8[$0...].starts(with: sought) }
    }
}
