/// The errors of one interface: an enum whose cases hold the errors' parameters.
public protocol WireErrorCases: Error, Equatable, Sendable {
    static var interface: String { get }
    /// Each case once, with any values.
    static var examples: [Self] { get }
    /// As the interface file calls it.
    var name: String { get }
    /// Names the members of the case at hand.
    mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter)
}

extension WireErrorCases {
    public var qualifiedName: String { "\(Self.interface).\(name)" }

    init?(qualifiedName: String, parameters: [UInt8]) {
        guard var error = Self.examples.first(where: { $0.qualifiedName == qualifiedName }) else { return nil }
        do throws(InvalidParameter) {
            try scan(parameters) { scanner throws(InvalidParameter) in
                var reader = try FieldReader(&scanner)
                try error.visit(&reader)
            }
        } catch {
            // Another version's parameters: the caller shows name and text as they are.
            return nil
        }
        self = error
    }

    func writeParameters(to writer: inout JSONWriter) {
        var visitor = FieldWriter(omitsAbsent: false)
        swap(&writer, &visitor.writer)
        visitor.writer.beginObject()
        var copy = self
        do throws(InvalidParameter) { try copy.visit(&visitor) } catch { preconditionFailure("writing threw \(error)") }
        visitor.writer.endObject()
        swap(&writer, &visitor.writer)
    }

    /// The members of each error, for holding them against the interface file.
    public static var schemas: [(name: String, schema: FieldSchema)] {
        examples.map { example in
            var example = example
            var schema = FieldSchema()
            do throws(InvalidParameter) { try example.visit(&schema) } catch {
                preconditionFailure("describing threw \(error)")
            }
            return (example.name, schema)
        }
    }
}
