internal import OpsStore
internal import OpsWire

/// A source of runs other than the calendar: files that appear or change, or lines that a command prints.
enum Trigger: Equatable {
    /// Files of a pattern. A file counts as new when it has not changed for `settle`; `batch`: one run for the new
    /// files of a check.
    case path(glob: String, settle: TimeSpan, isBatch: Bool, poll: TimeSpan)
    case exec(command: String, every: TimeSpan)

    /// Time between two checks.
    var pause: TimeSpan {
        switch self {
        case .path(_, _, _, let poll): poll
        case .exec(_, let every): every
        }
    }

    var isBatch: Bool {
        if case .path(_, _, let isBatch, _) = self { isBatch } else { false }
    }

    /// Description of the source, shown instead of a calendar expression.
    var text: String {
        switch self {
        case .path(let glob, _, _, _): "onPath \(glob)"
        case .exec(let command, _): "onExec \(command)"
        }
    }

    /// Name of `${NAME}` for the file or the line in the texts of a run.
    var placeholder: String { directory == nil ? "event" : "file" }

    /// Environment variable of a run with the file or the line.
    var variable: String { directory == nil ? ReservedVariables.triggerEvent : ReservedVariables.triggerFile }

    /// File or line for a check of the graph.
    var example: String { directory == nil ? "event" : "/file" }

    /// Word for its keys in a message.
    var things: String { directory == nil ? "printed lines" : "files" }

    /// Directory in which files of the pattern appear, as far as the pattern names one.
    var directory: String? {
        guard case .path(let glob, _, _, _) = self else { return nil }
        let fixed = glob.prefix { !"*?[\\".contains($0) }
        let slash = fixed.lastIndex(of: "/") ?? fixed.startIndex
        return slash == fixed.startIndex ? "/" : String(fixed[..<slash])
    }

    /// Arguments of the process that lists the files, or prints the lines.
    var arguments: [String] {
        switch self {
        case .path(let glob, _, _, _): ["/bin/sh", "-c", Self.listing(ShellPattern.text(glob))]
        case .exec(let command, _): ["/bin/sh", "-c", command]
        }
    }

    /// Command that lists device, inode, modification time, size and name of each file with a NUL, then inode and name
    /// again with a NUL. File names are not passed as arguments, whose total length is limited.
    private static func listing(_ glob: String) -> String {
        "for f in \(glob); do [ -e \"$f\" ] && printf '%s\\0' \"$f\"; done | xargs -0 -r sh -c "
            + "'exec find -L \"$@\" -maxdepth 0 -type f -printf \"%D %i %T@ %s %p\\0%i %p\\0\"' sh"
    }

    static let longestLine = 4096

    /// Parses the output of the process. `ignored` is the number of lines or files that cannot start a run: their text
    /// is not UTF-8, or a line is too long.
    /// - Parameter isComplete: True if the last line is complete.
    func read(_ bytes: [UInt8], isComplete: Bool) -> (keys: [TriggerKey], ignored: Int) {
        switch self {
        case .path: return Self.files(bytes)
        case .exec:
            var lines = bytes.split(separator: 0x0a, omittingEmptySubsequences: false)
            if !isComplete { _ = lines.popLast() }
            var known: Set<[UInt8]> = []
            var ignored = 0
            let keys = lines.compactMap { line -> TriggerKey? in
                guard line.count <= Self.longestLine, !line.contains(0),
                    let text = String(validating: line, as: UTF8.self)
                else {
                    ignored += 1
                    return nil
                }
                // Two lines that differ only in their bytes are equal strings.
                let isNew = !line.isEmpty && known.insert(Array(line)).inserted
                return isNew ? TriggerKey(key: text, identity: "") : nil
            }
            return (keys, ignored)
        }
    }

    /// Parses a list of files. A full disk may have lost any part of the list, so an entry counts only if inode and
    /// name are there twice.
    private static func files(_ bytes: [UInt8]) -> (keys: [TriggerKey], ignored: Int) {
        let parts = bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
        var keys: [TriggerKey] = []
        var ignored = 0
        for (entry, copy) in zip(parts, parts.dropFirst()) {
            let words = entry.split(separator: 0x20, maxSplits: 4)
            guard words.count == 5, copy.elementsEqual(words[1] + [0x20] + words[4]) else { continue }
            guard let path = String(validating: words[4], as: UTF8.self) else {
                ignored += 1
                continue
            }
            let identity = words[..<4].map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
            keys.append(TriggerKey(key: path, identity: identity))
        }
        return (keys, ignored)
    }
}

/// A pattern of files, as /bin/sh reads it: only `*`, `?` and brackets keep their meaning.
private enum ShellPattern {
    private static let classes = [
        "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit",
    ]

    static func text(_ glob: String) -> String {
        var text = ""
        var rest = Array(glob.unicodeScalars)[...]
        while let scalar = rest.first {
            if scalar == "[", let found = brackets(rest) {
                text += found.text
                rest = rest[found.end...]
            } else {
                text += quoted(scalar)
                rest.removeFirst()
            }
        }
        return text
    }

    /// Returns the brackets at the start of a pattern, and the index after them; nil: they do not end within the name.
    private static func brackets(_ pattern: ArraySlice<Unicode.Scalar>) -> (text: String, end: Int)? {
        var text = "["
        var rest = pattern.dropFirst()
        // POSIX knows only `!`: for dash, `^` is one of the characters.
        if rest.first == "^" || rest.first == "!" {
            text += "!"
            rest.removeFirst()
        }
        var isFirst = true
        while let scalar = rest.first, scalar != "/" {
            // The first one is a character.
            if scalar == "]", !isFirst { return (text + "]", rest.startIndex + 1) }
            isFirst = false
            if let name = className(rest) {
                text += "[:\(name):]"
                rest = rest.dropFirst(name.utf8.count + 4)
            } else {
                text += quoted(scalar)
                rest.removeFirst()
            }
        }
        return nil
    }

    /// Returns the name of the class of characters at the start of a pattern, such as `[:digit:]`; nil: there is none.
    private static func className(_ pattern: ArraySlice<Unicode.Scalar>) -> String? {
        classes.first { pattern.starts(with: "[:\($0):]".unicodeScalars) }
    }

    private static func quoted(_ scalar: Unicode.Scalar) -> String {
        let character = Character(scalar)
        let isPlain =
            character.isASCII && (character.isLetter || character.isNumber) || "*?[]!/._-^".contains(character)
        return isPlain ? "\(character)" : ShellWord.quoted("\(character)")
    }
}
