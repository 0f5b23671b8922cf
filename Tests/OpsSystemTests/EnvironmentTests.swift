import Glibc
import OpsSystem
import Testing

@Suite struct EnvironmentTests {
    /// Names and values that `visit` finds in some entries.
    private func visited(_ entries: [String]) -> [String] {
        var pointers = entries.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var told: [String] = []
        pointers.withUnsafeMutableBufferPointer {
            guard let start = $0.baseAddress else { return }
            Environment.visit(start) { name, value in
                told.append(String(decoding: name, as: UTF8.self) + " " + String(decoding: value, as: UTF8.self))
            }
        }
        return told
    }

    @Test func `the first value of a variable that is set twice counts`() {
        #expect(visited(["A=1", "AB=2", "A=3", "B=", "AB=2", "ABC=4"]) == ["A 1", "AB 2", "B ", "ABC 4"])
    }

    @Test func `an entry without a name is skipped`() {
        #expect(visited(["no equals sign", "=value", "A=b=c", ""]) == ["A b=c"])
    }
}
