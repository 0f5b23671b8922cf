/// A position in a text. Lines and columns are counted from 1, columns in characters.
public struct YAMLPosition: Equatable, Sendable {
    public let line: Int
    public let column: Int

    public init(line: Int, column: Int) { (self.line, self.column) = (line, column) }
}

/// Reason why opsctl does not accept a text as YAML.
public struct YAMLProblem: Equatable, Sendable {
    public let position: YAMLPosition
    public let reason: String
}

/// All problems of one text, in order of position.
public struct YAMLProblems: Error, Equatable {
    public let all: [YAMLProblem]

    init(_ problems: [YAMLProblem]) {
        all = problems.sorted { ($0.position.line, $0.position.column) < ($1.position.line, $1.position.column) }
    }
}
