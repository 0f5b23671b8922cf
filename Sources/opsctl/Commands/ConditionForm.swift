internal import OpsWire

/// Short forms of conditions: `[fail:|skip:|wait:|succeed:][!]KEY=VALUE`, or JSON.
enum ConditionForm {
    private static let keys = [
        "pathExists", "reachable", "exec", "freeSpace", "loadBelow", "memoryAvailable", "window",
        "dependenciesSucceeded",
    ]

    static func json(_ form: String, _ path: String) throws(Failure) -> [UInt8] {
        if form.hasPrefix("{") {
            do throws(JSONError) {
                _ = try JSONValue(form.utf8)
            } catch {
                throw .usage(
                    path, "invalid JSON in --condition: \(error.reason.text) at character \(error.offset + 1)", nil)
            }
            return Array(form.utf8)
        }
        var rest = form[...]
        var otherwise: String?
        for word in ["fail", "skip", "wait", "succeed"] where rest.hasPrefix(word + ":") {
            otherwise = word
            rest = rest.dropFirst(word.utf8.count + 1)
        }
        let isNegated = rest.hasPrefix("!")
        if isNegated { rest = rest.dropFirst() }
        let parts = rest.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let key = keys.first(where: { matches($0, parts[0]) }), parts.count == 2 || key == "dependenciesSucceeded"
        else {
            let near = Nearest.name(to: parts[0], among: keys)
            throw .usage(
                path, "--condition \"\(form)\" is not understood",
                near.map { "did you mean \($0)=...?" } ?? "write " + keys.joined(separator: "=, ") + ", or JSON")
        }
        let value = parts.count == 2 ? parts[1] : "true"
        return JSONWriter.object { object in
            if isNegated {
                object.key("not")
                object.object { write(key, value, to: &$0) }
            } else {
                write(key, value, to: &object)
            }
            object.member("otherwise", otherwise)
        }
    }

    /// Returns true if the typed key is this one; `path-exists` is accepted for `pathExists`.
    private static func matches(_ key: String, _ typed: String) -> Bool {
        key == typed || key.lowercased() == typed.lowercased().filter { $0 != "-" }
    }

    private static func write(_ key: String, _ value: String, to object: inout JSONWriter) {
        switch key {
        case "exec": object.member(key, ["/bin/sh", "-c", value])
        case "dependenciesSucceeded": object.member(key, raw: (value == "false" ? "false" : "true").utf8)
        case "loadBelow" where Double(value)?.isFinite == true: object.member(key, raw: "\(Double(value) ?? 0)".utf8)
        case "freeSpace":
            let colon = value.lastIndex(of: ":")
            object.key(key)
            object.object {
                $0.member("path", colon.map { String(value[..<$0]) } ?? "/")
                $0.member("atLeast", colon.map { String(value[value.index(after: $0)...]) } ?? value)
            }
        default: object.member(key, value)
        }
    }
}
