import Foundation
import Testing

@Suite struct SchemaTests {
    @Test func `schema prints JSON without a daemon`() throws {
        let machine = try Machine(start: false)
        let text = try machine.ok("schema").out
        let schema = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(schema["$schema"] as? String == "https://json-schema.org/draft/2020-12/schema")
        #expect((schema["$defs"] as? [String: Any])?["operation"] != nil)
    }
}
