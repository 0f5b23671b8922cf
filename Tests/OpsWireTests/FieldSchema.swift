import OpsWire

/// The members of a record or an error with their types, for a comparison with the interface file.
struct FieldSchema: FieldVisitor {
    private(set) var members: [InterfaceFile.Member] = []

    init(of record: (some WireRecord).Type) throws {
        var value = record.init()
        try value.visit(&self)
    }

    init(of error: some WireErrorCases) throws {
        var error = error
        try error.visit(&self)
    }

    mutating func field<T: WireField>(_ name: StaticString, _ value: inout T) {
        members.append(InterfaceFile.Member(name: "\(name)", type: T.varlinkType))
    }
}
