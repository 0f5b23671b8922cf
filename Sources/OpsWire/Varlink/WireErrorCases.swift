/// The errors of one interface: an enum whose cases hold the errors' parameters.
public protocol WireErrorCases: Error, Equatable, Sendable {
    static var interface: String { get }
    /// Each case once, with any values.
    static var examples: [Self] { get }
    /// As the interface file calls it.
    var name: String { get }
    /// Names the members of the current case.
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
