import Testing

@Suite struct BridgeTests {
    @Test func `calls and replies pass through, also after the end of the input`() throws {
        let machine = try Machine()
        let call = "{\"method\":\"org.varlink.service.GetInfo\"}\0"
        let reply = try machine.ok("bridge", input: call + call).out
        #expect(reply.split(separator: "\0").count == 2)
        #expect(reply.contains("\"product\":\"opsd\""))
    }

    @Test func `without a daemon it says so`() throws {
        let machine = try Machine()
        try machine.killDaemon()
        let output = try machine.ctl("bridge")
        #expect(output.status == 3 && output.err.contains("no daemon listens here"))
    }
}
