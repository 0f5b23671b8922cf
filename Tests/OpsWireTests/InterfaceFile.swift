/// A parser of Varlink interface files that reads as much as these comparisons need.
struct InterfaceFile {
    struct Member: Equatable {
        var name: String
        var type: String
    }
    struct Method: Equatable {
        var name: String
        var parameters: [Member]
        var reply: [Member]
    }
    struct Failure: Error { var text: String }

    private(set) var name = ""
    private(set) var types: [(name: String, members: [Member])] = []
    private(set) var methods: [Method] = []
    private(set) var errors: [(name: String, members: [Member])] = []
    private var tokens: [String] = []
    private var next = 0

    init(_ text: String) throws {
        tokens = Self.tokens(of: text)
        guard try take() == "interface" else { throw Failure(text: "no interface") }
        name = try take()
        while next < tokens.count {
            let keyword = try take()
            let name = try take()
            switch keyword {
            case "type": types.append((name, try members()))
            case "error": errors.append((name, try members()))
            case "method":
                let parameters = try members()
                try expect("->")
                methods.append(Method(name: name, parameters: parameters, reply: try members()))
            default: throw Failure(text: "unknown keyword \(keyword)")
            }
        }
    }

    private static func tokens(of text: String) -> [String] {
        var tokens: [String] = []
        for line in text.split(separator: "\n") {
            var rest = line.prefix { $0 != "#" }
            while let first = rest.first {
                if first.isWhitespace {
                    rest.removeFirst()
                } else if let sign = ["->", "[]", "[string]"].first(where: { rest.hasPrefix($0) }) {
                    tokens.append(sign)
                    rest.removeFirst(sign.count)
                } else {
                    let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "." || $0 == "_" }
                    tokens.append(word.isEmpty ? String(first) : String(word))
                    rest.removeFirst(max(word.count, 1))
                }
            }
        }
        return tokens
    }

    private mutating func take() throws -> String {
        guard next < tokens.count else { throw Failure(text: "the file ends too early") }
        next += 1
        return tokens[next - 1]
    }

    private mutating func expect(_ token: String) throws {
        let found = try take()
        guard found == token else { throw Failure(text: "\(found) instead of \(token)") }
    }

    private mutating func members() throws -> [Member] {
        try expect("(")
        var members: [Member] = []
        if tokens[next] == ")" {
            next += 1
            return members
        }
        repeat {
            let name = try take()
            try expect(":")
            members.append(Member(name: name, type: try type()))
        } while try isComma()
        return members
    }

    private mutating func isComma() throws -> Bool {
        let token = try take()
        guard token == "," || token == ")" else { throw Failure(text: "\(token) instead of , or )") }
        return token == ","
    }

    private mutating func type() throws -> String {
        let token = try take()
        switch token {
        case "?", "[]", "[string]": return try token + type()
        case "(":
            var names: [String] = []
            repeat { names.append(try take()) } while try isComma()
            return "(\(names.joined(separator: ", ")))"
        default: return token
        }
    }
}
