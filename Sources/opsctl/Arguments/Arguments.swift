internal import OpsModel

/// A parsed command line: the verb, the values of its options, and its operands.
struct Arguments: Sendable {
    let verb: Verb
    /// The verb as it was typed, with the verb it belongs to: "queue add".
    let path: String
    private let values: [(option: String, value: String)]
    let operands: [String]

    init(verb: Verb, path: String, values: [(option: String, value: String)], operands: [String]) {
        self.verb = verb
        self.path = path
        self.values = values
        self.operands = operands
    }

    /// True if any option is given. Unlike `has`, this makes no option to compare with.
    var hasOptions: Bool { !values.isEmpty }

    func has(_ option: @autoclosure () -> Option) -> Bool {
        text(option()) != nil
    }

    /// Value of an option; of a repeated one the last.
    func text(_ option: @autoclosure () -> Option) -> String? {
        guard hasOptions else { return nil }
        let name = option().name
        return values.last { $0.option == name }?.value
    }

    func texts(_ option: @autoclosure () -> Option) -> [String] {
        guard hasOptions else { return [] }
        let name = option().name
        return values.filter { $0.option == name }.map(\.value)
    }

    /// Returns true if the value of any option, except these, is a text that passes a test.
    func mentions(except left: [Option], _ test: (String) -> Bool) -> Bool {
        values.contains { value in !left.contains { $0.name == value.option } && test(value.value) }
    }

    /// Returns the options with a value that passes a test.
    func options(where test: (String) -> Bool) -> [Option] {
        var names: Set<String> = []
        return values.filter { test($0.value) && names.insert($0.option).inserted }.compactMap {
            verb.option(long: $0.option)
        }
    }

    /// Refuses a value of these options that is not of the kind of its option.
    func check(_ options: [Option]) throws(Failure) {
        for option in options {
            for value in texts(option) {
                if let refusal = option.refusal(of: value, spelled: "--" + option.name, path) { throw refusal }
            }
        }
    }

    /// Returns the same arguments with every option value changed.
    func changed(_ change: (String) -> String) -> Arguments {
        Arguments(
            verb: verb, path: path, values: values.map { ($0.option, change($0.value)) }, operands: operands)
    }

    /// Returns the same arguments without some options.
    func without(_ left: [Option]) -> Arguments {
        Arguments(
            verb: verb, path: path, values: values.filter { value in !left.contains { $0.name == value.option } },
            operands: operands)
    }

    func with(operands: [String]) -> Arguments {
        Arguments(verb: verb, path: path, values: values, operands: operands)
    }

    /// Returns the words of an equivalent command line with --json, with other operands and without some options.
    func wordsForJSON(except left: [Option], operands: [String]) -> [String] {
        let options = values.filter { value in !left.contains { $0.name == value.option } }.map { value in
            verb.option(long: value.option)?.kind == nil ? "--\(value.option)" : "--\(value.option)=\(value.value)"
        }
        return path.split(separator: " ").map(String.init) + options + ["--json", "--"] + operands
    }

    func integer(_ option: @autoclosure () -> Option) -> Int? {
        text(option()).flatMap { Int($0) }
    }

    /// Pairs of an option; of those with the same key the last.
    func pairs(_ option: @autoclosure () -> Option) -> [Pair] {
        Pair.lastOfEachKey(texts(option()).compactMap { Pair($0) })
    }
}
