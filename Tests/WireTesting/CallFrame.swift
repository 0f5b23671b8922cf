public import OpsWire

// The client's side of the protocol, with the daemon's own types: no program has it, for opsctl writes and reads plain
// JSON.

extension Call {
    /// The whole message of a client, its NUL included.
    public static func frame<Request: WireRequest>(_ request: Request, more: Bool = false, oneway: Bool = false)
        -> [UInt8]
    {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("method")
        writer.string("\(Request.interface).\(Request.method)")
        writer.key("parameters")
        request.write(to: &writer)
        for (key, isSet) in [("more", more), ("oneway", oneway)] where isSet {
            writer.key(key)
            writer.bool(true)
        }
        writer.endObject()
        writer.terminate(with: 0)
        return writer.bytes
    }
}
