internal import OpsWire

/// Lines of a crontab that start a command.
struct Crontab {
    struct Line {
        /// Number of the line, from 1.
        let number: Int
        let text: String
        var expression = ""
        var command = ""
        /// Account in the user column; nil for the owner of the crontab.
        var user: String?
        /// Variables set by lines above this one.
        var variables: [(name: String, value: String)] = []
        /// Reason why the line cannot become a schedule.
        var problem: String?

        func variable(_ name: String) -> String? { variables.last { $0.name == name }?.value }
    }

    private(set) var lines: [Line] = []
    /// Notes about lines that cron treats differently.
    private(set) var notes: [String] = []

    /// - Parameter hasUsers: True if the lines have a column with a user, as in /etc/crontab; nil to guess.
    init(_ bytes: [UInt8], hasUsers: Bool?, isAccount: (String) -> Bool) {
        var variables: [(name: String, value: String)] = []
        // Names of variables whose values are not UTF-8.
        var altered: [String] = []
        // A line feed after a carriage return is part of one `Character`, so lines are split as bytes.
        for (index, part) in bytes.split(separator: 0x0a, omittingEmptySubsequences: false).enumerated() {
            let content = part.last == 0x0d ? part.dropLast() : part
            let isAltered = String(validating: content, as: UTF8.self) == nil
            let trimmed = String(String(decoding: content, as: UTF8.self).drop(while: Self.isBlank))
            if trimmed.isEmpty || trimmed.hasPrefix("#") || trimmed.allSatisfy(Self.isBlank) { continue }
            if let setting = Self.setting(trimmed) {
                variables.removeAll { $0.name == setting.name }
                variables.append(setting)
                altered.removeAll { $0 == setting.name }
                if isAltered { altered.append(setting.name) }
                if setting.name == "MAILTO", !setting.value.isEmpty {
                    notes.append("line \(index + 1): no mail is sent; opsctl log shows the output")
                }
                continue
            }
            var line = Line(number: index + 1, text: trimmed)
            line.variables = variables
            if let subject = isAltered ? "it" : altered.first.map({ "the value of \($0)" }) {
                line.problem = "\(subject) is not UTF-8, and JSON can contain only UTF-8"
            }
            lines.append(line)
        }
        let isSystem = hasUsers ?? Self.haveUsers(lines.map(\.text), isAccount)
        for index in lines.indices { Self.read(&lines[index], isSystem) }
    }

    /// Names for the schedules of the lines, each once.
    var names: [String] {
        var given: Set<String> = []
        var numbers: [String: Int] = [:]
        return lines.map { line -> String in
            let base = line.name
            var name = base
            var number = numbers[base, default: 0] + 1
            if number > 1 { name = "\(base)-\(number)" }
            while !given.insert(name).inserted {
                number += 1
                name = "\(base)-\(number)"
            }
            numbers[base] = number
            return name
        }
    }

    private static func isBlank(_ character: Character) -> Bool { " \t\r".contains(character) }

    /// Reads `NAME = VALUE`; the value may be in quotes.
    private static func setting(_ text: String) -> (name: String, value: String)? {
        guard let equals = text.firstIndex(of: "=") else { return nil }
        let name = unquoted(String(text[..<equals]))
        let bytes = name.utf8
        guard let first = bytes.first, first == 0x5f || isLetter(first),
            bytes.allSatisfy({ isLetter($0) || $0 == 0x5f || 0x30...0x39 ~= $0 })
        else { return nil }
        return (name, unquoted(String(text[text.index(after: equals)...])))
    }

    private static func isLetter(_ byte: UInt8) -> Bool { 0x41...0x5a ~= byte || 0x61...0x7a ~= byte }

    private static func unquoted(_ text: String) -> String {
        var part = text[...]
        while let last = part.last, isBlank(last) { part.removeLast() }
        part = part.drop(while: isBlank)
        guard part.count > 1, let quote = part.first, quote == "\"" || quote == "'", part.last == quote else {
            return String(part)
        }
        return String(part.dropFirst().dropLast())
    }

    /// Splits a line into a number of words and the rest.
    private static func split(_ text: String, _ count: Int) -> (words: [String], rest: String) {
        var (words, rest) = ([String](), text[...])
        while words.count < count {
            rest = rest.drop(while: isBlank)
            let word = rest.prefix { !isBlank($0) }
            if word.isEmpty { break }
            words.append(String(word))
            rest = rest.dropFirst(word.count)
        }
        rest = rest.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return (words, String(rest))
    }

    /// Returns how many words the expression at the start of a line has.
    private static func fields(_ text: String) -> Int { text.hasPrefix("@") ? 1 : 5 }

    /// Guesses whether the word after each expression is an account: in /etc/crontab at least one is root.
    private static func haveUsers(_ texts: [String], _ isAccount: (String) -> Bool) -> Bool {
        let users = texts.map { text in
            let (words, rest) = split(text, fields(text) + 1)
            return words.count == fields(text) + 1 && !rest.isEmpty ? words.last : nil
        }
        return users.contains("root") && users.allSatisfy { $0.map(isAccount) ?? false }
    }

    private static func read(_ line: inout Line, _ isSystem: Bool) {
        // A hyphen before the minute means that cron does not log the job.
        let text = line.text.hasPrefix("-") ? String(line.text.dropFirst()) : line.text
        let count = fields(text)
        let (words, rest) = split(text, isSystem ? count + 1 : count)
        line.expression = words.prefix(count).joined(separator: " ")
        if isSystem { line.user = words.count > count ? words[count] : nil }
        line.command = rest
        if words.count < count {
            line.problem = "it needs five fields and a command"
        } else if isSystem, words.count == count {
            line.problem = "it needs a user and a command"
        } else if rest.isEmpty {
            line.problem = "it has no command"
        }
    }
}

extension Crontab.Line {
    /// Command for the shell, and the text after the first `%`, which is its standard input.
    var shell: String {
        var parts: [String] = [""]
        var isEscaped = false
        // cron reads bytes: a sign with a combining character, which is one `Character`, is a sign.
        for scalar in command.unicodeScalars {
            if isEscaped {
                if scalar != "%" { parts[parts.count - 1] += "\\" }
                parts[parts.count - 1].unicodeScalars.append(scalar)
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else if scalar == "%" {
                parts.append("")
            } else {
                parts[parts.count - 1].unicodeScalars.append(scalar)
            }
        }
        if isEscaped { parts[parts.count - 1] += "\\" }
        var input = parts.dropFirst()
        // cron adds a newline only if the input does not end with one, and a `%` is one.
        if input.last?.isEmpty == true { input.removeLast() }
        guard !input.isEmpty else { return parts[0] }
        let words = input.map(ShellWord.quoted).joined(separator: " ")
        return "printf '%s\\n' \(words) | { \(parts[0])\n}"
    }

    /// Name for the schedule: that of the program, without its directory.
    var name: String {
        let words = command.split { " \t;|&<>()".contains($0) }.filter { !$0.contains("=") }
        // A `cd` or a test before the program does not describe the job.
        let first = words.firstIndex { !["cd", "[", "test", "-x"].contains($0) } ?? 0
        let isInFront = first > 0 && words.count > first + 1
        let word = words.isEmpty ? "" : words[isInFront ? first + 1 : first]
        let base = word.split(separator: "/").last ?? ""
        let name = String(base.filter { $0.isASCII && ($0.isLetter || $0.isNumber || "_.-".contains($0)) }.prefix(100))
        return name.allSatisfy(\.isNumber) ? "cron-\(name.isEmpty ? "\(number)" : name)" : name
    }
}
