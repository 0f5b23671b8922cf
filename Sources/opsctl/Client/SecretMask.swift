internal import OpsSystem
internal import OpsWire

/// Replaces the values of secrets in the output of an operation by `***`, also if a value arrives in several pieces.
///
/// Only a selection of the output is shown, but output around it is read, too, so that a value that the selection cuts
/// is found. Occurrences that overlap, also of several values, become one `***`.
///
/// The values are read now, from the same files that the operation read. If a file has changed since, its earlier value
/// is not masked.
struct SecretMask {
    /// Output that can be shown.
    struct Piece {
        /// Offset in the log of the first byte, or of the value that the first bytes replace.
        var offset: Int64
        var bytes: [UInt8] = []
    }

    /// Reason why no more output follows.
    enum End {
        /// The log is complete.
        case final
        /// The log may grow: a beginning of a value at its end stays hidden.
        case growing
        /// The output that followed was dropped: a beginning of a value before it is masked.
        case dropped
    }

    private var values: [SearchedValue]
    /// True for each byte with which a value begins.
    private let begins: [Bool]
    /// Number of bytes on both sides of a selection that may belong to a value that overlaps the selection.
    let reach: Int

    private var selection: Range<Int64> = 0..<Int64.max
    /// Output that is not shown yet, and its offset in the log.
    private var buffer: [UInt8] = []
    private var start: Int64 = 0
    /// Number of bytes of `buffer` in which values have been searched.
    private var searched = 0
    /// Ranges of the log from `start` on that values cover, in ascending order.
    private var covered: [Range<Int64>] = []
    /// True if the stars for the first range of `covered` have been written.
    private var isStarred = false
    /// True if output before `buffer` was dropped, and the end of a value at its front has not been searched yet.
    private var isCut = false

    private static let largest = 64 << 10
    /// Directory of the credentials of opsd's unit, which root can read.
    private static let credentials = "/run/credentials/opsd.service"
    private static let stars = Array("***".utf8)

    /// - Parameter secrets: The secrets as `Show` reports them; relative paths are relative to `directory`.
    init(_ secrets: JSONObject?, directory: String?) {
        var values: Set<[UInt8]> = []
        for secret in secrets?.members ?? [] {
            guard case .object(let members) = secret.value, let source = members.first,
                case .string(let name) = source.value
            else { continue }
            let folder = source.key == "credential" ? Self.credentials : directory ?? ""
            let path = name.hasPrefix("/") ? name : folder + "/" + name
            if let value = Self.value(path) { values.insert(value) }
        }
        self.init(values: values)
    }

    init(values: Set<[UInt8]>) {
        self.values = values.filter { !$0.isEmpty }.map { SearchedValue($0[...]) }
        var begins = Array(repeating: false, count: 256)
        for value in self.values { begins[Int(value.bytes[0])] = true }
        self.begins = begins
        reach = max(0, (values.map(\.count).max() ?? 0) - 1)
    }

    /// Returns nil if the file does not exist or this user may not read it; then the user cannot see the value either.
    /// The submitter has chosen the path, even if root looks at the output.
    private static func value(_ path: String) -> [UInt8]? {
        guard let file = try? Files.readOrdinary(path, limit: largest + 1) else { return nil }  // as said above
        return file.last == UInt8(ascii: "\n") ? file.dropLast() : file
    }

    var isEmpty: Bool { values.isEmpty }

    /// Offset of the first byte that is shown.
    var selectionStart: Int64 { selection.lowerBound }

    /// Offset of the byte after all that have been added.
    var end: Int64 { start + Int64(buffer.count) }

    /// True if output of the selection waits for output that follows.
    var holdsBack: Bool { start < min(end, selection.upperBound) }

    /// Begins another log, of which output from the offset `first` on is shown.
    mutating func begin(selectingFrom first: Int64) {
        reset(to: 0)
        selection = first..<Int64.max
    }

    /// Shows only output before this offset.
    mutating func endSelection(at end: Int64) { selection = min(selection.lowerBound, end)..<end }

    /// Adds output and returns the part of all output so far that can be shown now.
    ///
    /// - Parameter isCut: True if the output right before these bytes was dropped.
    mutating func add(_ bytes: [UInt8], at offset: Int64, isCut: Bool) -> Piece {
        if values.isEmpty { return Piece(offset: offset, bytes: bytes) }
        var piece = Piece(offset: max(start, selection.lowerBound))
        if isCut {
            piece = finish(.dropped)
            reset(to: offset)
            self.isCut = true
        } else if buffer.isEmpty, offset > start {
            start = offset
        }
        // Output that is read again after a lost connection is here already.
        buffer += bytes.dropFirst(Int(clamping: max(0, end - offset)))
        if self.isCut {
            guard buffer.count >= reach else { return piece }
            coverCutValue()
        }
        search()
        let undecided = values.reduce(0) { max($0, $1.matched) }
        show(to: end - Int64(undecided), in: &piece)
        return piece
    }

