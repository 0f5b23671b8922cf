/// JSON texts made from the interface file alone.
struct InterfaceSample {
    /// The optional members that a text has.
    enum Optionals { case all, none }

    let file: InterfaceFile
    let optionals: Optionals
    /// True if optional members without a value are left out, as by clients; false if they are null, as in replies.
    let omitsAbsent: Bool
    /// True if every record has a member that is not in the file, like a member of a later version.
    var hasStrangers = false

    func object(_ members: [InterfaceFile.Member]) throws -> String {
        var texts: [String] = []
        for (index, member) in members.enumerated() {
            let value = try value(member.type, index)
            if !omitsAbsent || value != "null" { texts.append("\"\(member.name)\":\(value)") }
        }
        if hasStrangers { texts.insert(#""ofLater":{"x":[1,null]}"#, at: texts.count / 2) }
        return "{\(texts.joined(separator: ","))}"
    }

    /// Returns a value of a type; different numbers give different values.
    private func value(_ type: String, _ number: Int) throws -> String {
        func rest(_ count: Int) -> String { String(type.dropFirst(count)) }
        if type.hasPrefix("?") { return optionals == .none ? "null" : try value(rest(1), number) }
        if type.hasPrefix("[]") { return "[\(try value(rest(2), number)),\(try value(rest(2), number + 1))]" }
        if type.hasPrefix("[string]") { return "{\"k\(number)\":\(try value(rest(8), number))}" }
        if type.hasPrefix("(") {
            let names = type.dropFirst().dropLast().split(separator: ", ")
            return "\"\(names[number % names.count])\""
        }
        switch type {
        case "bool": return number % 2 == 0 ? "true" : "false"
        case "int": return "\(number + 1)"
        case "float": return "\(number).5"
        case "string": return "\"text \(number)\""
        case "object": return #"{"a\#(number)":{"b":[1,"x",null,true,2.5]}}"#
        default:
            guard let record = file.types.first(where: { $0.name == type }) else {
                throw InterfaceFile.Failure(text: "no type \(type)")
            }
            return try object(record.members)
        }
    }
}
