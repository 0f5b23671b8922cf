internal import OpsWire

extension HTTPResponse {
    /// Returns a refusal as a JSON object with a message.
    static func problem(_ status: UInt32, _ message: String) -> HTTPResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("message")
        writer.string(message)
        writer.endObject()
        return HTTPResponse(status, writer.bytes)
    }
}
