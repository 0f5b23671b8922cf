import OpsClient
import OpsWire
import Testing

@Suite struct WaitRequestTests {
    @Test func `consecutive operations are one reference`() {
        let parts = WaitRequest.parts(for: [7, 1, 3, 2, 9, 9, 10])
        #expect(parts.map { $0.selection.refs ?? [] } == [["1-3", "7", "9-10"]])
        #expect(WaitRequest.parts(for: []).isEmpty)
    }

    @Test func `a request has no more references than the daemon accepts`() {
        let parts = WaitRequest.parts(for: (Int64(1)...70_000).map { 2 * $0 })
        let counts = parts.map { $0.selection.refs?.count ?? 0 }
        #expect(counts == [Limits.references, Limits.references, 70_000 - 2 * Limits.references])
    }
}
