internal import OpsWire

extension Option {
    // Options of operation keys that opsctl writes in a way of its own.
    static let operationName = of(.name)
    static let shell = of(.shell)
    static let stdin = of(.stdin)
    static let runAs = of(.user)
    static let delay = of(.notBefore)
    static let at = of(.notBefore, 1)
    static let env = of(.environment)
    static let secret = of(.secrets)
    static let cleanEnv = of(.environment, 1)
    static let priority = of(.priority)
    static let after = of(.after)
    static let afterFinished = of(.after, 1)
    static let afterFailed = of(.after, 2)
    static let afterStarted = of(.after, 3)
    static let category = of(.categories)
    static let condition = of(.conditions)
    static let observer = of(.observers)
    static let sendOutput = of(.output)
    static let stdout = of(.output, 1)
    static let stderrFile = of(.output, 2)

    private static func of(_ key: OperationKey, _ index: Int = 0) -> Option { key.entry.options[index] }

    // Options of the submission as a whole.
    static let file = Option.value(
        "file", "f", "FILE", .file, "a graph: YAML, JSON, JSON Lines, or - for standard input")
    static let format = Option.value(
        "format", "FORMAT", .choice(GraphText.Format.words),
        "format of FILE (default: by the end of its name; json for -)")
    static let set = Option.value("set", "s", "K=V", .keyValue, "value of ${K} in the file")
    static let dryRun = Option.flag("dry-run", "check only, and list the operations")
    static let each = Option.value(
        "each", "FILE", .file,
        "one operation per line of FILE or -; {} expands to the line, in option values too. Repeat it for all "
            + "combinations of lines: {1} and {2} are the line of each file")
    static let delimiter = Option.value(
        "delimiter", "CHAR", .text, "with --each: CHAR separates columns (\\t: a tab); {1} and {2} expand to them")
    static let array = Option.value(
        "array", "A-B[:STEP]", .text,
        "one operation per index; {} expands to it, in option values too, and $OPS_INDEX contains it")
    static let again = Option.value(
        "again", "OPERATION", .operation, "repeat the command of OPERATION in its environment; options change the rest")
    static let graphName = Option.value("graph-name", "NAME", .text, "name of the graph")
    static let key = Option.value(
        "key", "k", "KEY", .text, "if KEY was submitted before, return that operation instead of a new one")
    static let unlessActive = Option.value(
        "unless-active", "KEY", .text, "like --key, but only while that operation is unfinished")
    static let child = Option.flag("child", "add the operation as a child of the one that runs this command")
}

extension OptionGroup {
    static let submission = OptionGroup(
        "Submitting",
        [.file, .format, .set, .dryRun, .each, .delimiter, .array, .again, .graphName, .key, .unlessActive, .child])
    /// Options of `run`, which needs one stored operation or graph: no dry runs and no lists.
    static let running = OptionGroup(
        "Submitting", [.file, .format, .set, .graphName, .key, .unlessActive, .child])

    /// The options that describe one operation.
    static let operation = KeyEntry.Chapter.allCases.map { chapter in
        OptionGroup(
            chapter.rawValue,
            OperationKey.allCases.map(\.entry).filter { $0.chapter == chapter }.flatMap(\.options))
    }

    /// The options that change an operation.
    static let editing = OptionGroup("Setting", OperationKey.allCases.flatMap(\.entry.editOptions))
}
