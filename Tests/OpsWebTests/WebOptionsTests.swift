import Testing

@testable import OpsWeb

@Suite struct WebOptionsTests {
    @Test func `options are read`() throws {
        #expect(try WebOptions.parse([]) == WebOptions())
        let options = try WebOptions.parse(["--read-only", "--port", "0", "--open"])
        #expect(options.isReadOnly && options.port == 0 && options.opens)
        #expect(try WebOptions.parse(["--socket", "/run/x"]).socket == "/run/x")
    }

    @Test(arguments: [
        ["--port"], ["--port", "65536"], ["--port", "-1"], ["--port", "x"], ["--socket"], ["--socket", ""],
        ["--port", "1", "--socket", "x"], ["--socket", "x", "--open"], ["--address", "0.0.0.0"], ["--host", "x"], ["x"],
    ])
    func `an address that is not loopback has no option`(arguments: [String]) {
        #expect(throws: WebOptions.Problem.self) { try WebOptions.parse(arguments) }
    }
}
