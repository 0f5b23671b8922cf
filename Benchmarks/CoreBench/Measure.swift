internal import CMalloc
internal import Glibc

/// One row of the table: what was done how often, and what it took.
struct Measurement {
    var name: String
    var count: Int
    var nanoseconds: Int64

    var each: Double { Double(nanoseconds) / Double(max(1, count)) }
    var perSecond: Double { 1e9 / max(each, 0.001) }
}

/// Runs `body` once and takes the time of this thread's processor, so that neighbours do not count.
func measure(_ name: String, _ count: Int, _ body: () -> Void) -> Measurement {
    let start = processorTime()
    body()
    return Measurement(name: name, count: count, nanoseconds: processorTime() - start)
}

func processorTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Bytes that malloc has given out and not got back.
func bytesInUse() -> Int {
    let statistics = mallinfo2()
    return Int(statistics.uordblks) + Int(statistics.hblkhd)
}

func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.utf8.count)) + text
}

func left(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.utf8.count))
}

/// With thousands set apart.
func grouped(_ number: Double) -> String {
    var digits = String(Int(number.rounded()))
    var parts: [String] = []
    while digits.utf8.count > 3 {
        parts.insert(String(digits.suffix(3)), at: 0)
        digits = String(digits.dropLast(3))
    }
    return ([digits] + parts).joined(separator: " ")
}

func tenths(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return "\(tenths / 10).\(abs(tenths % 10))"
}
