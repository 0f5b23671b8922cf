/// Messages of the service: a method's result, one of several (`continues`), or an error.
public enum Reply {
    /// The whole message of a service, its NUL included.
    public static func frame(_ parameters: some WireRecord, continues: Bool = false) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        append(parameters, continues: continues, to: &writer)
        return writer.bytes
    }

    /// Like `frame`, after what the writer holds already.
    public static func append(_ parameters: some WireRecord, continues: Bool = false, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("parameters")
        parameters.write(to: &writer)
        if continues {
            writer.key("continues")
            writer.bool(true)
        }
        writer.endObject()
        writer.terminate(with: 0)
    }

    public static func frame(_ error: some WireErrorCases) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.beginObject()
        writer.key("error")
        writer.string(error.qualifiedName)
        writer.key("parameters")
        error.writeParameters(to: &writer)
        writer.endObject()
        writer.terminate(with: 0)
        return writer.bytes
    }
}
