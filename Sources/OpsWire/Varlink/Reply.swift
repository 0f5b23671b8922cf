/// Messages of the service: the result of a method, one of several results (`continues`), or an error.
public enum Reply {
    /// Returns a message with its NUL.
    public static func frame(_ parameters: some WireRecord, continues: Bool = false) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        append(parameters, continues: continues, to: &writer)
        return writer.bytes
    }

    /// Appends a message with its NUL to the writer.
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
