import Testing

@testable import opsctl

@Suite struct SecretMaskTests {
    /// Shows a part of a log that is read in pieces, as opsctl reads it: with output around the part.
    private func shown(
        _ text: String, _ secrets: [String], from first: Int = 0, to end: Int? = nil, isCut: Bool = false,
        pieces: Int = 3, as ending: SecretMask.End = .final
    ) -> String {
        var mask = SecretMask(values: Set(secrets.map { Array($0.utf8) }))
        mask.begin(selectingFrom: Int64(first))
        let bytes = Array(text.utf8)
        var shown: [UInt8] = []
        var place = max(0, first - mask.reach)
        let last = end ?? bytes.count
        func take(_ next: Int, _ mask: inout SecretMask) {
            shown += mask.add(Array(bytes[place..<next]), at: Int64(place), isCut: isCut && place == 0).bytes
            place = next
        }
        while place < last { take(min(last, place + pieces), &mask) }
        if mask.holdsBack {
            mask.endSelection(at: Int64(last))
            while mask.holdsBack, place < bytes.count { take(min(bytes.count, place + pieces), &mask) }
        }
        shown += mask.finish(ending).bytes
        return String(decoding: shown, as: UTF8.self)
    }

    @Test(arguments: [1, 3, 100]) func `a value is masked, also if it arrives in pieces`(_ pieces: Int) {
        #expect(shown("a hunter2 b hunter", ["hunter2"], pieces: pieces) == "a *** b hunter")
        #expect(shown("hunthunter2hunter2", ["hunter2"], pieces: pieces) == "hunt******")
        #expect(shown("abcdef abc", ["abc", "abcdef"], pieces: pieces) == "*** ***")
        #expect(shown("abcd", ["bc", "abcde"], pieces: pieces) == "a***d")
        #expect(shown("aaa", ["a"], pieces: pieces) == "*********")
        #expect(shown("unchanged", [], pieces: pieces) == "unchanged")
    }

    @Test(arguments: [1, 2, 100]) func `occurrences that overlap become one`(_ pieces: Int) {
        #expect(shown("abcabcabc", ["abcabc"], pieces: pieces) == "***")
        #expect(shown("-abcabcabcab", ["abcabc"], pieces: pieces) == "-***ab")
        #expect(shown("abcdefg", ["abcd", "cdef"], pieces: pieces) == "***g")
        #expect(shown("xabcdefgx", ["abcdefg", "cd", "fgx"], pieces: pieces) == "x***")
        #expect(shown("aaaaaaaab", ["aaa"], pieces: pieces) == "***b")
    }

    @Test(arguments: [1, 2, 100]) func `a value that the selection cuts is masked`(_ pieces: Int) {
        let log = "one\nsecond\nthird\nfour\n"
        let secret = "second\nthird"
        #expect(shown(log, [secret], from: 11, pieces: pieces) == "***\nfour\n")
        #expect(shown(log, [secret], from: 15, pieces: pieces) == "***\nfour\n")
        #expect(shown(log, [secret], from: 16, pieces: pieces) == "\nfour\n")
        #expect(shown(log, [secret], to: 11, pieces: pieces) == "one\n***")
        #expect(shown(log, [secret], to: 5, pieces: pieces) == "one\n***")
        #expect(shown(log, [secret], to: 4, pieces: pieces) == "one\n")
        #expect(shown(log, [secret], from: 6, to: 8, pieces: pieces) == "***")
        #expect(shown(log, ["second\nfourth"], to: 11, pieces: pieces) == "one\nsecond\n")
        #expect(shown("abcabcabcabc", ["abcabc"], from: 8, to: 10, pieces: pieces) == "***")
    }

    /// Compares each selection of random logs with a simple search for all occurrences.
    @Test func `each selection of a random log has the stars of the whole log`() {
        var random = SystemRandomNumberGenerator()
        func text(_ count: Int) -> String { String((0..<count).map { _ in "ab".randomElement(using: &random) ?? "a" }) }
        for _ in 0..<200 {
            let (log, secrets) = (text(14), [text(3), text(Int.random(in: 2...5))])
            let bytes = Array(log.utf8)
            var covers: [(first: Int, end: Int)] = []
            for first in bytes.indices {
                for secret in secrets where bytes[first...].starts(with: secret.utf8) {
                    covers.append((first, first + secret.utf8.count))
                }
            }
            for first in 0...bytes.count {
                let end = Int.random(in: first...bytes.count)
                var expected = ""
                var place = 0
                while place < end {
                    guard covers.contains(where: { $0.first == place }) else {
                        if place >= first { expected.append(Character(UnicodeScalar(bytes[place]))) }
                        place += 1
                        continue
                    }
                    var next = place + 1
                    while let longer = covers.first(where: { $0.first < next && $0.first >= place && $0.end > next }) {
                        next = longer.end
                    }
                    if next > first, end > first { expected += "***" }
                    place = next
                }
                let pieces = Int.random(in: 1...5)
                #expect(
                    shown(log, secrets, from: first, to: end, pieces: pieces) == expected,
                    "\(log) without \(secrets), from \(first) to \(end), \(pieces) at a time")
            }
        }
    }

    @Test(arguments: [1, 2, 100]) func `the end of a value after dropped output is masked`(_ pieces: Int) {
        #expect(shown("ter2 and more", ["hunter2"], isCut: true, pieces: pieces) == "*** and more")
        #expect(shown("2", ["hunter2"], isCut: true, pieces: pieces) == "***")
        #expect(shown("ter2hunter2-", ["hunter2"], isCut: true, pieces: pieces) == "******-")
        #expect(shown("bcabcabc-", ["abcabc"], isCut: true, pieces: pieces) == "***-")
        #expect(shown("hunter", ["hunter2"], isCut: true, pieces: pieces) == "hunter")
        #expect(shown("ter2 and more", ["hunter2"], pieces: pieces) == "ter2 and more")
        #expect(shown("x", ["x"], isCut: true, pieces: pieces) == "***")
    }

    @Test func `the beginning of a value before dropped output is masked`() {
        var mask = SecretMask(values: [Array("hunter2".utf8)])
        mask.begin(selectingFrom: 0)
        var piece = mask.add(Array("a hunt".utf8), at: 0, isCut: false)
        #expect(piece.offset == 0 && piece.bytes == Array("a ".utf8))
        piece = mask.add(Array("r2 and more".utf8), at: 100, isCut: true)
        #expect(piece.offset == 2 && piece.bytes == Array("****** and more".utf8))
        piece = mask.add(Array("more, a hunter2".utf8), at: 107, isCut: false)
        #expect(piece.offset == 111 && piece.bytes == Array(", a ***".utf8), "output that is read again is shown once")
    }

    @Test func `the beginning of a value at the end of a growing log is hidden`() {
        #expect(shown("a hunter2 hunt", ["hunter2"], as: .growing) == "a *** ")
        #expect(shown("a hunter2 hunts", ["hunter2"], as: .growing) == "a *** hunts")
        #expect(shown("abcabcabc", ["abcabc"], as: .growing) == "***")
    }

    @Test func `a long log of a periodic value is masked with little work`() {
        let secret = String(repeating: "a", count: 60_000) + "b"
        let log = String(repeating: "a", count: 300_000)
        #expect(shown(log, [secret], pieces: 48 << 10) == log)
        #expect(shown(log + "b", [secret], pieces: 48 << 10) == String(log.dropLast(60_000)) + "***")
    }
}
