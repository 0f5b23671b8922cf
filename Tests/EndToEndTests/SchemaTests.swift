import Foundation
import Testing

@Suite struct SchemaTests {
    @Test func `schema prints JSON without a daemon`() throws {
        let machine = try Machine(start: false)
        let schema = try machine.ok("schema").object
        #expect(schema["$schema"] as? String == "https://json-schema.org/draft/2020-12/schema")
        #expect((schema["$defs"] as? [String: Any])?["operation"] != nil)
    }
}
