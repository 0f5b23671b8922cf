/// Errors of one interface: an enum whose cases contain the parameters.
public protocol WireErrorCases: Error, Equatable, Sendable {
    static var interface: String { get }
    /// One example of each case, with any values.
    static var examples: [Self] { get }
    /// Name in the interface file.
    var name: String { get }
    /// Passes the members of the current case to a visitor.
    mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter)
}

extension WireErrorCases {
    public var qualifiedName: String { "\(Self.interface).\(name)" }

    func writeParameters(to writer: inout JSONWriter) {
        var visitor = FieldWriter(omitsAbsent: false)
        swap(&writer, &visitor.writer)
        visitor.writer.beginObject()
        var copy = self
        do throws(InvalidParameter) { try copy.visit(&visitor) } catch { preconditionFailure("writing threw \(error)") }
        visitor.writer.endObject()
        swap(&writer, &visitor.writer)
    }
}