    /// Returns the output that was held back, because no more follows.
    mutating func finish(_ end: End) -> Piece {
        var piece = Piece(offset: max(start, selection.lowerBound))
        if isCut {
            coverCutValue()
            search()
        }
        let undecided = Int64(values.reduce(0) { max($0, $1.matched) })
        if undecided > 0, end == .dropped { cover(self.end - undecided..<self.end) }
        show(to: end == .growing ? self.end - undecided : self.end, in: &piece)
        reset(to: self.end)
        return piece
    }

    private mutating func reset(to offset: Int64) {
        (buffer, start, searched, covered, isStarred, isCut) = ([], offset, 0, [], false, false)
        for index in values.indices { values[index].matched = 0 }
    }

    /// Covers the longest end of a value at the front of the output, whose beginning was dropped.
    private mutating func coverCutValue() {
        isCut = false
        let length = values.map { $0.lengthOfEnd(atFrontOf: buffer) }.max() ?? 0
        if length > 0 { cover(start..<start + Int64(length)) }
    }

    private mutating func search() {
        var isIdle = values.allSatisfy { $0.matched == 0 }
        for position in searched..<buffer.count where !isIdle || begins[Int(buffer[position])] {
            isIdle = true
            let next = start + Int64(position) + 1
            for index in values.indices {
                if values[index].advance(buffer[position]) { cover(next - Int64(values[index].bytes.count)..<next) }
                if values[index].matched > 0 { isIdle = false }
            }
        }
        searched = buffer.count
    }

    /// Adds a range that a value covers. Ranges are added in the order of their ends, apart from one at a cut.
    private mutating func cover(_ range: Range<Int64>) {
        var range = range
        while let last = covered.last, last.upperBound > range.lowerBound {
            range = min(last.lowerBound, range.lowerBound)..<max(last.upperBound, range.upperBound)
            covered.removeLast()
        }
        covered.append(range)
    }

    /// Moves output before `limit` from the buffer to `piece`. No value that begins there is undecided.
    private mutating func show(to limit: Int64, in piece: inout Piece) {
        var offset = start
        var done = 0
        while offset < limit {
            let next = done < covered.count ? covered[done] : limit..<Int64.max
            let isCovered = next.lowerBound <= offset
            let part = offset..<min(limit, isCovered ? next.upperBound : next.lowerBound)
            let visible = part.clamped(to: selection)
            if !visible.isEmpty, !(isCovered && isStarred) {
                if piece.bytes.isEmpty { piece.offset = visible.lowerBound }
                piece.bytes +=
                    isCovered
                    ? Self.stars[...]
                    : buffer[Int(visible.lowerBound - start)..<Int(visible.upperBound - start)]
                isStarred = isCovered
            }
            if isCovered, part.upperBound == next.upperBound {
                done += 1
                isStarred = false
            }
            offset = part.upperBound
        }
        covered.removeFirst(done)
        let count = Int(max(0, offset - start))
        buffer.removeFirst(count)
        searched -= count
        start = offset
    }
}

/// The value of a secret, which is searched byte by byte with the algorithm of Knuth, Morris and Pratt: it finds
/// occurrences that overlap, and takes the same time for each byte.
private struct SearchedValue {
    let bytes: ArraySlice<UInt8>
    /// For each number of first bytes, the length of their longest proper beginning that is also their end.
    private let borders: [Int32]
    /// Number of first bytes of the value with which the output ends; the whole value does not count.
    var matched = 0

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        var borders: [Int32] = [0, 0]
        var length = 0
        for byte in bytes.dropFirst() {
            while length > 0, bytes[length] != byte { length = Int(borders[length]) }
            if bytes[length] == byte { length += 1 }
            borders.append(Int32(length))
        }
        self.borders = borders
    }

    /// Adds a byte of the output. Returns whether the value ends with it.
    mutating func advance(_ byte: UInt8) -> Bool {
        while matched > 0, bytes[matched] != byte { matched = Int(borders[matched]) }
        if bytes[matched] == byte { matched += 1 }
        guard matched == bytes.count else { return false }
        matched = Int(borders[matched])
        return true
    }

    /// Returns the length of the longest end of the value, but not the whole value, with which the output begins.
    func lengthOfEnd(atFrontOf output: [UInt8]) -> Int {
        let front = output.prefix(bytes.count - 1)
        guard !front.isEmpty else { return 0 }
        var searched = SearchedValue(front)
        var isWhole = false
        for byte in bytes { isWhole = searched.advance(byte) }
        return isWhole ? front.count : searched.matched
    }
}
